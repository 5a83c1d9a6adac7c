// Registrations with an idempotency key: a caller whose answer was lost gets the same one again,
// with its token, which is stored nowhere else.
//
// N1. An answer is kept for an hour, in the memory of the process that decides, and never in a
//     record. A restart or another leader forgets it.
// N2. It is found by the caller's network and key, so that another network cannot ask for it.
// N3. At most `keptMax` are kept. A network that has its share displaces its own oldest one.

import { hash } from 'node:crypto'
import { Shares } from '../../base/shares.ts'
import { networkOf } from '../../kernel/network.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import type { IdentityKind } from './machine.ts'

const keptMs = 3_600_000
const keptMax = 8_192

export interface NewIdentity {
  kind: Exclude<IdentityKind, 'compat'>
  displayName: string
  /** Whether it is found by its name before it has published anything. */
  listed?: boolean
  address: string
  /** The idempotency key, or '' if the creator has sent none. */
  key?: string
  /** The code of the invitation that the creator has sent, if any. */
  invite?: string | undefined
}

export interface CreatedIdentity {
  position: number
  id: string
  kind: IdentityKind
  displayName: string
  token: string
  expiresAt: number | null
}

interface StoredAnswer {
  digest: string
  created: CreatedIdentity
  at: number
}

export class Registrations {
  readonly #now: () => number
  readonly #shares = new Shares(keptMax)
  /** By network, and then by key, oldest first. */
  readonly #of = new Map<string, Map<string, StoredAnswer>>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** The number of answers that are kept. */
  get count(): number {
    return this.#shares.taken
  }

  /** Returns the answer to an earlier command with this key, or null if there was none. */
  find(command: NewIdentity): CreatedIdentity | Rejection | null {
    const kept = this.#of.get(networkOf(command.address))?.get(command.key ?? '')
    if (kept === undefined || this.#now() - kept.at >= keptMs) return null
    const { created, digest } = kept
    if (digest === digestOf(command)) return created
    return { rejected: 'idempotency_conflict', position: created.position }
  }

  keep(command: NewIdentity, created: CreatedIdentity): void {
    const { key = '', address } = command
    if (key === '') return
    const network = networkOf(address)
    const own = this.#of.get(network) ?? new Map<string, StoredAnswer>()
    if (own.has(key)) this.#drop(network, own, key)
    if (!this.#shares.mayTake(network)) {
      if (own.size === 0) return
      this.#drop(network, own, own.keys().next().value!)
    }
    this.#shares.take(network)
    this.#of.set(network, own)
    own.set(key, { digest: digestOf(command), created, at: this.#now() })
  }

  /** Drops the answers that are older than an hour, or all. */
  expire(ageMs = keptMs): void {
    const until = this.#now() - ageMs
    for (const [network, own] of this.#of) {
      for (const [key, { at }] of own) {
        if (at > until) break
        this.#drop(network, own, key)
      }
    }
  }

  #drop(network: string, own: Map<string, StoredAnswer>, key: string): void {
    own.delete(key)
    if (own.size === 0) this.#of.delete(network)
    this.#shares.giveBack(network)
  }
}

function digestOf({ kind, displayName, listed = false, invite = '' }: NewIdentity): string {
  return hash('sha256', JSON.stringify([kind, displayName, listed, invite]))
}
