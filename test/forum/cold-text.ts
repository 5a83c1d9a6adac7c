// A disk for the text of an in-memory state. What a test moves to it is cold, and is read when the
// test says so.

import { crc32 } from 'node:zlib'
import type { State } from '../../src/forum/state.ts'
import type { BlockRead, ReadResult, TextDisk } from '../../src/kernel/text/block-loads.ts'
import { blockBytes } from '../../src/kernel/text/blocks.ts'
import { PageTable } from '../../wal/checkpoint/paged-store.ts'

const good: ReadResult = { kind: 'good', why: '' }

export class ColdText implements TextDisk {
  /** Requests for blocks that have not been answered. */
  readonly asked: { reads: readonly BlockRead[]; done: (all: ReadResult[]) => void }[] = []
  /** The state, which must be made with `textBytesMax: 0`. */
  state!: State
  /** Whether damaged blocks can be rebuilt. */
  isMendable = true
  readonly #pages: Buffer[] = []

  /** Moves all text to disk. */
  chill(): void {
    const { text } = this.state
    if (text.bytes === 0) return
    // A page can be dropped only if it is full and not the last one.
    text.append('x'.repeat(text.pageBytes - (text.bytes % text.pageBytes)))
    text.append('x')
    const table = new PageTable(text.freeze(), text.pageBytes)
    for (let page = 0; page < table.pages; page++) {
      const changed = text.frozen(page)
      if (changed !== null) this.#pages[page] = Buffer.from(changed)
      table.set(page, 1, page * text.pageBytes, crc32(this.#pages[page]))
    }
    text.thaw(table)
  }

  read(reads: readonly BlockRead[], done: (all: ReadResult[]) => void): void {
    this.asked.push({ reads, done })
  }

  async mend({ block }: BlockRead): Promise<Uint8Array | null> {
    return this.isMendable ? this.#bytesOf(block) : null
  }

  close(): void {}

  /** Answers requests for blocks until none is left, with this result for each block. */
  finish(result: ReadResult = good): void {
    for (let next = this.asked.shift(); next !== undefined; next = this.asked.shift()) {
      const { reads, done } = next
      for (const { slot, block } of result.kind === 'good' ? reads : []) {
        this.state.text.blocks.bytesOf(slot).set(this.#bytesOf(block))
      }
      done(reads.map(() => result))
    }
  }

  #bytesOf(block: number): Buffer {
    const { pageBytes } = this.state.text
    const at = (block * blockBytes) % pageBytes
    const page = this.#pages[Math.floor((block * blockBytes) / pageBytes)]
    return page.subarray(at, at + blockBytes)
  }
}
