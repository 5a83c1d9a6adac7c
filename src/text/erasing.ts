// Erases an entry of the text. Its bytes become zeros in memory, and the next checkpoint replaces
// the files that have it (wal/checkpoint/growing-files.ts, G2).
//
//   in memory   ──erase──▶ zeros ──checkpoint──▶ in a new file, with zeros
//   cold        ──erase──▶ `unread` ──its pages are read, before a checkpoint──▶ zeros, in memory
//                              └── they cannot be read: the checkpoint saves `unread` ──┘
//
// G1. All other entries of these pages keep their bytes. The CRCs of the blocks are updated.
// G2. Nothing forgets an erasure: the log has its record until checkpoints cover it, and they have
//     the entries of `unread`. Files never change, so the blocks of an entry of `unread` still have
//     their CRCs, and nobody is shown the entry.

import { crc32 } from 'node:zlib'
import type { PagePlace } from '../../wal/checkpoint/paged-store.ts'
import { blockBytes } from './blocks.ts'
import { pageBytes, unitBytes } from './page-slots.ts'
import { type Entry, sumAgain, type Text } from './text.ts'

/** Erases the entry in memory. What is cold is erased by `eraseUnread` (G2). */
export function eraseEntry(text: Text, entry: Entry): void {
  if (!isHeld(text, entry)) text.unread.push(entry)
  eraseHeld(text, entry)
}

function isHeld(text: Text, entry: Entry): boolean {
  return pagesOf(entry).every((page) => text.holds(page))
}

function eraseHeld(text: Text, entry: Entry): void {
  const [begin, end] = [entry.address * unitBytes, entry.address * unitBytes + entry.bytes]
  for (const page of pagesOf(entry)) {
    if (!text.holds(page)) continue
    const at = page * pageBytes
    text.pages.bytesOf(page).fill(0, Math.max(begin, at) - at, Math.min(end, at + pageBytes) - at)
    text.markDirty(page)
  }
  for (const block of blocksOf(entry)) {
    text.blocks.drop(block)
    if (text.holds(pageOfBlock(block))) sumAgain(text, block)
  }
}

/**
 * Erases the entries of `unread` whose pages `read` returns; it resolves to null for a page that
 * cannot be read. To be called before a checkpoint.
 */
export async function eraseUnread(
  text: Text,
  read: (page: number) => Promise<Uint8Array | null>,
): Promise<void> {
  for (const entry of [...text.unread]) {
    for (const page of pagesOf(entry)) {
      if (text.holds(page)) continue
      const content = await read(page)
      if (content === null) break
      if (!text.holds(page)) {
        text.pages.give(page)
        text.pages.bytesOf(page).set(content)
        text.markDirty(page)
      }
      content.fill(0)
    }
    eraseHeld(text, entry)
    if (!isHeld(text, entry)) continue
    text.unread.splice(text.unread.indexOf(entry), 1)
  }
}

/**
 * Adopts what the main process has erased on disk, in a reader whose text has just got the places
 * of a newer checkpoint. `isErased`: that checkpoint has erased all of it. Returns false if a page
 * cannot be read; then the CRCs of its blocks are unknown.
 */
export function adoptErased(
  text: Text,
  isErased: boolean,
  read: (place: PagePlace) => Uint8Array | null,
): boolean {
  for (const entry of text.unread) {
    const blocks = blocksOf(entry)
    for (const page of pagesOf(entry)) {
      const content = text.holds(page) ? null : read(text.placeOfPage(page))
      if (content === null && !text.holds(page)) return false
      for (const block of blocks) {
        if (content === null || pageOfBlock(block) !== page) continue
        const at = block * blockBytes - page * pageBytes
        text.crcs.set(block, crc32(content.subarray(at, at + blockBytes)))
        text.blocks.drop(block)
      }
      content?.fill(0)
    }
  }
  if (isErased) text.unread = []
  return true
}

/** Returns the numbers of the pages that an entry is in. */
export function pagesOf({ address, bytes }: Entry): number[] {
  return range((address * unitBytes) / pageBytes, (address * unitBytes + bytes - 1) / pageBytes)
}

/** Returns the numbers of the blocks that an entry is in. */
export function blocksOf({ address, bytes }: Entry): number[] {
  return range((address * unitBytes) / blockBytes, (address * unitBytes + bytes - 1) / blockBytes)
}

function pageOfBlock(block: number): number {
  return Math.floor((block * blockBytes) / pageBytes)
}

function range(from: number, to: number): number[] {
  const first = Math.floor(from)
  return Array.from({ length: Math.floor(to) - first + 1 }, (_, i) => first + i)
}
