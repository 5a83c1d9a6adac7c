// Many growing lists of u32 in one pool outside the JS heap: a thread's messages, an identity's
// subscriptions, a thread's members.
//
//   heads    list 0: start, length, class     a list's items lie together, in a block of
//            list 1: start, length, class     4 << class words, so it can be searched by halving
//   pool     |block|block    |block|…
//
// L1. Items keep their order; only `removeAt` moves one (the last into the gap).
// L2. A list that outgrows its block moves to one twice as large; the old block is used again.
//     Blocks to be used again are chained by class: the first word of each is the next one's start.
// L3. A word's address is one u32: 16 GiB of items.

import assert from 'node:assert/strict'
import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { Uint8Column, Uint32Column } from './column.ts'

const smallestBlockWords = 4
const wordsMax = 2 ** 32
/** Class of a list that has no block yet. */
const noBlock = 255
/** Ends a chain of blocks; no block can start here. */
const none = 0xffffffff

export class Lists {
  readonly #starts = new Uint32Column()
  readonly #lengths = new Uint32Column()
  readonly #classes = new Uint8Column()
  readonly #words = new Uint32Column()
  /** By class, the start of a block given back, or none. */
  #returned: number[] = []

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
    return this.#words.get(this.#starts.get(list) + index)
  }

  /** Copies the items `from` up to `to` of a list to the start of `into`. */
  copy(list: number, from: number, to: number, into: Uint32Array): void {
    const start = this.#starts.get(list)
    this.#words.copy(start + from, start + to, into)
  }

  push(list: number, item: number): void {
    const length = this.#lengths.get(list)
    const blockClass = this.#classes.get(list)
    if (blockClass === noBlock || length === smallestBlockWords << blockClass) this.#grow(list)
    this.#words.set(this.#starts.get(list) + length, item)
    this.#lengths.set(list, length + 1)
  }

  /** Removes the item at `index` and returns the item that took its place, or -1 if none had to. */
  removeAt(list: number, index: number): number {
    const last = this.#lengths.get(list) - 1
    assert(index <= last, 'a list holds what is removed')
    this.#lengths.set(list, last)
    if (index === last) return -1
    const moved = this.get(list, last)
    this.#words.set(this.#starts.get(list) + index, moved)
    return moved
  }

  includes(list: number, item: number): boolean {
    const length = this.#lengths.get(list)
    for (let i = 0; i < length; i++) if (this.get(list, i) === item) return true
    return false
  }

  /** What a checkpoint saves; see saved.ts. */
  get stores(): Record<string, PagedStore> {
    return {
      starts: this.#starts,
      lengths: this.#lengths,
      classes: this.#classes,
      words: this.#words,
    }
  }

  facts(): number[] {
    return this.#returned
  }

  restore(facts: unknown): void {
    this.#returned = facts as number[]
  }

  #grow(list: number): void {
    const oldClass = this.#classes.get(list)
    const newClass = oldClass === noBlock ? 0 : oldClass + 1
    const from = this.#starts.get(list)
    const to = this.#takeBlock(newClass)
    for (let i = this.#lengths.get(list) - 1; i >= 0; i--) {
      this.#words.set(to + i, this.#words.get(from + i))
    }
    if (oldClass !== noBlock) this.#giveBack(from, oldClass)
    this.#starts.set(list, to)
    this.#classes.set(list, newClass)
  }

  #giveBack(start: number, blockClass: number): void {
    while (this.#returned.length <= blockClass) this.#returned.push(none)
    this.#words.set(start, this.#returned[blockClass])
    this.#returned[blockClass] = start
  }

  #takeBlock(blockClass: number): number {
    const again = this.#returned[blockClass] ?? none
    if (again !== none) {
      this.#returned[blockClass] = this.#words.get(again)
      return again
    }
    const words = smallestBlockWords << blockClass
    assert(this.#words.length + words <= wordsMax, 'the list pool is full: 16 GiB')
    return this.#words.extend(words)
  }
}
