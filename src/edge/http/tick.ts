// Requests that arrive during one iteration of the event loop (a tick) are processed at its end:
// first all of the work, then the answers. A system call evicts our code from the processor's
// caches; work that follows similar work finds the code there (a replayed reply: 44 to 32 us).
//
// T1. Work is done in the order in which it was added, each item once. So are answers.
// T2. The work of up to `roundMax` requests is done before `afterWork` is called, and their answers
//     are sent after that.
// T3. At most `workMax` requests wait, with at most `bytesMax` of bodies as they arrived. A request
//     that would exceed either limit first causes the waiting work to be processed.
// T4. Paced work, which may arrive in large amounts, yields to requests: a tick does a third as
//     many pieces of it as requests, and at least `pacedMin`, after the work of the requests.
// T5. Heavy work, a piece of which takes as long as many requests, comes after paced work: at most
//     one piece of each kind in a tick, with rests for the other requests (heavy-work.ts).

import { HeavyWork, realTicks, restPerColdRead, restPerSlice, type Ticks } from './heavy-work.ts'

const bytesMax = 4 << 20
const workMax = 16_384
const roundMax = 256
/** A wake-up and its answer take 10 to 20 us. */
const pacedMin = 4
/**
 * A caller that is woken polls again, so each wake-up brings a request. With n other requests in
 * each tick, w wake-ups are a third of n + w if w is half of n: the ticks become about twice as
 * long. With as many wake-ups as requests, each tick would have more than the one before.
 */
const requestsPerPaced = 3

/** Does at most `count` pieces of work. Returns whether there are more. */
type Paced = (count: number) => boolean

export class Tick {
  readonly #afterWork: () => void
  readonly #ticks: Ticks
  readonly #coldReads: HeavyWork
  readonly #slices: HeavyWork
  #work: (() => void)[] = []
  #answers: (() => void)[] = []
  /** Requests of this tick that wait for heavy work. */
  #parked = 0
  #bytes = 0
  #isPlanned = false
  #paced: Paced = () => false

  constructor(afterWork: () => void, ticks = realTicks) {
    this.#afterWork = afterWork
    this.#ticks = ticks
    const plan = () => this.plan()
    this.#coldReads = new HeavyWork(ticks, restPerColdRead, plan)
    this.#slices = new HeavyWork(ticks, restPerSlice, plan)
  }

  /** Adds work that holds a body of this many bytes. */
  addWork(task: () => void, bytes: number): void {
    if (this.#bytes + bytes > bytesMax || this.#work.length === workMax) this.#end()
    this.#bytes += bytes
    this.#work.push(task)
    this.plan()
  }

  /** Notes that the current request produces no answer until its heavy work is done. */
  noteParked(): void {
    this.#parked += 1
  }

  /** Adds the work of a request that has waited for text from disk, or for the search. */
  addColdRead(task: () => void): void {
    this.#coldReads.add(task)
  }

  /** Adds work that is done in slices. Each slice returns whether there is more. */
  addSlices(slice: (now: () => number) => boolean): void {
    this.#slices.add(() => {
      if (slice(this.#ticks.now)) this.addSlices(slice)
    })
  }

  /** Adds an answer, which is sent when the work is done. */
  addAnswer(task: () => void): void {
    this.#answers.push(task)
    this.plan()
  }

  /** Sets the source of paced work. Call `plan` whenever the source has new work. */
  setPaced(paced: Paced): void {
    this.#paced = paced
  }

  /** Makes this iteration of the event loop a tick. */
  plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#ticks.atEnd(() => this.#end())
  }

  #end(): void {
    const work = this.#work
    this.#work = []
    this.#bytes = 0
    this.#parked = 0
    let isMorePaced = false
    // Runs once if there are only answers.
    for (let from = 0; from === 0 || from < work.length; from += roundMax) {
      const to = Math.min(from + roundMax, work.length)
      for (let i = from; i < to; i++) work[i]()
      isMorePaced = this.#paced(Math.max(pacedMin, Math.ceil((to - from) / requestsPerPaced)))
      if (from === 0) this.#doHeavyWork(to - from > this.#parked)
      this.#afterWork()
      const answers = this.#answers
      this.#answers = []
      for (const task of answers) task()
    }
    this.#isPlanned = false
    // The work and the answers may have added more of both.
    const left = this.#work.length + this.#answers.length
    const needsTick = this.#coldReads.needsTick || this.#slices.needsTick
    if (isMorePaced || left > 0 || needsTick) this.plan()
  }

  #doHeavyWork(hasOthers: boolean): void {
    this.#coldReads.doOne(hasOthers)
    this.#slices.doOne(hasOthers)
  }
}
