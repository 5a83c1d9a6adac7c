// Pages that do not read as they were written, and sentences about them.

import { type Manifest, pagesName } from './manifest.ts'
import type { PagePlace, Stores } from './paged-store.ts'

const placesMax = 8

/** A page that does not read as it was written, and its place. */
export interface BadPage extends PagePlace {
  store: string
  page: number
}

/** The places of pages, for a sentence: `0000000007.pages at offsets 0 and 8192`. */
export function placesOf(pages: readonly BadPage[]): string {
  const shown = pages.slice(0, placesMax)
  const byFile = new Map<number, number[]>()
  for (const { file, offset } of shown) byFile.set(file, [...(byFile.get(file) ?? []), offset])
  const places = Array.from(byFile, ([file, offsets]) => {
    const where = offsets.length > 1 ? 'offsets' : 'offset'
    return `${pagesName(file)} at ${where} ${listed(offsets.sort((a, b) => a - b))}`
  })
  const more = pages.length - shown.length
  return listed(more > 0 ? [...places, `${more} more`] : places)
}

/** Why a checkpoint with these pages cannot be used. */
export function beyondParity(lost: readonly BadPage[]): string {
  const what = lost.length === 1 ? 'a page is damaged' : 'pages are damaged'
  return `${what} beyond what parity can rebuild: ${placesOf(lost)}`
}

/**
 * Marks dirty those of the pages that the newest checkpoint names and that are in memory. Returns
 * all but those that are not in memory.
 */
export function markBadDirty(
  pages: readonly BadPage[],
  newest: Manifest | undefined,
  stores: Stores,
): BadPage[] {
  return pages.filter(({ store: name, page, file, offset }) => {
    const table = newest?.tables.get(name)
    if (table?.files[page] !== file || table.offsets[page] !== offset) return true // not named
    const store = stores.get(name)
    if (store?.holds?.(page) === false) return false
    store?.markDirty(page)
    return true
  })
}

function listed(parts: (string | number)[]): string {
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}
