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

import { Queue } from '../../wal/queue.ts'

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

/** A piece takes 0.1 to 0.3 ms. */
const heavyEveryMs = 2

/** Does at most `count` pieces of work; returns whether there are more. */
type Paced = (count: number) => boolean

export class Tick {
  readonly #afterWork: () => void
  readonly #atEnd: (end: () => void) => void
  #work: (() => void)[] = []
  #answers: (() => void)[] = []
  readonly #heavy = new Queue<() => void>()
  /** When the last piece of heavy work was done. */
  #heavyMs = 0
  #bytes = 0
  #isPlanned = false
  #paced: Paced = () => false

  /** `atEnd` calls the function that it is given when the tick ends. */
  constructor(afterWork: () => void, atEnd: (end: () => void) => void = setImmediate) {
    this.#afterWork = afterWork
    this.#atEnd = atEnd
  }

  /** Adds work that holds a body of `bytes`. */
  addWork(task: () => void, bytes: number): void {
    if (this.#bytes + bytes > bytesMax || this.#work.length === workMax) this.#end()
    this.#bytes += bytes
    this.#work.push(task)
    this.plan()
  }

  /** Adds work that takes much longer than that of other requests. */
  addHeavyWork(task: () => void): void {
    this.#heavy.push(task)
    this.plan()
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
    this.#atEnd(() => this.#end())
  }

  #end(): void {
    const work = this.#work
    this.#work = []
    this.#bytes = 0
    let isMorePaced = false
    // Runs once if there are only answers.
    for (let from = 0; from === 0 || from < work.length; from += roundMax) {
      const to = Math.min(from + roundMax, work.length)
      for (let i = from; i < to; i++) work[i]()
      isMorePaced = this.#paced(Math.max(pacedMin, Math.ceil((to - from) / requestsPerPaced)))
      if (from === 0) this.#doHeavyWork(work.length > 0)
      this.#afterWork()
      const answers = this.#answers
      this.#answers = []
      for (const task of answers) task()
    }
    this.#isPlanned = false
    // Added by these, or left over.
    const left = this.#work.length + this.#answers.length + this.#heavy.length
    if (isMorePaced || left > 0) this.plan()
  }

  #doHeavyWork(isBusy: boolean): void {
    if (this.#heavy.length === 0) return
    const now = performance.now()
    if (isBusy && now - this.#heavyMs < heavyEveryMs) return
    this.#heavyMs = now
    this.#heavy.shift()()
  }
}
