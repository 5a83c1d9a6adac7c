// The acts of operators that are in effect: locked threads, removed messages and blocked
// identities, each with the time and the reason from its record.
//
// A1. An act is kept exactly as long as it is in effect. Whether a thread is locked or an identity
//     is blocked is determined by its actor; whether a message is removed, by its entry.
// A2. Acts are kept in the order of their positions, in which `page` returns them.
//
// Acts are plain objects, because people make them one at a time.

import { RowSnapshot } from '../../kernel/columns/row-snapshot.ts'

export type ActKind = 'locked' | 'removed' | 'blocked'

/** Stored on disk as indexes: append new kinds at the end. */
export const actKinds = ['locked', 'removed', 'blocked'] as const satisfies readonly ActKind[]

export interface Act {
  readonly kind: ActKind
  /** The number of the thread, message or identity. */
  readonly subject: number
  /** The position and the time of the act's record. */
  readonly position: number
  readonly at: number
  readonly reason: string
}

type ActRow = [kind: number, subject: number, position: number, at: number, reason: string]

export class Moderation {
  /** The number of acts that were added since this process has the state. */
  added = 0
  readonly #acts = new Map<string, Act>()
  /** The rows that a checkpoint saves; see kernel/saved.ts. */
  readonly rows = { acts: new RowSnapshot<Act>(() => this.#acts.values(), rowOf) }

  get count(): number {
    return this.#acts.size
  }

  restore(): void {
    const rows = this.rows.acts.takeFilled() as ActRow[]
    for (const row of rows.sort(([, , a], [, , b]) => a - b)) {
      const [kind, subject, position, at, reason] = row
      this.#set({ kind: actKinds[kind], subject, position, at, reason })
    }
  }

  /** Adds an act, which must not be present yet. */
  add(act: Act): void {
    this.rows.acts.add(act)
    this.#set(act)
    this.added += 1
  }

  /** Removes an act, if it is present. */
  delete(kind: ActKind, subject: number): void {
    const act = this.find(kind, subject)
    if (act === undefined) return
    this.rows.acts.touch(act)
    this.#acts.delete(nameOf(kind, subject))
  }

  find(kind: ActKind, subject: number): Act | undefined {
    return this.#acts.get(nameOf(kind, subject))
  }

  /** Returns at most `limit` acts with a position greater than `after`, oldest first. */
  page(after: number, limit: number): Act[] {
    const found: Act[] = []
    for (const act of this.#acts.values()) {
      if (found.length === limit) break
      if (act.position > after) found.push(act)
    }
    return found
  }

  #set(act: Act): void {
    this.#acts.set(nameOf(act.kind, act.subject), act)
  }
}

function nameOf(kind: ActKind, subject: number): string {
  return `${kind} ${subject}`
}

function rowOf({ kind, subject, position, at, reason }: Act): ActRow {
  return [actKinds.indexOf(kind), subject, position, at, reason]
}
