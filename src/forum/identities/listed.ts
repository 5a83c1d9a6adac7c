// An index of the names that only callers with a token find: those of listed identities or, where
// operators decide who takes part, of all that have a token. It is not persisted: identities are
// examined when a search needs it, in the order of their creation.
//
// L1. An identity that was examined is in the index exactly while it may be found. Records change
//     the index through `onListed`, so a search never meets an identity that it may not show.
// L2. `changedPosition` is that of the newest record that has listed an identity or ended that.
//
// Neighbours: publishers.ts has the names that everybody finds; name-index.ts.

import type { State } from '../state.ts'
import { NameIndex } from './name-index.ts'

/** The number of identities examined in one slice; adding a name takes about a microsecond. */
const sliceIdentities = 256

export class Listed {
  readonly #state: State
  readonly #names: NameIndex
  /** The number of identities that were examined. */
  #examined = 0
  #hasEverybody = false
  changedPosition = 0

  constructor(state: State) {
    this.#state = state
    this.#names = new NameIndex(state)
    state.onListed = (identity, position) => this.#onListed(identity, position)
  }

  /**
   * Examines further identities. Returns true once all are examined. `hasEverybody` says whether
   * identities are found that are not listed, which is the same for the life of a process.
   */
  catchUp(hasEverybody: boolean): boolean {
    const { identities } = this.#state
    this.#hasEverybody = hasEverybody
    const end = Math.min(identities.count, this.#examined + sliceIdentities)
    for (; this.#examined < end; this.#examined++) {
      if (this.#mayBeFound(this.#examined)) this.#names.add(this.#examined)
    }
    return end === identities.count
  }

  /** Returns the first `count` identities after `after` with names of this prefix. */
  find(prefix: string, after: number | null, count: number): number[] {
    return this.#names.find(prefix, after, count)
  }

  #mayBeFound(identity: number): boolean {
    const { identities } = this.#state
    if (this.#hasEverybody) return identities.kind(identity) !== 'compat'
    return identities.isListed(identity)
  }

  #onListed(identity: number, position: number): void {
    this.changedPosition = position
    if (identity >= this.#examined || this.#hasEverybody) return
    if (this.#state.identities.isListed(identity)) this.#names.add(identity)
    else this.#names.remove(identity)
  }
}
