// Invitations: one actor each (forum/invitations/machine.ts), found by the digest of its code.
//
// I1. Only the SHA-256 of a code is kept, so the state, or a backup of it, contains no usable code.
// I2. At most `invitationsMax` are kept, in the order in which they were issued. A new one replaces
//     the oldest that has ended; while none has ended, none is issued
//     (forum/invitations/commands.ts).
// I3. All invitations that are due expire together, when a record that keeps time
//     (`guests.expired`) is applied. Which code a caller tries makes no difference.

import assert from 'node:assert/strict'
import type { ContextIn } from '../../kernel/actor.ts'
import { ActorObjects } from '../../kernel/actor-objects.ts'
import type { Actor } from '../../kernel/compile.ts'
import { invitation } from './machine.ts'

export const invitationsMax = 1_000

export interface Invitation extends ContextIn<typeof invitation> {
  /** 32 hex characters. */
  id: string
  state: 'issued' | 'usedUp' | 'revoked' | 'expired'
  /** The operator's reason for issuing it, or '' if none was given. */
  reason: string
}

interface NewInvitation {
  id: string
  digest: string
  reason: string
  uses: number
  at: number
  expiresAt: number
  position: number
}

interface Entry {
  id: string
  digest: string
  reason: string
  actor: Actor<ContextIn<typeof invitation>>
}

type EntryRow = [id: string, digest: string, reason: string, actor: unknown[]]

export class Invitations {
  readonly #actors = new ActorObjects(invitation)
  readonly #byId = new Map<string, Entry>()
  readonly #byDigest = new Map<string, Entry>()
  /** The position of the newest change to any invitation. */
  changedPosition = 0

  facts(): unknown[] {
    const rows = Array.from(this.#byId.values(), ({ id, digest, reason, actor }): EntryRow => {
      return [id, digest, reason, this.#actors.rowOf(actor)]
    })
    return [this.changedPosition, rows]
  }

  restore(facts: unknown): void {
    const [changedPosition, rows] = facts as [number, EntryRow[]]
    this.changedPosition = changedPosition
    for (const [id, digest, reason, row] of rows) {
      this.#add({ id, digest, reason, actor: this.#actors.ofRow(row) })
    }
  }

  /** Whether one more can be issued (I2). */
  get hasRoom(): boolean {
    return this.#byId.size < invitationsMax || this.#oldestEnded() !== undefined
  }

  issue({ id, digest, reason, position, ...issued }: NewInvitation): void {
    if (this.#byId.size >= invitationsMax) {
      const oldest = this.#oldestEnded()
      assert(oldest !== undefined, 'I2: one has ended')
      this.#byId.delete(oldest.id)
      this.#byDigest.delete(oldest.digest)
    }
    const actor = this.#actors.create()
    this.#actors.tell(actor, { type: 'issued', ...issued })
    this.#add({ id, digest, reason, actor })
    this.changedPosition = position
  }

  /** Returns the id of the invitation whose code has this SHA-256 (in hex), or null. */
  idOf(digest: string): string | null {
    return this.#byDigest.get(digest)?.id ?? null
  }

  find(id: string): Invitation | null {
    const entry = this.#byId.get(id)
    return entry === undefined ? null : this.#shown(entry)
  }

  /** Returns all invitations that are kept, oldest first. */
  all(): Invitation[] {
    return Array.from(this.#byId.values(), (entry) => this.#shown(entry))
  }

  mayUse(id: string, at: number): boolean {
    return this.#actors.may(this.#byId.get(id)!.actor, { type: 'used', at })
  }

  use(id: string, at: number, position: number): void {
    this.#actors.tell(this.#byId.get(id)!.actor, { type: 'used', at })
    this.changedPosition = position
  }

  revoke(id: string, position: number): void {
    this.#actors.tell(this.#byId.get(id)!.actor, { type: 'revoked' })
    this.changedPosition = position
  }

  /** The time at which the next invitation expires, or Infinity if none does. */
  get nextExpiry(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { actor } of this.#byId.values()) {
      if (this.#isOpen(actor)) next = Math.min(next, this.#actors.get(actor, 'expiresAt'))
    }
    return next
  }

  /** Expires all invitations that are due (I3). */
  expire(at: number, position: number): void {
    const event = { type: 'expired', at } as const
    for (const { actor } of this.#byId.values()) {
      if (!this.#actors.may(actor, event)) continue
      this.#actors.tell(actor, event)
      this.changedPosition = position
    }
  }

  #oldestEnded(): Entry | undefined {
    for (const entry of this.#byId.values()) {
      if (!this.#isOpen(entry.actor)) return entry
    }
    return undefined
  }

  #isOpen(actor: Entry['actor']): boolean {
    return this.#actors.state(actor) === 'issued'
  }

  #add(entry: Entry): void {
    this.#byId.set(entry.id, entry)
    this.#byDigest.set(entry.digest, entry)
  }

  #shown({ id, reason, actor }: Entry): Invitation {
    const state = this.#actors.state(actor) as Invitation['state']
    return { id, state, reason, ...actor.context }
  }
}
