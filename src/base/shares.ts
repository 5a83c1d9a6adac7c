// Shares of something of which there is a limited amount, so that nobody takes all of it.
//
//   │ a a a a │ b b │ c │ free free free free │     a gets no more: it has as much as is free
//
// S1. Whoever asks gets it if it then has no more than was free before. So one alone gets half of
//     all, and the next one half of the rest. As they give back and ask again, k of them come to
//     equal parts, and as much stays free for somebody who has none.
// S2. Asking, taking and giving back take the same time, however many have some.

import assert from 'node:assert/strict'

/** Who has a share: the number of an identity, or the network of somebody without a token. */
export type Holder = number | string

export class Shares {
  readonly #max: number
  #taken = 0
  readonly #of = new Map<Holder, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** How much is taken. */
  get taken(): number {
    return this.#taken
  }

  /** Whether so much may be taken (S1). */
  mayTake(holder: Holder, amount = 1): boolean {
    return (this.#of.get(holder) ?? 0) + amount <= this.#max - this.#taken
  }

  take(holder: Holder, amount = 1): void {
    this.#of.set(holder, (this.#of.get(holder) ?? 0) + amount)
    this.#taken += amount
  }

  giveBack(holder: Holder, amount = 1): void {
    const left = (this.#of.get(holder) ?? 0) - amount
    assert(left >= 0, 'only what was taken is given back')
    if (left === 0) this.#of.delete(holder)
    else this.#of.set(holder, left)
    this.#taken -= amount
  }
}
