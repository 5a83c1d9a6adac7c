// Defines what a checkpoint saves. Each part names its stores, whose pages are saved if they have
// changed; its rows; its facts, which are small and saved whole; and its own parts.
//
// V1. Stores, rows and facts contain the whole state: indexes and queues are derived from them, and
//     rebuilt after a load.
// V2. Names and meanings never change. Anything that older checkpoints do not contain requires a
//     new `stateVersion`, and, for a version that a release wrote, code that loads it; but not a
//     fact for which `restore` has a default, and which older builds ignore.
// V3. A state with parts left out (forum/state.ts) is loaded like any other, and is never
//     saved.

import assert from 'node:assert/strict'
import type { PagedStore, RowSource, Rows, Stores } from '../../wal/checkpoint/paged-store.ts'
import { inSlicesOf } from '../base/pauses.ts'

const sliceMs = 4

/** The version of the saved `State`. */
export const stateVersion = 4

export interface Saved {
  readonly stores?: Readonly<Record<string, PagedStore>>
  /** Plain objects, possibly many, which are packed one by one (kernel/columns/row-snapshot.ts). */
  readonly rows?: Readonly<Record<string, RowSource>>
  readonly parts?: Readonly<Record<string, Saved>>
  /** Whether some parts that a checkpoint needs are left out. */
  readonly isPartial?: boolean
  /** Returns a value that msgpack can encode. */
  facts?(): unknown
  /** Restores the part from the value of `facts`, after its stores and its own parts. */
  restore?(facts: unknown): void
  /** Fills the indexes of a restored part; yields about every millisecond. */
  fillIndexes?(): Iterable<void>
}

/** Returns all stores by name, for example `threads.ids.word0`. */
export function storesOf(saved: Saved): Stores {
  const stores = new Map<string, PagedStore>()
  walk(saved, '', (part, path) => {
    for (const [name, store] of Object.entries(part.stores ?? {})) stores.set(path + name, store)
  })
  return stores
}

export function rowsOf(saved: Saved): Rows {
  const rows = new Map<string, RowSource>()
  walk(saved, '', (part, path) => {
    for (const [name, source] of Object.entries(part.rows ?? {})) rows.set(path + name, source)
  })
  return rows
}

/** Returns everything that a checkpoint saves, as the argument of `Checkpoints.take`. */
export function checkpointSource(saved: Saved) {
  assert(saved.isPartial !== true, 'V3: it is whole')
  return { stores: storesOf(saved), rows: rowsOf(saved), facts: () => factsOf(saved) }
}

export type OnIndexFilled = (filled: number, of: number) => void

/** Returns the target into which `Checkpoints.load` loads a checkpoint of the current version. */
export function checkpointTarget(saved: Saved, onIndexFilled?: OnIndexFilled) {
  const restoreAll = (facts: unknown) => {
    restore(saved, facts as Record<string, unknown>)
    return fillIndexes(saved, onIndexFilled)
  }
  return { stores: storesOf(saved), rows: rowsOf(saved), restore: restoreAll }
}

/** Fills all indexes of a restored state. The event loop keeps running meanwhile. */
export async function fillIndexes(
  saved: Saved,
  onIndexFilled: OnIndexFilled = () => {},
): Promise<void> {
  const pause = inSlicesOf(sliceMs)
  const parts: Saved[] = []
  walk(saved, '', (part) => {
    if (part.fillIndexes !== undefined) parts.push(part)
  })
  for (const [done, part] of parts.entries()) {
    onIndexFilled(done, parts.length)
    for (const _ of part.fillIndexes!()) {
      const pausing = pause()
      if (pausing !== null) await pausing
    }
  }
  onIndexFilled(parts.length, parts.length)
}

export function factsOf(saved: Saved): Record<string, unknown> {
  const facts: Record<string, unknown> = {}
  walk(saved, '', (part, path) => {
    if (part.facts !== undefined) facts[path] = part.facts()
  })
  return facts
}

/** Restores each part from its facts; the parts of a part come before the part itself. */
export function restore(saved: Saved, facts: Record<string, unknown>): void {
  walk(saved, '', (part, path) => part.restore?.(facts[path]))
}

function walk(saved: Saved, path: string, visit: (part: Saved, path: string) => void): void {
  for (const [name, part] of Object.entries(saved.parts ?? {})) {
    walk(part, `${path}${name}.`, visit)
  }
  visit(saved, path)
}
