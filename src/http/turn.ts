// What comes in during one turn of the event loop is worked off at its end: first everything that
// is asked for, then the answers. A system call leaves the processor's caches to the kernel; work
// that follows other work of its kind finds its code there (a replayed reply: 44 to 32 us).
//
// T1. Work is done in the order in which it was added, each once; so are answers.
// T2. Of up to `roundMax` requests all work is done before `afterWork` is called, and that before
//     their answers leave.
// T3. Bodies of at most `bytesMax` together, as they came in, and `workMax` requests wait. Before
//     it is more, the turn ends.

const bytesMax = 4 << 20
const workMax = 16_384
const roundMax = 256

export class Turn {
  readonly #afterWork: () => void
  readonly #atEnd: (end: () => void) => void
  #work: (() => void)[] = []
  #answers: (() => void)[] = []
  #bytes = 0
  #isPlanned = false

  /** `atEnd` calls what it is given when the turn ends. */
  constructor(afterWork: () => void, atEnd: (end: () => void) => void = setImmediate) {
    this.#afterWork = afterWork
    this.#atEnd = atEnd
  }

  /** Adds work that holds so many bytes. */
  addWork(task: () => void, bytes: number): void {
    if (this.#bytes + bytes > bytesMax || this.#work.length === workMax) this.#end()
    this.#bytes += bytes
    this.#work.push(task)
    this.#plan()
  }

  /** Adds an answer, which leaves when the work is done. */
  addAnswer(task: () => void): void {
    this.#answers.push(task)
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#atEnd(() => this.#end())
  }

  #end(): void {
    const work = this.#work
    this.#work = []
    this.#bytes = 0
    // Once for answers alone.
    for (let from = 0; from === 0 || from < work.length; from += roundMax) {
      const to = Math.min(from + roundMax, work.length)
      for (let i = from; i < to; i++) work[i]()
      this.#afterWork()
      const answers = this.#answers
      this.#answers = []
      for (const task of answers) task()
    }
    this.#isPlanned = false
    if (this.#work.length + this.#answers.length > 0) this.#plan() // what these have added
  }
}
