// Determines which page files may have a copy of a page as it was before something in it was
// erased. The next checkpoint empties these files, and they are removed when the one after it is
// taken.
//
//   file 4   │ page 0 │ page 1 │ page 2, not yet full │        Y1. page 2 is in file 8 now, but
//   file 6   │ page 2, not yet full │                               file 4 has an older copy
//   file 8   │ page 2 │ page 3 │ …
//
// A page is written when it has changed since the last checkpoint, so its copies lie in the file
// that has it now, and in earlier ones down to that of the preceding page, which was full when the
// first copy was written. A preceding page may have moved to a later file since then, so the
// nearest one that has not moved determines the range.
//
// Y2. A page that moves may leave copies in files outside of this range, if the preceding page has
//     moved as well. So these files are emptied together with the one that the page leaves.

import type { Manifest } from './manifest.ts'
import type { PageTable, Stores } from './paged-store.ts'

/**
 * Returns the page files that may have copies of erased pages of these stores, and clears the
 * stores' sets of erased pages.
 */
export function filesOfErased(newest: Manifest | undefined, stores: Stores): Set<number> {
  const all = new Set<number>()
  for (const [name, { erased }] of stores) {
    if (erased === undefined || erased.size === 0) continue
    const table = newest?.tables.get(name)
    const copies = table && filesWithCopies(table, newest!.files.keys(), erased)
    for (const file of copies ?? []) all.add(file)
    erased.clear()
  }
  return all
}

/**
 * Returns the files `emptied`, and those of the checkpoint that have to be emptied with them (Y2).
 */
export function filesToEmpty(
  emptied: ReadonlySet<number>,
  { tables, files }: Manifest,
  stores: Stores,
): ReadonlySet<number> {
  let all = emptied
  for (const [name, table] of tables) {
    if (stores.get(name)?.erased === undefined) continue
    all = withOlderCopies(table, [...files.keys()], all)
  }
  return all
}

/** Returns those among `files` that may have copies of these pages. */
export function filesWithCopies(
  table: PageTable,
  files: Iterable<number>,
  pages: Iterable<number>,
): Set<number> {
  const ranges = Array.from(pages)
    .filter((page) => page < table.pages)
    .map((page) => rangeOf(table, page))
  const isIn = (file: number) => ranges.some(([from, to]) => file >= from && file <= to)
  return new Set(Array.from(files).filter(isIn))
}

/** Returns the files `emptied`, and those among `files` that have to be emptied with them (Y2). */
export function withOlderCopies(
  table: PageTable,
  files: readonly number[],
  emptied: ReadonlySet<number>,
): Set<number> {
  const all = new Set(emptied)
  const last = table.pages - 1 // it is written again when it has grown
  const isMoved = (page: number) => page === last || all.has(table.files[page])
  for (let before = -1; before < all.size; ) {
    before = all.size
    for (let page = 1; page <= last; page++) {
      if (!isMoved(page)) continue
      const [from, to] = rangeOf(table, page)
      const counted = isMoved(page - 1) ? Number.POSITIVE_INFINITY : table.files[page - 1]
      if (from >= counted || (from === to && all.has(to))) continue
      for (const file of files) if (file >= from && file <= to && file < counted) all.add(file)
    }
  }
  return all
}

function rangeOf({ files }: PageTable, page: number): [from: number, to: number] {
  const to = files[page]
  let before = page - 1
  while (before >= 0 && files[before] > to) before -= 1
  return [before >= 0 ? files[before] : 0, to]
}
