// Erases an entry of the text, whether its pages are in memory or on disk: its bytes become zeros
// in memory, and the next checkpoint saves the pages in that state.
//
// G1. All other entries of these pages keep their bytes. The CRCs of the blocks are updated.
// G2. Page files may contain older copies of the pages. `erased` lists the pages until the files
//     that may contain such copies are being emptied (wal/checkpoint/forgetting.ts).
// G3. A record that erases an entry is applied even if a page cannot be read, as when the page was
//     damaged before a start. `unread` lists the entry's part of the page until the page has been
//     read again, if necessary with the help of parity. Until then checkpoints do not copy the page
//     as it was, and they save the list: no restart forgets an erasure.

import type { PagePlace, PageTable } from '../../../wal/checkpoint/paged-store.ts'
import { blockBytes } from './blocks.ts'
import { pageBytes, pageOf, unitBytes } from './page-slots.ts'
import { sumAgain, type Text } from './text.ts'

/** Brings the pages of an entry into memory. Returns false if they cannot be read. */
export function holdEntry(
  text: Text,
  address: number,
  bytes: number,
  readPage: Text['readPage'] = text.readPage,
): boolean {
  return pagesOf(address, bytes).every((page) => {
    if (text.holds(page)) return true
    const content = readPage(text.placeOfPage(page), page)
    if (content === null) return false
    text.pages.give(page)
    text.pages.bytesOf(page).set(content)
    content.fill(0)
    return true
  })
}

/** Erases the entry. If a page cannot be read, the entry is erased later (G3). */
export function eraseEntry(
  text: Text,
  address: number,
  bytes: number,
  readPage: Text['readPage'] = text.readPage,
): void {
  holdEntry(text, address, bytes, readPage)
  const [begin, end] = [address * unitBytes, address * unitBytes + bytes]
  for (const page of pagesOf(address, bytes)) {
    text.erased.add(page)
    const at = page * pageBytes
    const [from, to] = [Math.max(begin, at), Math.min(end, at + pageBytes)]
    if (!text.holds(page)) {
      text.unread.push({ address: from / unitBytes, bytes: to - from })
      continue
    }
    text.pages.bytesOf(page).fill(0, from - at, to - at)
    text.markDirty(page)
  }
  const lastBlock = Math.floor((end - 1) / blockBytes)
  for (let block = Math.floor(begin / blockBytes); block <= lastBlock; block++) {
    text.blocks.drop(block)
    const page = Math.floor((block * blockBytes) / pageBytes)
    if (text.holds(page)) sumAgain(text, block)
  }
}

/**
 * Erases the entries of `unread` whose pages `read` returns; it resolves to null for a page that is
 * lost. To be called before a checkpoint.
 */
export async function eraseUnread(
  text: Text,
  read: (place: PagePlace) => Promise<Uint8Array | null>,
): Promise<void> {
  const entries = [...text.unread]
  const pages = new Map<number, Uint8Array>()
  for (const page of new Set(entries.map(({ address }) => pageOf(address)))) {
    if (text.holds(page)) continue
    const content = await read(text.placeOfPage(page))
    if (content !== null) pages.set(page, content)
  }
  text.unread.splice(0, entries.length)
  for (const { address, bytes } of entries) {
    eraseEntry(text, address, bytes, (place, page) => {
      return pages.get(page) ?? text.readPage(place, page)
    })
  }
}

/**
 * Returns whether the checkpoint with these places has erased something in a page of `unread`. The
 * CRCs of the page's blocks have then changed.
 */
export function hasErasedUnread(text: Text, { crcs }: PageTable): boolean {
  const pages = text.unread.map(({ address }) => pageOf(address))
  return pages.some((page) => text.placeOfPage(page).crc !== crcs[page])
}

function pagesOf(address: number, bytes: number): number[] {
  const first = Math.floor((address * unitBytes) / pageBytes)
  const last = Math.floor((address * unitBytes + bytes - 1) / pageBytes)
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}
