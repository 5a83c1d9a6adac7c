// The crc32 of each full block of a text, computed again: for a text of an older form, which has
// none, and for a block that has changed.

import { crc32 } from 'node:zlib'
import { blockBytes } from './blocks.ts'
import { pageBytes } from './slabs.ts'
import type { Text } from './text.ts'

/** Computes the crcs of all blocks, and yields after each. All pages are in memory. */
export function* sumBlocks(text: Text): Generator<void> {
  const blocks = Math.floor(text.bytes / blockBytes)
  for (let block = 0; block < blocks; block++) {
    if (block === text.crcs.length) text.crcs.push(crcOf(text, block))
    else sumAgain(text, block)
    yield
  }
}

/** Computes the crc of a block whose page is in memory, if it has one: the last one is not full. */
export function sumAgain(text: Text, block: number): void {
  if (block >= text.crcs.length) return
  const crc = crcOf(text, block)
  if (text.crcs.get(block) !== crc) text.crcs.set(block, crc)
}

function crcOf(text: Text, block: number): number {
  const page = Math.floor((block * blockBytes) / pageBytes)
  const at = block * blockBytes - page * pageBytes
  return crc32(text.pages.bytesOf(page).subarray(at, at + blockBytes))
}
