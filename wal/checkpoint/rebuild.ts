// Rebuilds one page of a checkpoint from parity, while the node runs.

import type { BadPage } from './bad-pages.ts'
import type { CheckpointDirectory } from './checkpoint-files.ts'
import { placeOf } from './checkpoint-reader.ts'
import type { Manifest } from './manifest.ts'
import { Sidecars } from './sidecar.ts'

export interface RebuiltPage {
  /** Where the page lies. */
  place: BadPage
  /** The page as it was written; null when parity cannot rebuild it. */
  bytes: Buffer | null
}

/** Rebuilds a page of a store; no file is changed. Rejects with errors of the disk. */
export async function rebuildPage(
  directory: CheckpointDirectory,
  manifest: Manifest,
  store: string,
  page: number,
): Promise<RebuiltPage> {
  const place = placeOf(store, manifest.tables.get(store)!, page)
  const sidecars = new Sidecars(directory, manifest)
  try {
    return { place, bytes: (await sidecars.rebuild(place))?.page ?? null }
  } finally {
    await sidecars.close()
  }
}
