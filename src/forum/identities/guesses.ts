// Limits how often an address may send a wrong token or invitation, so that a caller who guesses is
// refused before anything is looked up. docs/interface.md, "Quotas".
//
// X1. Only failures are counted, in memory. They make no record, so a caller without a token causes
//     no write. A restart clears the counts. The process that decides counts alone: a token that a
//     reader or a follower does not know may be newer than its state, and is forwarded.
// X2. While an address is over its limit, nothing that it sends is looked up, so no answer reveals
//     whether a guess was right. Requests with a token that the edge has seen recently
//     (edge/http/callers.ts) are served, so that members behind the same address can go on.
// X3. At most `networksMax` networks are counted. A further one displaces the one counted first.

import { networkOf } from '../../kernel/network.ts'

const windowMs = 3_600_000
const networksMax = 65_536

export class Guesses {
  readonly #most: number
  readonly #now: () => number
  /** By network: the number of failures since `#since`. */
  #failures = new Map<string, number>()
  #since = 0
  /** The number of callers that were not let in, by reason. */
  readonly notLetIn = { token: 0, invite: 0, no_invite: 0, closed: 0, guesses: 0 }

  /** `most`: the limit of failures per network and hour; 0: there is none. */
  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  get areLimited(): boolean {
    return this.#most > 0
  }

  /** Returns for how many seconds this address is refused, and counts the refusal; or returns 0. */
  refuse(address: string): number {
    if (this.#most === 0) return 0
    const now = this.#now()
    if (now - this.#since >= windowMs) {
      this.#failures = new Map()
      this.#since = now
    }
    if ((this.#failures.get(networkOf(address)) ?? 0) < this.#most) return 0
    this.notLetIn.guesses += 1
    return Math.ceil((this.#since + windowMs - now) / 1000)
  }

  /** Counts a wrong token or invitation. */
  count(address: string, what: 'token' | 'invite'): void {
    this.notLetIn[what] += 1
    if (this.#most === 0) return
    const network = networkOf(address)
    const failures = this.#failures.get(network)
    if (failures === undefined && this.#failures.size >= networksMax) {
      this.#failures.delete(this.#failures.keys().next().value!)
    }
    this.#failures.set(network, (failures ?? 0) + 1)
  }
}
