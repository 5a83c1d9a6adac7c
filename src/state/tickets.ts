// Publishing tickets that may still be used: one actor each (actors/ticket.ts), by nonce.
//
// E1. Tickets live equally long and times never go back: they expire in the order of their issue.
//     Those whose time has come are forgotten when the next one is issued.
// E2. So the tickets of one lifetime are kept, at most; quotas.ts bounds how many those are.

import type { Actor } from '../actors/compile.ts'
import { compile } from '../actors/compile.ts'
import type { TicketContext, TicketEvent } from '../actors/ticket.ts'
import { noMessage, ticketMachine } from '../actors/ticket.ts'

const machine = compile<TicketContext, TicketEvent>(ticketMachine)

export class Tickets {
  readonly #actors = new Map<string, Actor<TicketContext>>()
  /** Nonces from the oldest on; those before `#oldest` are forgotten. */
  #nonces: string[] = []
  #oldest = 0

  /** How many are kept. */
  get count(): number {
    return this.#actors.size
  }

  /** Adds a ticket, and forgets those that have expired by `at`. */
  issue(nonce: string, expiresAt: number, at: number): void {
    this.#forget(at)
    const actor = { state: machine.initialState, context: machine.initialContext() }
    machine.step(actor, { type: 'issued', expiresAt })
    this.#actors.set(nonce, actor)
    this.#nonces.push(nonce)
  }

  facts(): unknown[] {
    return this.#nonces.slice(this.#oldest).map((nonce) => [nonce, this.#actors.get(nonce)])
  }

  restore(facts: unknown): void {
    const tickets = facts as [string, Actor<TicketContext>][]
    this.#nonces = tickets.map(([nonce]) => nonce)
    for (const [nonce, actor] of tickets) this.#actors.set(nonce, actor)
  }

  has(nonce: string): boolean {
    return this.#actors.has(nonce)
  }

  /** The number of the message published with the ticket, or `noMessage`. */
  message(nonce: string): number {
    return this.#actors.get(nonce)?.context.message ?? noMessage
  }

  /** The message with this number was published with the ticket. */
  use(nonce: string, message: number, at: number): void {
    const actor = this.#actors.get(nonce)
    if (actor !== undefined) machine.step(actor, { type: 'published', message, at })
  }

  #forget(at: number): void {
    const nonces = this.#nonces
    while (this.#oldest < nonces.length) {
      const nonce = nonces[this.#oldest]
      if (!machine.step(this.#actors.get(nonce)!, { type: 'expired', at })) break
      this.#actors.delete(nonce)
      this.#oldest += 1
    }
    // Each nonce is moved at most once for one that is forgotten.
    if (this.#oldest * 2 <= nonces.length) return
    this.#nonces = nonces.slice(this.#oldest)
    this.#oldest = 0
  }
}
