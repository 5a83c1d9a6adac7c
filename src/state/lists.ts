// Many growing lists of u32 in one pool outside the JS heap: a thread's messages, an identity's
// subscriptions, a thread's members.
//
//   heads    list 0: start, length, class     a list's items lie together, in a block of
//            list 1: start, length, class     4 << class words, so it can be searched by halving
//   pool     |block|block    |block|…
//
// L1. Items keep their order; only `removeAt` moves one (the last into the gap).
// L2. A list that outgrows its block moves to one twice as large; the old block is used again.
// L3. A word's address is one u32: 16 GiB of items. A block that is larger than a chunk gets
//     chunks that lie together.

import assert from 'node:assert/strict'
import { Uint8Column, Uint32Column } from './column.ts'

const chunkShift = 18
const chunkWords = 1 << chunkShift
const chunkMask = chunkWords - 1
const smallestBlockWords = 4
/** Class of a list that has no block yet. */
const noBlock = 255

export class Lists {
  readonly #starts = new Uint32Column()
  readonly #lengths = new Uint32Column()
  readonly #classes = new Uint8Column()
  readonly #chunks: Uint32Array[] = []
  /** Words given out in the chunk that is being filled. */
  #free = chunkWords
  #filling = -1
  /** Blocks given back, by class. */
  readonly #returned: number[][] = []

  /** Adds an empty list and returns its number. */
  add(): number {
    this.#lengths.push(0)
    this.#classes.push(noBlock)
    return this.#starts.push(0)
  }

  length(list: number): number {
    return this.#lengths.get(list)
  }

  get(list: number, index: number): number {
    const address = this.#starts.get(list) + index
    return this.#chunks[address >>> chunkShift][address & chunkMask]
  }

  /** Copies the items `from` up to `to` of a list to the start of `into`. */
  copy(list: number, from: number, to: number, into: Uint32Array): void {
    const start = this.#starts.get(list)
    for (let address = start + from; address < start + to; address++) {
      into[address - start - from] = this.#chunks[address >>> chunkShift][address & chunkMask]
    }
  }

  push(list: number, item: number): void {
    const length = this.#lengths.get(list)
    const blockClass = this.#classes.get(list)
    if (blockClass === noBlock || length === smallestBlockWords << blockClass) this.#grow(list)
    this.#set(this.#starts.get(list) + length, item)
    this.#lengths.set(list, length + 1)
  }

  /** Removes the item at `index` and returns the item that took its place, or -1 if none had to. */
  removeAt(list: number, index: number): number {
    const last = this.#lengths.get(list) - 1
    assert(index <= last, 'a list holds what is removed')
    this.#lengths.set(list, last)
    if (index === last) return -1
    const moved = this.get(list, last)
    this.#set(this.#starts.get(list) + index, moved)
    return moved
  }

  includes(list: number, item: number): boolean {
    const length = this.#lengths.get(list)
    for (let i = 0; i < length; i++) if (this.get(list, i) === item) return true
    return false
  }

  #set(address: number, item: number): void {
    this.#chunks[address >>> chunkShift][address & chunkMask] = item
  }

  #grow(list: number): void {
    const oldClass = this.#classes.get(list)
    const newClass = oldClass === noBlock ? 0 : oldClass + 1
    const from = this.#starts.get(list)
    const to = this.#takeBlock(newClass)
    for (let i = this.#lengths.get(list) - 1; i >= 0; i--) {
      this.#set(to + i, this.#chunks[(from + i) >>> chunkShift][(from + i) & chunkMask])
    }
    if (oldClass !== noBlock) this.#giveBack(from, oldClass)
    this.#starts.set(list, to)
    this.#classes.set(list, newClass)
  }

  #giveBack(start: number, blockClass: number): void {
    while (this.#returned.length <= blockClass) this.#returned.push([])
    this.#returned[blockClass].push(start)
  }

  #takeBlock(blockClass: number): number {
    const again = this.#returned[blockClass]?.pop()
    if (again !== undefined) return again

    const words = smallestBlockWords << blockClass
    if (words > chunkWords) return this.#addChunks(words)
    if (this.#free + words > chunkWords) {
      this.#filling = this.#addChunks(chunkWords)
      this.#free = 0
    }
    const start = this.#filling + this.#free
    this.#free += words
    return start
  }

  /** Adds `words` words as chunks that lie together, and returns the first one's address. */
  #addChunks(words: number): number {
    const start = this.#chunks.length * chunkWords
    assert(start + words <= 2 ** 32, 'the list pool is full: 16 GiB')
    const block = new Uint32Array(words)
    for (let at = 0; at < words; at += chunkWords) {
      this.#chunks.push(block.subarray(at, at + chunkWords))
    }
    return start
  }
}
