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
// T5. Heavy work, a piece of which takes as long as many requests, comes behind that, one piece of
//     a kind in a tick at most, with rests for the other requests (H1 to H3, below).

import { Queue } from '../base/queue.ts'

const bytesMax = 4 << 20
const workMax = 16_384
const roundMax = 256
/** A wake-up takes 10 to 20 us with its answer. */
const pacedMin = 4
/**
 * A caller that is woken polls again, so each wake-up brings a request. With n other requests in
 * each tick, w wake-ups are a third of n + w when w is half of n: the ticks become about twice as
 * long. With as many wake-ups as requests, each tick would have more than the one before.
 */
const requestsPerPaced = 3
/**
 * A piece is two fifths of what its request costs the event loop, which runs, parks and loads it
 * before; all of that is a fifteenth of the time at most. Polls keep 0.91 of the loop's processor
 * time (docs/performance.md): pieces probably take the caches from them, too.
 */
const restPerColdRead = 36
/** Slices are a third of the time; with what else their requests cost it is less than half. */
const restPerSlice = 2

/** Does at most `count` pieces of work; returns whether there are more. */
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

  /** Adds work that holds a body of `bytes`. */
  addWork(task: () => void, bytes: number): void {
    if (this.#bytes + bytes > bytesMax || this.#work.length === workMax) this.#end()
    this.#bytes += bytes
    this.#work.push(task)
    this.plan()
  }

  /** The request that is being processed produces no answer until its heavy work is done. */
  noteParked(): void {
    this.#parked += 1
  }

  /** Adds the work of a request that waited for text from disk, or for what the index finds. */
  addColdRead(task: () => void): void {
    this.#coldReads.add(task)
  }

  /** Adds work that is done in slices: each returns whether there is more. */
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
      if (from === 0) this.#doHeavyWork(to - from > this.#parked)
      this.#afterWork()
      const answers = this.#answers
      this.#answers = []
      for (const task of answers) task()
    }
    this.#isPlanned = false
    // Added by these, or left over.
    const left = this.#work.length + this.#answers.length
    const needsTick = this.#coldReads.needsTick || this.#slices.needsTick
    if (isMorePaced || left > 0 || needsTick) this.plan()
  }

  #doHeavyWork(hasOthers: boolean): void {
    this.#coldReads.doOne(hasOthers)
    this.#slices.doOne(hasOthers)
  }
}

// Work that takes much longer than a poll: requests that are run again, because their text had to
// be read from disk, and pages for people that are made.
//
//   add ──▶ waits ──a tick, and no rest, or nobody else to rest for──▶ done ──▶ rest
//
// H1. It is done in the order in which it was added, at most one piece in a tick.
// H2. While other requests come, a rest follows each piece, which is `restPerPiece` times as
//     long, so that they keep most of their rate. While none come there are no rests.
// H3. Nothing spins during a rest: ticks that come one after the other, each with few requests,
//     would cost those more than the pieces do.

/** When ticks end, and time for the rests between heavy work. */
export interface Ticks {
  /** Calls a function when the event-loop iteration ends. */
  atEnd(end: () => void): void
  /** Milliseconds that only grow. */
  now(): number
  /** Calls a function after this many milliseconds. */
  after(ms: number, wake: () => void): void
}

export const realTicks: Ticks = {
  atEnd: (end) => void setImmediate(end), // looked up at each call: simulations replace it
  now: () => performance.now(),
  after: (ms, wake) => void setTimeout(wake, ms).unref(),
}

/** A piece that took long, as when the process was suspended, does not delay the next for long. */
const restMsMax = 10
/** Other requests are coming if the last one came within this time. */
const othersMs = 2

class HeavyWork {
  readonly #ticks: Ticks
  readonly #restPerPiece: number
  /** Makes the next event-loop iteration a tick. */
  readonly #plan: () => void
  readonly #work = new Queue<() => void>()
  #restEndMs = 0
  /** When the last other request came. */
  #otherMs = Number.NEGATIVE_INFINITY
  #isWaking = false

  constructor(ticks: Ticks, restPerPiece: number, plan: () => void) {
    this.#ticks = ticks
    this.#restPerPiece = restPerPiece
    this.#plan = plan
  }

  add(task: () => void): void {
    this.#work.push(task)
    if (this.needsTick) this.#plan()
  }

  /** Whether the next iteration is to be a tick; during a rest a timer sees to that. */
  get needsTick(): boolean {
    return this.#work.length > 0 && !this.#isWaking
  }

  /** Does the next piece if it may be done in this tick, in which other requests came or not. */
  doOne(hasOthers: boolean): void {
    if (!hasOthers && this.#work.length === 0) return
    const now = this.#ticks.now()
    if (hasOthers) this.#otherMs = now
    if (this.#work.length === 0) return
    if (now < this.#restEndMs && now - this.#otherMs < othersMs) return this.#rest(now)
    this.#work.shift()()
    const end = this.#ticks.now()
    this.#restEndMs = end + Math.min((end - now) * this.#restPerPiece, restMsMax)
  }

  #rest(now: number): void {
    if (this.#isWaking) return
    this.#isWaking = true
    this.#ticks.after(Math.min(this.#restEndMs - now, othersMs), () => {
      this.#isWaking = false
      this.#plan()
    })
  }
}
