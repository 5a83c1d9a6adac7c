// Who has published anything that everybody may read, and which messages these are: each leads to
// the one before it by the same author. Nothing that is saved says so: it is found by looking at
// all messages once, when somebody first asks, and at the new ones whenever somebody asks again.
//
// Their names are in an index beside that (name-index.ts).
//
// P1. An identity whose messages are all private has no newest message here, like an absent one.
// P2. Nobody waits for more than `atOnce` messages: more of them are looked at in slices.

import { Uint32Column } from '../columns/column.ts'
import { nobody, type State } from '../state/state.ts'
import { NameIndex } from './name-index.ts'
import type { SlicedWork, Unfinished } from './sliced-work.ts'

/** About a millisecond; a slice is shorter, since others wait for it. */
const atOnce = 65_536
const sliceMessages = 8_192
/** A name takes longer. */
const sliceNames = 256
/** The results of long searches that are kept, for requests that run again. */
const foundMax = 256

export class Publishers {
  readonly #state: State
  readonly #work: SlicedWork
  /** By identity: the number of its newest public message, plus one. */
  readonly #newest = new Uint32Column()
  /**
   * By message that has been looked at: the number of the public message before it by the same
   * author, plus one; 0: there is none, or the message is not public itself.
   */
  readonly #previous = new Uint32Column()
  /** By identity: how many public messages it has. */
  readonly #counts = new Uint32Column()
  /** Those who have any, in the order of their first. */
  readonly #all = new Uint32Column()
  readonly #names: NameIndex
  /** By identity and `end`. It is true for ever, as nothing public becomes private. */
  readonly #found = new Map<string, number>()
  #isWorking = false

  constructor(state: State, work: SlicedWork) {
    this.#state = state
    this.#work = work
    this.#names = new NameIndex(state)
  }

  /** Looks at further messages; true: at all that there are, so that `countOf` is right. */
  catchUp(isFirst: boolean): boolean {
    return this.#look(isFirst ? atOnce : sliceMessages)
  }

  /** The same, and at their authors' names for `find`. */
  catchUpWithNames(isFirst: boolean): boolean {
    if (!this.catchUp(isFirst)) return false
    const end = Math.min(this.#all.length, this.#names.count + sliceNames)
    while (this.#names.count < end) this.#names.add(this.#all.get(this.#names.count))
    return end === this.#all.length
  }

  /** How many public messages the identity has, and the number of the newest one, or -1. */
  countOf(identity: number): { count: number; newest: number } {
    if (identity >= this.#newest.length) return { count: 0, newest: -1 }
    return { count: this.#counts.get(identity), newest: this.#newest.get(identity) - 1 }
  }

  /** The first identities with public messages whose names begin so (name-index.ts). */
  find(beginning: string, after: number | null, count: number): number[] {
    return this.#names.find(beginning, after, count)
  }

  /** The number of the identity's newest public message; -1: none; null: ask again later (P2). */
  newestOf(identity: number): number | null {
    if (this.#isWorking) return null
    if (this.#state.messages.count - this.#previous.length > atOnce) {
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

  /** The public message before this one by the same author; -1: none. */
  previous(message: number): number {
    return this.#previous.get(message) - 1
  }

  /**
   * The newest public message of the identity with a number below `end`; -1: none. `newestOf` must
   * have found its newest one. It is known if `end` is a message of the identity. Otherwise it is
   * searched for from both sides, and a promise is returned if that takes long (P2).
   */
  newestBelow(end: number, identity: number): number | Promise<number | Unfinished> {
    const newest = this.#newest.get(identity) - 1
    if (end > newest) return newest
    if (this.#isOf(identity, end)) return this.previous(end)
    const name = `${identity} ${end}`
    const known = this.#found.get(name)
    if (known !== undefined) return known
    const search = this.#search(end, identity, newest)
    const found = search(sliceMessages)
    if (found !== null) return found
    return this.#work.add(nobody, () => {
      const later = search(sliceMessages)
      if (later === null) return null
      if (this.#found.size === foundMax) this.#found.clear()
      this.#found.set(name, later)
      return later
    })
  }

  /** A function that looks at `count` further messages in each call; null: not found yet. */
  #search(end: number, identity: number, newest: number): (count: number) => number | null {
    let above = newest // a message of the identity
    let below = end - 1 // nothing from here on is
    return (count) => {
      for (let i = 0; i < count; i++) {
        if (below < 0) return -1
        const previous = this.previous(above)
        if (previous < end) return previous
        above = previous
        if (this.#isOf(identity, below)) return below
        below -= 1
      }
      return null
    }
  }

  #isOf(identity: number, message: number): boolean {
    return this.#state.messages.author(message) === identity && this.#isPublic(message)
  }

  /** Looks at up to `count` messages more; true: there is no other one. */
  #look(count: number): boolean {
    const { messages, identities } = this.#state
    while (this.#newest.length < identities.count) {
      this.#newest.push(0)
      this.#counts.push(0)
    }
    const begin = this.#previous.length
    const end = Math.min(messages.count, begin + count)
    for (let message = begin; message < end; message++) {
      if (!this.#isPublic(message)) {
        this.#previous.push(0)
        continue
      }
      const author = messages.author(message)
      const newest = this.#newest.get(author)
      if (newest === 0) this.#all.push(author)
      this.#previous.push(newest)
      this.#newest.set(author, message + 1)
      this.#counts.set(author, this.#counts.get(author) + 1)
    }
    return end === messages.count
  }

  #isPublic(message: number): boolean {
    const { messages, threads } = this.#state
    return threads.isPublic(messages.thread(message))
  }
}
