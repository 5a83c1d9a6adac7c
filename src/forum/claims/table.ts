// The claims that are held: one actor each (forum/claims/machine.ts), found by its thread. Claims
// that have ended are forgotten.
//
// D1. At most one claim of a thread is held, and at most `claimsMax` of all threads.
// D2. Fences are numbers from one counter, so each claim has a greater one than all claims before
//     it, of any thread, whatever was forgotten.
// D3. All claims that are due expire together, when a record that keeps time (`guests.expired`) is
//     applied, and before their thread is claimed again. So a record says of each claim how it
//     ended, and every process shows the same.

import assert from 'node:assert/strict'
import { Heap, type HeapEntry } from '../../base/heap.ts'
import type { ContextIn } from '../../kernel/actor.ts'
import { ActorObjects } from '../../kernel/actor-objects.ts'
import { RowSnapshot } from '../../kernel/columns/row-snapshot.ts'
import type { Actor } from '../../kernel/compile.ts'
import { claim } from './machine.ts'

export const claimsMax = 65_536

export type Claim = Readonly<ContextIn<typeof claim>>

interface Entry extends HeapEntry {
  /** When the claim expires. */
  key: number
  actor: Actor<ContextIn<typeof claim>>
}

export type HowEnded = 'released' | 'expired' | 'blocked'

export class Claims {
  readonly #actors = new ActorObjects(claim)
  readonly #held = new Map<number, Entry>()
  readonly #due = new Heap<Entry>()
  /** The fence of the newest claim. */
  #fences = 0
  /** The number of claims that this process has seen end, by how they ended. */
  readonly ended: Record<HowEnded, number> = { released: 0, expired: 0, blocked: 0 }
  /** The rows that a checkpoint saves; see kernel/saved.ts. */
  readonly rows = {
    held: new RowSnapshot<Entry>(
      () => this.#held.values(),
      ({ actor }) => this.#actors.rowOf(actor),
    ),
  }

  facts(): number {
    return this.#fences
  }

  restore(facts: unknown): void {
    this.#fences = facts as number
    for (const row of this.rows.held.takeFilled()) this.#add(this.#actors.ofRow(row as unknown[]))
  }

  get count(): number {
    return this.#held.size
  }

  /** Returns the claim of the thread, or null if no record says that it is held. */
  of(thread: number): Claim | null {
    return this.#held.get(thread)?.actor.context ?? null
  }

  *all(): Iterable<Claim> {
    for (const { actor } of this.#held.values()) yield actor.context
  }

  /** When the next claim expires; Infinity if none is held. */
  get nextExpiry(): number {
    return this.#due.size === 0 ? Number.POSITIVE_INFINITY : this.#due.first.key
  }

  /**
   * The identity claims the thread at the time `at`, or renews its claim. Nobody else holds it, or
   * no longer.
   */
  claim(thread: number, holder: number, expiresAt: number, at: number): Claim {
    const entry = this.#held.get(thread)
    if (entry !== undefined && this.#actors.may(entry.actor, { type: 'expired', at })) {
      this.#end(entry, { type: 'expired', at }, 'expired')
    } else if (entry !== undefined) {
      assert(entry.actor.context.holder === holder, 'D1: nobody else holds it')
      this.rows.held.touch(entry)
      this.#actors.tell(entry.actor, { type: 'renewed', expiresAt })
      entry.key = expiresAt
      this.#due.moved(entry)
      return entry.actor.context
    }
    return this.hold({ thread, holder, expiresAt, fence: this.#fences + 1 })
  }

  /** Adds a claim of a thread that nobody holds, with its fence. */
  hold(claimed: Claim): Claim {
    this.skipFences(claimed.fence)
    const actor = this.#actors.create()
    this.#actors.tell(actor, { type: 'claimed', ...claimed })
    this.rows.held.add(this.#add(actor))
    return actor.context
  }

  /** Makes the fences of later claims greater than this number. */
  skipFences(through: number): void {
    this.#fences = Math.max(this.#fences, through)
  }

  /** Ends the claim of the thread, which is held, before its time. */
  release(thread: number, how: 'released' | 'blocked'): void {
    this.#end(this.#held.get(thread)!, { type: 'released' }, how)
  }

  /** Expires all claims that are due (D3); returns their threads. */
  expire(at: number): number[] {
    const threads: number[] = []
    while (this.nextExpiry <= at) {
      const { first } = this.#due
      threads.push(first.actor.context.thread)
      this.#end(first, { type: 'expired', at }, 'expired')
    }
    return threads
  }

  #add(actor: Entry['actor']): Entry {
    const { thread, expiresAt } = actor.context
    const entry = { key: expiresAt, heapIndex: 0, actor }
    this.#held.set(thread, entry)
    this.#due.add(entry)
    return entry
  }

  #end(
    entry: Entry,
    event: { type: 'released' } | { type: 'expired'; at: number },
    how: HowEnded,
  ): void {
    this.rows.held.touch(entry)
    this.#held.delete(entry.actor.context.thread)
    this.#due.delete(entry)
    this.#actors.tell(entry.actor, event)
    this.ended[how] += 1
  }
}
