// Shares of a limited resource, so that no caller can take all of it.
//
//   │ a a a a │ b b │ c │ free free free free │     a gets no more: it has as much as is free
//
// S1. A holder gets more if it then has no more than was free before. So a single holder gets half
//     of the resource, and the next one half of the rest. As holders give back and take again, the
//     shares of k of them converge to equal parts, and as much stays free for a new one.
// S2. Each operation takes constant time, regardless of the number of holders.

import assert from 'node:assert/strict'

/** The holder of a share: an identity's number, or the network of a caller without a token. */
export type Holder = number | string

export class Shares {
  readonly #max: number
  #taken = 0
  readonly #of = new Map<Holder, number>()

  constructor(max: number) {
    this.#max = max
  }

  get taken(): number {
    return this.#taken
  }

  /** Returns whether the holder may take this amount (S1). */
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
