// Requests that arrive during one iteration of the event loop (a tick) are processed at its end:
// first all of the work, then the answers. A system call evicts our code from the processor's
// caches; work that follows similar work finds it there (a replayed reply: 44 to 32 us).
//
// T1. Work is done in the order in which it was added, each item once; so are answers.
// T2. The work of up to `roundMax` requests is done before `afterWork` is called, and their answers
//     are sent after that.
// T3. At most `workMax` requests wait, with at most `bytesMax` of bodies as they arrived. Before a
//     request exceeds this, the work that waits is processed.
// T4. Paced work, of which there may be much at once, gives way to requests: a third as many pieces
//     of it are done in a tick as requests, and at least `pacedMin`. It comes behind their work.
// T5. Heavy work, a piece of which takes as long as many requests, comes behind that, one piece in
//     a tick at most, with rests for the other requests (heavy-work.ts).

import { HeavyWork, realTicks, type Ticks } from './heavy-work.ts'

const bytesMax = 4 << 20
const workMax = 16_384
const roundMax = 256
/** A wake-up takes 10 to 20 us with its answer. */
const pacedMin = 4
/**
 * Who is woken polls again, so each wake-up brings a request. With n other requests in each tick, w
 * wake-ups are a third of n + w when w is half of n: the ticks become about twice as long. If there
 * were as many wake-ups as requests, each tick would have more than the one before.
 */
const requestsPerPaced = 3

/** Does at most `count` pieces of work; returns whether there are more. */
type Paced = (count: number) => boolean

export class Tick {
  readonly #afterWork: () => void
  readonly #ticks: Ticks
  readonly #heavy: HeavyWork
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
    this.#heavy = new HeavyWork(ticks, () => this.plan())
  }

  /** Adds work that holds a body of `bytes`. */
  addWork(task: () => void, bytes: number): void {
    if (this.#bytes + bytes > bytesMax || this.#work.length === workMax) this.#end()
    this.#bytes += bytes
    this.#work.push(task)
    this.plan()
  }

  /** The request whose work is being done comes to nothing until its heavy work is done. */
  noteParked(): void {
    this.#parked += 1
  }

  /** Adds work that takes much longer than that of other requests. */
  addHeavyWork(task: () => void): void {
    this.#heavy.add(task)
  }

  /** Adds an answer, which is sent when the work is done. */
  addAnswer(task: () => void): void {
    this.#answers.push(task)
    this.plan()
  }

  /** Sets the source of paced work. Whenever it comes to have some, `plan` is to be called. */
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
      if (from === 0) this.#heavy.doOne(to - from > this.#parked)
      this.#afterWork()
      const answers = this.#answers
      this.#answers = []
      for (const task of answers) task()
    }
    this.#isPlanned = false
    // Added by these, or left over.
    const left = this.#work.length + this.#answers.length
    if (isMorePaced || left > 0 || this.#heavy.needsTick) this.plan()
  }
}
