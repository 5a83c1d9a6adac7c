// What of the state a checkpoint saves. Each part names its stores, whose pages are saved as they
// change; its facts, which are few and saved whole; and the parts that it is made of.
//
// V1. Stores and facts together are all there is to know: indexes and queues follow from them, and
//     are made again when the rest is there.
// V2. Names and meanings stay. What an older checkpoint does not have needs `formVersion` raised,
//     and code here that knows what it stands for.

import type { PagedStore, RowSource, Rows, Stores } from '../../wal/checkpoint/paged-store.ts'

/** Of what `State` saves; a checkpoint of a newer form is left to the program that wrote it. */
export const formVersion = 2

export interface Saved {
  readonly stores?: Readonly<Record<string, PagedStore>>
  /** Plain objects of which there may be many: packed one by one (row-snapshot.ts). */
  readonly rows?: Readonly<Record<string, RowSource>>
  readonly parts?: Readonly<Record<string, Saved>>
  /** What msgpack can hold. */
  facts?(): unknown
  /** Takes what `facts` gave, once stores and parts are as they were. */
  restore?(facts: unknown): void
}

/** All stores by their names, like `threads.ids.word0`. */
export function storesOf(saved: Saved): Stores {
  const stores = new Map<string, PagedStore>()
  walk(saved, '', (part, path) => {
    for (const [name, store] of Object.entries(part.stores ?? {})) stores.set(path + name, store)
  })
  return stores
}

/** All rows by their names. */
export function rowsOf(saved: Saved): Rows {
  const rows = new Map<string, RowSource>()
  walk(saved, '', (part, path) => {
    for (const [name, source] of Object.entries(part.rows ?? {})) rows.set(path + name, source)
  })
  return rows
}

/** All that is to be saved, to be given to `Checkpoints.take`. */
export function whatIsSaved(saved: Saved) {
  return { stores: storesOf(saved), rows: rowsOf(saved), facts: factsOf(saved) }
}

/** What `Checkpoints.load` fills from a checkpoint of the current form. */
export function whatIsFilled(saved: Saved) {
  const give = (facts: unknown) => restore(saved, facts as Record<string, unknown>)
  return { stores: storesOf(saved), rows: rowsOf(saved), restore: give }
}

/** The facts of all parts by the names of the parts. */
export function factsOf(saved: Saved): Record<string, unknown> {
  const facts: Record<string, unknown> = {}
  walk(saved, '', (part, path) => {
    if (part.facts !== undefined) facts[path] = part.facts()
  })
  return facts
}

/** Gives each part its facts back, the parts of a part before itself. */
export function restore(saved: Saved, facts: Record<string, unknown>): void {
  walk(saved, '', (part, path) => part.restore?.(facts[path]))
}

function walk(saved: Saved, path: string, visit: (part: Saved, path: string) => void): void {
  for (const [name, part] of Object.entries(saved.parts ?? {})) {
    walk(part, `${path}${name}.`, visit)
  }
  visit(saved, path)
}
