// An index of the identities that have published publicly, and of their public messages, each of
// which leads to the previous one by the same author. It is not persisted: all messages are
// examined on the first request that needs the index, and the new ones on each later request.
//
// A second index has the names of these identities (name-index.ts).
//
// P1. An identity whose messages are all private, or have expired, has no newest message here, like
//     an absent one.
// P2. No caller waits for more than `atOnce` messages: more of them are examined in slices. Nor do
//     searches of names go through identities whose messages have all expired.

import type { Holder } from '../../base/shares.ts'
import { Uint8Column, Uint32Column } from '../../kernel/columns/column.ts'
import { type JobRejection, ownWork, type SlicedWork } from '../../kernel/sliced-work.ts'
import type { State } from '../state.ts'
import { NameIndex } from './name-index.ts'

/**
 * The number of messages examined at once, in about a millisecond. A slice is shorter, because
 * other requests wait for it.
 */
const atOnce = 65_536
const sliceMessages = 8_192
/** The number of names added in one slice: a name takes longer than a message. */
const sliceNames = 256
/** The results of long searches that are kept, for requests that run again. */
const foundMax = 256

export class Publishers {
  readonly #state: State
  readonly #work: SlicedWork
  /** By identity: the number of its newest public message, plus one; 0: there is none. */
  readonly #newest = new Uint32Column()
  /**
   * By message that has been examined: the number of the previous public message by the same
   * author, plus one; 0: there is none, or the message is not public itself.
   */
  readonly #previous = new Uint32Column()
  /** By identity: the number of its public messages. */
  readonly #counts = new Uint32Column()
  /** The identities that began or ceased to have public messages, in the order of these changes. */
  readonly #changed = new Uint32Column()
  /** How many of them `#names` reflects. */
  #named = 0
  readonly #names: NameIndex
  /** By identity: 1 if it is in `#names`. */
  readonly #isNamed = new Uint8Column()
  /** Results by identity and `end`. They stay true until a thread expires. */
  readonly #found = new Map<string, number>()
  #isWorking = false

  constructor(state: State, work: SlicedWork) {
    this.#state = state
    this.#work = work
    this.#names = new NameIndex(state)
  }

  /** Examines further messages. Returns true once all are examined, so that `countOf` is right. */
  catchUp(isFirst: boolean): boolean {
    return this.#look(isFirst ? atOnce : sliceMessages)
  }

  /** Does the same with the index of the authors' names, which `find` searches. */
  catchUpWithNames(isFirst: boolean): boolean {
    if (!this.catchUp(isFirst)) return false
    const end = Math.min(this.#changed.length, this.#named + sliceNames)
    while (this.#named < end) this.#name(this.#changed.get(this.#named++))
    return end === this.#changed.length
  }

  /** Has the index of names contain the identity exactly if it has public messages. */
  #name(identity: number): void {
    const isNamed = this.#counts.get(identity) > 0 ? 1 : 0
    if (this.#isNamed.get(identity) === isNamed) return
    this.#isNamed.set(identity, isNamed)
    if (isNamed) this.#names.add(identity)
    else this.#names.remove(identity)
  }

  /** Leaves out the messages of a thread that is about to expire. */
  forget(thread: number): void {
    const { messages, threads } = this.#state
    if (!threads.isPublic(thread)) return
    this.#found.clear()
    for (let i = threads.messageCount(thread) - 1; i >= 0; i--) {
      const message = threads.message(thread, i)
      if (message >= this.#previous.length) continue
      const author = messages.author(message)
      const count = this.#counts.get(author) - 1
      this.#counts.set(author, count)
      if (count === 0) this.#changed.push(author)
    }
  }

  /** Returns how many public messages the identity has, and the number of the newest one, or -1. */
  countOf(identity: number): { count: number; newest: number } {
    if (identity >= this.#newest.length) return { count: 0, newest: -1 }
    return { count: this.#counts.get(identity), newest: this.#shown(this.#newest, identity) }
  }

  /**
   * Returns the message that a row leads to, or -1: the first one of the chain that has not
   * expired, to which the row leads from now on. If there is none, it leads to the last one of the
   * chain.
   */
  #shown(column: Uint32Column, row: number): number {
    let message = column.get(row) - 1
    if (message === -1 || this.#isPublic(message)) return message
    let last = message
    while (message !== -1 && !this.#isPublic(message)) {
      last = message
      message = this.#previous.get(message) - 1
    }
    column.set(row, (message === -1 ? last : message) + 1)
    return message
  }

  /**
   * Returns the first `count` publishers after `after` with names of this prefix (name-index.ts).
   */
  find(prefix: string, after: number | null, count: number): number[] {
    const found: number[] = []
    let last = after
    while (found.length < count) {
      const next = this.#names.find(prefix, last, count)
      found.push(...next.filter((identity) => this.#counts.get(identity) > 0))
      if (next.length < count) break
      last = next.at(-1)!
    }
    return found.slice(0, count)
  }

  /** Returns the identity's newest public message; -1: it has none; null: ask again later (P2). */
  newestOf(identity: number): number | null {
    if (this.#isWorking) return null
    if (this.#state.messages.count - this.#previous.length > atOnce) {
      this.#isWorking = true
      const work = this.#work.add(ownWork, () => (this.#look(sliceMessages) ? true : null))
      void work.then(() => {
        this.#isWorking = false
      })
      return null
    }
    this.#look(atOnce)
    return identity < this.#newest.length ? this.#shown(this.#newest, identity) : -1
  }

  /** Returns the previous public message by the author of this one, or -1. */
  previous(message: number): number {
    return this.#shown(this.#previous, message)
  }

  /**
   * Returns the newest public message of the identity with a number below `end`, or -1. `newestOf`
   * must have found its newest one. If `end` is a public message of the identity, the result is
   * known. Otherwise it is searched for from both sides, and a promise is returned if that takes
   * long (P2).
   */
  newestBelow(
    end: number,
    identity: number,
    holder: Holder,
  ): number | Promise<number | JobRejection> {
    const newest = this.#shown(this.#newest, identity)
    if (end > newest) return newest
    if (this.#isOf(identity, end)) return this.previous(end)
    const name = `${identity} ${end}`
    const known = this.#found.get(name)
    if (known !== undefined) return known
    const search = this.#search(end, identity, newest)
    const found = search(sliceMessages)
    if (found !== null) return found
    return this.#work.add(holder, () => {
      const later = search(sliceMessages)
      if (later === null) return null
      if (this.#found.size === foundMax) this.#found.clear()
      this.#found.set(name, later)
      return later
    })
  }

  /** Returns a function that examines `count` more messages per call; null: not found yet. */
  #search(end: number, identity: number, newest: number): (count: number) => number | null {
    let above = newest // a message of the identity
    let below = end - 1 // the identity has none between this and `end`
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

  /** Examines up to `count` further messages. Returns true once all are examined. */
  #look(count: number): boolean {
    const { messages, identities } = this.#state
    while (this.#newest.length < identities.count) {
      this.#newest.push(0)
      this.#counts.push(0)
      this.#isNamed.push(0)
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
      const count = this.#counts.get(author) + 1
      this.#previous.push(newest)
      this.#newest.set(author, message + 1)
      this.#counts.set(author, count)
      if (count === 1) this.#changed.push(author)
    }
    return end === messages.count
  }

  #isPublic(message: number): boolean {
    const { messages, threads } = this.#state
    return threads.isPublic(messages.thread(message))
  }
}
