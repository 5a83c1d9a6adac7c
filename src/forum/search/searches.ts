// Runs the searches of the index in turns, one step of each, so that a long search does not delay
// the others.
//
// S1. A search ends when it has found enough, when nothing is left, or when its time is over. It
//     says how far it came, and its caller continues from there.
// S2. `covered` was true before each of its steps: what is indexed while a search runs may be
//     missing from what it found before.

import type { Index } from './index.ts'
import type { Found, Search } from './protocol.ts'

/** The time that a search may take, without the steps of others. */
const budgetMs = 100
/** The time after which it is another search's turn. */
const stepMs = 5

interface Job {
  search: Search
  rest: Generator<{ first: number; messages: number[] }>
  messages: number[]
  next: number
  covered: number
  spentMs: number
  answer: (found: Found) => void
}

export class Searches {
  readonly #index: Index
  #jobs: Job[] = []
  #isPlanned = false

  constructor(index: Index) {
    this.#index = index
  }

  /** Calls `answer` once, in a later iteration of the event loop. */
  add(search: Search, answer: (found: Found) => void): void {
    const { before } = search
    const { covered } = this.#index
    const rest = this.#index.search(search)
    this.#jobs.push({ search, rest, messages: [], next: before, covered, spentMs: 0, answer })
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned || this.#jobs.length === 0) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      const job = this.#jobs.shift()!
      if (!this.#step(job)) this.#jobs.push(job)
      this.#plan()
    })
  }

  #step(job: Job): boolean {
    const { search, rest, messages } = job
    const begun = performance.now()
    for (;;) {
      const { value, done } = rest.next()
      const isOver = done === true
      if (!isOver) {
        messages.push(...value.messages)
        job.next = value.first
      }
      const isFull = messages.length >= search.limit
      const stepped = performance.now() - begun
      if (isOver || isFull || job.spentMs + stepped > budgetMs) {
        this.#end(job, isOver || job.next === 0)
        return true
      }
      if (stepped > stepMs) {
        job.spentMs += stepped
        return false
      }
    }
  }

  #end({ search, messages, next, covered, answer }: Job, isLast: boolean): void {
    const { id, limit } = search
    const isFull = messages.length >= limit
    const left = isFull ? messages[limit - 1] : isLast ? null : next
    answer({
      type: 'found',
      id,
      messages: messages.slice(0, limit),
      next: left,
      covered: Math.min(covered, this.#index.covered), // less if a shard was found damaged
    })
  }
}
