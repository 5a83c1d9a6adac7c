// Many growing lists of u32 in one pool outside the JS heap: a thread's messages, an identity's
// subscriptions, a thread's members.
//
//   heads    list 0: start, length, class     a list's items are contiguous, in a block of
//            list 1: start, length, class     4 << class words, so it can be binary-searched
//   pool     |block|block    |block|…
//
// L1. Items keep their order; only `removeAt` moves one (the last into the gap). `insertAt` and
//     `deleteAt` move all items behind the index, 100,000 of them in a millisecond.
// L2. A list that outgrows its block moves to one twice as large; the old block becomes free. Free
//     blocks form one linked list per class: the first word of each is the start of the next.
// L3. A word's address is one u32: the pool can hold 16 GiB of items.

import assert from 'node:assert/strict'
import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { Uint8Column, Uint32Column } from './column.ts'

const smallestBlockWords = 4
const wordsMax = 2 ** 32
/** The class of a list that has no block yet. */
const noBlock = 255
/** Ends a linked list of free blocks; no block can start here. */
const none = 0xffffffff

export class Lists {
  readonly #starts = new Uint32Column()
  readonly #lengths = new Uint32Column()
  readonly #classes = new Uint8Column()
  readonly #words = new Uint32Column()
  /** By class, the start of the first free block, or `none`. */
  #free: number[] = []

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

  /** Copies the items from `from` up to, but not including, `to` to the start of `into`. */
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

  /** Removes the item at `index`; returns the item that moved into the gap, or -1 if none did. */
  removeAt(list: number, index: number): number {
    const last = this.#lengths.get(list) - 1
    assert(index <= last, 'the index is that of an item')
    this.#lengths.set(list, last)
    if (index === last) return -1
    const moved = this.get(list, last)
    this.#words.set(this.#starts.get(list) + index, moved)
    return moved
  }

  /** Inserts an item at `index`, before the item that is there. */
  insertAt(list: number, index: number, item: number): void {
    this.push(list, item)
    const start = this.#starts.get(list)
    for (let i = start + this.length(list) - 1; i > start + index; i--) {
      this.#words.set(i, this.#words.get(i - 1))
    }
    this.#words.set(start + index, item)
  }

  /** Removes the item at `index`; those behind it close the gap. */
  deleteAt(list: number, index: number): void {
    const start = this.#starts.get(list)
    const last = this.length(list) - 1
    assert(index <= last, 'the index is that of an item')
    for (let i = start + index; i < start + last; i++) this.#words.set(i, this.#words.get(i + 1))
    this.#lengths.set(list, last)
  }

  /** Removes all items, and frees their block. */
  clear(list: number): void {
    const blockClass = this.#classes.get(list)
    if (blockClass !== noBlock) this.#freeBlock(this.#starts.get(list), blockClass)
    this.#classes.set(list, noBlock)
    this.#lengths.set(list, 0)
  }

  includes(list: number, item: number): boolean {
    const length = this.#lengths.get(list)
    for (let i = 0; i < length; i++) if (this.get(list, i) === item) return true
    return false
  }

  /** The stores that a checkpoint saves; see kernel/saved.ts. */
  get stores(): Record<string, PagedStore> {
    return {
      starts: this.#starts,
      lengths: this.#lengths,
      classes: this.#classes,
      words: this.#words,
    }
  }

  facts(): number[] {
    return this.#free
  }

  restore(facts: unknown): void {
    this.#free = facts as number[]
  }

  #grow(list: number): void {
    const oldClass = this.#classes.get(list)
    const newClass = oldClass === noBlock ? 0 : oldClass + 1
    const from = this.#starts.get(list)
    const to = this.#takeBlock(newClass)
    for (let i = this.#lengths.get(list) - 1; i >= 0; i--) {
      this.#words.set(to + i, this.#words.get(from + i))
    }
    if (oldClass !== noBlock) this.#freeBlock(from, oldClass)
    this.#starts.set(list, to)
    this.#classes.set(list, newClass)
  }

  #freeBlock(start: number, blockClass: number): void {
    while (this.#free.length <= blockClass) this.#free.push(none)
    this.#words.set(start, this.#free[blockClass])
    this.#free[blockClass] = start
  }

  #takeBlock(blockClass: number): number {
    const free = this.#free[blockClass] ?? none
    if (free !== none) {
      this.#free[blockClass] = this.#words.get(free)
      return free
    }
    const words = smallestBlockWords << blockClass
    assert(this.#words.length + words <= wordsMax, 'the list pool is full: 16 GiB')
    return this.#words.extend(words)
  }
}
