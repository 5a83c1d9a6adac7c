// Limits how often an address may send a token or an invitation that nobody has: whoever guesses is
// refused before anything is looked up. docs/interface.md, "Quotas".
//
// X1. Failures alone are counted, in memory: they make no record, so a caller without a token
//     causes no write. Each process counts for itself, and a restart forgets it.
// X2. While an address is over its limit, what it sends is not looked up, so no answer says whether
//     it was right. Requests with a token that the edge has seen lately (http/callers.ts) are
//     served: members behind the same address go on.
// X3. At most `networksMax` networks are counted: the one counted first is forgotten for another.

import { networkOf } from './network.ts'

const windowMs = 3_600_000
const networksMax = 65_536

export class Guesses {
  readonly #most: number
  readonly #now: () => number
  /** By network: how many failures there were since `#since`. */
  #failures = new Map<string, number>()
  #since = 0
  /** How many callers were not let in, by reason. */
  readonly notLetIn = { token: 0, invite: 0, no_invite: 0, closed: 0, guesses: 0 }

  /** At most so many failures of a network in an hour; 0: any number. */
  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  get areLimited(): boolean {
    return this.#most > 0
  }

  /** The seconds for which this address is refused, which counts as refused; 0: it is not. */
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

  /** Counts a token or an invitation that nobody has. */
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
