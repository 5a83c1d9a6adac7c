// What comes in during one turn of the event loop is worked off at its end: first everything that
// is asked for, then the answers. A system call leaves the processor's caches to the kernel; work
// that follows other work of its kind finds its code there (a replayed reply: 44 to 32 us).
//
// T1. Work is done in the order in which it was added, each once; so are answers.
// T2. Of up to `roundMax` requests all work is done before `between` is called, and that before
//     their answers leave.
// T3. At most `bytesMax` are held for work. What would be more is done at once.

const bytesMax = 4 << 20
const roundMax = 256

export class Turn {
  readonly #between: () => void
  readonly #atEnd: (end: () => void) => void
  #work: (() => void)[] = []
  #answers: (() => void)[] = []
  #bytes = 0
  #isPlanned = false

  /** `atEnd` calls what it is given when the turn ends. */
  constructor(between: () => void, atEnd: (end: () => void) => void = setImmediate) {
    this.#between = between
    this.#atEnd = atEnd
  }

  /** Adds work that holds so many bytes. */
  work(step: () => void, bytes: number): void {
    if (this.#bytes + bytes > bytesMax) return step()
    this.#bytes += bytes
    this.#work.push(step)
    this.#plan()
  }

  /** Adds an answer, which leaves when the work is done. */
  answer(step: () => void): void {
    this.#answers.push(step)
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
    for (let from = 0; from === 0 || from < work.length; from += roundMax) {
      const to = Math.min(from + roundMax, work.length)
      for (let i = from; i < to; i++) work[i]()
      this.#between()
      const answers = this.#answers
      this.#answers = []
      for (const step of answers) step()
    }
    this.#isPlanned = false
    if (this.#work.length + this.#answers.length > 0) this.#plan() // what these have added
  }
}
