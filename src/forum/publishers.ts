// Who has published anything that everybody may read, and which of their messages is the newest.
// Nothing that is saved says so: it is found by looking at all messages once, when somebody first
// asks, and at the new ones whenever somebody asks again.
//
// P1. An identity whose messages are all private has no newest message here, like an absent one.
// P2. Nobody waits for more than `atOnce` messages: more of them are looked at in slices.

import { Uint32Column } from '../state/column.ts'
import type { State } from '../state/state.ts'
import type { SlicedWork } from './sliced-work.ts'

/** About a millisecond; a slice is shorter, since others wait for it. */
const atOnce = 65_536
const sliceMessages = 8_192

export class Publishers {
  readonly #state: State
  readonly #work: SlicedWork
  /** By identity: the number of its newest public message, plus one. */
  readonly #newest = new Uint32Column()
  /** How many messages have been looked at. */
  #seen = 0
  #isWorking = false

  constructor(state: State, work: SlicedWork) {
    this.#state = state
    this.#work = work
  }

  /** The number of the identity's newest public message; -1: none; null: ask again later (P2). */
  newestOf(identity: number): number | null {
    if (this.#isWorking) return null
    if (this.#state.messages.count - this.#seen > atOnce) {
      this.#isWorking = true
      const work = this.#work.add(-1, () => (this.#look(sliceMessages) ? true : null))
      void work.then(() => {
        this.#isWorking = false
      })
      return null
    }
    this.#look(atOnce)
    return identity < this.#newest.length ? this.#newest.get(identity) - 1 : -1
  }

  /** Looks at up to `count` messages more; true: there is no other one. */
  #look(count: number): boolean {
    const { messages, threads, identities } = this.#state
    while (this.#newest.length < identities.count) this.#newest.push(0)
    const end = Math.min(messages.count, this.#seen + count)
    for (; this.#seen < end; this.#seen++) {
      const isPublic = threads.isPublic(messages.thread(this.#seen))
      if (isPublic) this.#newest.set(messages.author(this.#seen), this.#seen + 1)
    }
    return this.#seen === messages.count
  }
}
