// Publishing tickets that are still valid: one actor for each (forum/tickets/machine.ts), found by
// nonce.
//
// E1. All tickets have the same lifetime and times never go back, so tickets expire in the order of
//     their issue. Expired tickets are removed when the next one is issued.
// E2. Therefore at most the tickets of one lifetime are kept; kernel/quotas.ts bounds their number.

import assert from 'node:assert/strict'
import type { ContextIn } from '../../kernel/actor.ts'
import { ActorObjects } from '../../kernel/actor-objects.ts'
import type { Actor } from '../../kernel/compile.ts'
import { noMessage, ticket } from './machine.ts'

type Ticket = Actor<ContextIn<typeof ticket>>

/** A ticket as a checkpoint saves it. */
export type TicketRow = [nonce: string, actor: unknown[]]

export class Tickets {
  readonly #actors = new ActorObjects(ticket)
  readonly #byNonce = new Map<string, Ticket>()
  /** Nonces, oldest first. The tickets of those before index `#oldest` have been removed. */
  #nonces: string[] = []
  #oldest = 0

  get count(): number {
    return this.#byNonce.size
  }

  /** Adds a ticket, and removes those that have expired by `at`. */
  issue(nonce: string, expiresAt: number, at: number): void {
    this.#forget(at)
    const issued = this.#actors.create()
    this.#actors.tell(issued, { type: 'issued', expiresAt })
    this.#byNonce.set(nonce, issued)
    this.#nonces.push(nonce)
  }

  facts(): TicketRow[] {
    const kept = this.#nonces.slice(this.#oldest)
    return kept.map((nonce) => [nonce, this.#actors.rowOf(this.#byNonce.get(nonce)!)])
  }

  restore(facts: unknown): void {
    const rows = facts as TicketRow[]
    this.#nonces = rows.map(([nonce]) => nonce)
    for (const [nonce, row] of rows) this.#byNonce.set(nonce, this.#actors.ofRow(row))
  }

  /** Returns whether the ticket's record is in this log and the ticket is still kept. */
  has(nonce: string): boolean {
    return this.#byNonce.has(nonce)
  }

  /** Returns whether a message can be published with the ticket at this time. */
  mayPublish(nonce: string, at: number): boolean {
    const found = this.#byNonce.get(nonce)
    const event = { type: 'published', message: noMessage, at } as const
    return found !== undefined && this.#actors.may(found, event)
  }

  /** Returns the number of the message published with the ticket, or `noMessage`. */
  message(nonce: string): number {
    return this.#byNonce.get(nonce)?.context.message ?? noMessage
  }

  /** Returns the time at which a kept ticket expires, in milliseconds since the epoch. */
  expiresAt(nonce: string): number {
    return this.#byNonce.get(nonce)!.context.expiresAt
  }

  use(nonce: string, message: number, at: number): void {
    const used = this.#byNonce.get(nonce)
    assert(used !== undefined, 'E2: a ticket is kept while it can be used')
    this.#actors.tell(used, { type: 'published', message, at })
  }

  #forget(at: number): void {
    const nonces = this.#nonces
    const event = { type: 'expired', at } as const
    while (this.#oldest < nonces.length) {
      const nonce = nonces[this.#oldest]
      const oldest = this.#byNonce.get(nonce)!
      if (!this.#actors.may(oldest, event)) break
      this.#actors.tell(oldest, event)
      this.#byNonce.delete(nonce)
      this.#oldest += 1
    }
    // Amortized: each removed nonce pays for moving at most one that stays.
    if (this.#oldest * 2 <= nonces.length) return
    this.#nonces = nonces.slice(this.#oldest)
    this.#oldest = 0
  }
}
