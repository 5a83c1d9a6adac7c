// Salvages a checkpoint that has lost some pages: fills stores with the rest, and, when the caller
// has repaired their content, takes a whole checkpoint in its place.

import type { CheckpointDirectory } from './checkpoint-files.ts'
import { readPages } from './checkpoint-reader.ts'
import { rowPageBytes } from './checkpoint-writer.ts'
import { Checkpoints } from './checkpoints.ts'
import { type BadPage, type Manifest, unpackRows } from './manifest.ts'
import { Bytes, type Filled, type Rows, type Stores } from './paged-store.ts'
import { blockBytes } from './parity.ts'
import { Sidecars } from './sidecar.ts'

const unpaced = () => null

/** Bytes `from` to `to` of a store, by its name, which are filled with zeros. */
export interface LostBytes {
  store: string
  from: number
  to: number
}

/**
 * Fills stores and rows with everything that is good or can be rebuilt, and returns the losses.
 * Rows are filled only if none is lost. Throws BadCheckpoint and the errors of the disk.
 */
export async function fillDamaged(
  place: CheckpointDirectory,
  manifest: Manifest,
  { stores, rows }: { stores: Stores; rows: Rows },
): Promise<LostBytes[]> {
  const packed = new Map(Array.from(rows.keys(), (name) => [name, new Bytes(rowPageBytes)]))
  const filled = new Map<string, Filled>([...stores, ...packed])
  const { lost } = await readPages(manifest, filled, { ...place, pause: unpaced })
  const sidecars = new Sidecars(place, manifest)
  const found: LostBytes[] = []
  try {
    for (const page of lost) found.push(...(await salvagePage(page, filled, sidecars)))
  } finally {
    await sidecars.close()
  }
  if (!found.some(({ store }) => rows.has(store))) {
    for (const [name, source] of rows) source.fill(unpackRows(packed.get(name)!.bytes))
  }
  return found
}

/** Fills in the blocks of a lost page that are good; returns the others. */
async function salvagePage(
  lost: BadPage,
  filled: ReadonlyMap<string, Filled>,
  sidecars: Sidecars,
): Promise<LostBytes[]> {
  const { store, page, offset, bytes } = lost
  const target = filled.get(store)!
  const begin = page * target.pageBytes
  const salvaged = await sidecars.salvage(lost)
  if (salvaged === null) return [{ store, from: begin, to: begin + bytes }]
  target.room(page).set(salvaged.page)
  return salvaged.lost.map((at) => ({
    store,
    from: begin + Math.max(0, at - offset),
    to: begin + Math.min(bytes, at - offset + blockBytes),
  }))
}

/**
 * Takes a checkpoint of the stores' whole content, at the position of `damaged`, from which they
 * were filled, then removes all others. `facts` and `form` are as in Checkpoints.
 */
export async function replaceCheckpoint(
  place: CheckpointDirectory,
  damaged: Manifest,
  saved: { stores: Stores; rows: Rows; facts: () => unknown; form: number },
): Promise<void> {
  for (const [name, { pages }] of damaged.tables) {
    for (let page = 0; page < pages; page++) saved.stores.get(name)?.markDirty(page)
  }
  const { storeId, position } = damaged
  // The log up to this position is durable, and repair.ts decides which part of it to keep.
  const journal = { storeId, position, sync: async () => {}, dropBefore: async () => {} }
  const checkpoints = new Checkpoints({ ...place, form: saved.form, onNotice: () => {} })
  await checkpoints.take({ journal, ...saved, pause: unpaced })
}
