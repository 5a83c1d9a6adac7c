// Writes are run a few at a time, and what they appended starts on its way to the disk after each
// few. In between the event loop sends the answers that have become durable and reads what arrived.
//
// Without it the loop handles whatever came in one go: 64 callers are answered together, ask again
// together, and server and callers wait for each other in turns.
//
// W1. Jobs run in the order in which they were added, each once.

/** Measured by bench/http-floor.ts. */
const jobsPerTurn = 16

export class Turns {
  #jobs: (() => void)[] = []
  /** Jobs before this index have run. */
  #done = 0
  #isPlanned = false
  readonly #afterwards: () => void

  /** `afterwards` is called after each few jobs. */
  constructor(afterwards: () => void) {
    this.#afterwards = afterwards
  }

  /** Runs the job soon, in this turn of the event loop or a later one. */
  add(job: () => void): void {
    this.#jobs.push(job)
    this.#plan()
  }

  /** Runs all that wait, now. */
  finish(): void {
    this.#run(this.#jobs.length)
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.#run(jobsPerTurn)
    })
  }

  #run(most: number): void {
    const end = Math.min(this.#done + most, this.#jobs.length)
    while (this.#done < end) this.#jobs[this.#done++]()
    this.#afterwards()
    if (this.#done < this.#jobs.length) return this.#plan()
    this.#jobs = []
    this.#done = 0
  }
}
