// The arena: rendered JSON, written once, kept outside the JS heap and never moved.
//
//   chunk, 64 MiB ArrayBuffer (memory is used as it is touched)
//   ┌──────────────┬───────┬───────┬─────┬────────┐
//   │ page, 1 MiB  │ entry │ entry │ …   │ unused │
//   └──────────────┴───────┴───────┴─────┴────────┘
//
// A1. An entry never changes, starts at a multiple of 8 and lies in one chunk.
// A2. An address is one u32, chunk * 2^23 + offset / 8: 32 GiB can be addressed.
// A3. The first MiB of a chunk is scratch: an answer is put together there, because copying inside
//     one ArrayBuffer (copyWithin, 30 ns) costs a third of copying between two (set, 80 ns).
//
// Neighbours: page.ts assembles answers, messages.ts and tables hold the addresses.

import assert from 'node:assert/strict'

/** Bytes at the head of every chunk that belong to page.ts. */
export const pageBytes = 1 << 20

const chunkBytes = 64 << 20
const unitBytes = 8
const unitsPerChunk = chunkBytes / unitBytes
const chunkShift = Math.log2(unitsPerChunk)
const offsetMask = unitsPerChunk - 1
const chunksMax = 2 ** (32 - chunkShift)
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const bytesPerUnit = 3

assert(Number.isInteger(chunkShift), 'an address is split by shifting')

export class Arena {
  readonly #chunks: Buffer[] = [newChunk()]
  /** Where the next entry goes: an offset in the last chunk. */
  #free = pageBytes
  /** Bytes of the entry appended last. */
  written = 0

  /** Bytes held, with what lies unused at the end of full chunks. */
  get bytes(): number {
    return (this.#chunks.length - 1) * chunkBytes + this.#free
  }

  /** Appends `text` as UTF-8 and returns its address; its length in bytes is in `written`. */
  append(text: string): number {
    const roomNeeded = text.length * bytesPerUnit
    assert(roomNeeded <= chunkBytes - pageBytes, 'an entry fits in a chunk')
    if (this.#free + roomNeeded > chunkBytes) this.#addChunk()

    const last = this.#chunks.length - 1
    const offset = this.#free
    this.written = this.#chunks[last].write(text, offset)
    this.#free = (offset + this.written + unitBytes - 1) & -unitBytes
    return last * unitsPerChunk + offset / unitBytes
  }

  /** The chunk that holds the entry at `address`. */
  chunk(address: number): Buffer {
    return this.#chunks[address >>> chunkShift]
  }

  /** Where in its chunk the entry at `address` begins, in bytes. */
  offset(address: number): number {
    return (address & offsetMask) * unitBytes
  }

  /** The entry's text from byte `from` to byte `to`. */
  text(address: number, from: number, to: number): string {
    const start = this.offset(address)
    return this.chunk(address).toString('utf8', start + from, start + to)
  }

  /** The same for bytes that are known to be ASCII, in half the time. */
  ascii(address: number, from: number, to: number): string {
    const start = this.offset(address)
    return this.chunk(address).toString('latin1', start + from, start + to)
  }

  #addChunk(): void {
    assert(this.#chunks.length < chunksMax, 'the arena is full: 32 GiB of rendered text')
    this.#chunks.push(newChunk())
    this.#free = pageBytes
  }
}

function newChunk(): Buffer {
  return Buffer.from(new ArrayBuffer(chunkBytes))
}
