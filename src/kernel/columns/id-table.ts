// Maps ids of 128 random bits to dense numbers, assigned in order of arrival: agt_…, thr_…, and the
// first half of a token's SHA-256.
//
// An id is kept in four u32 columns. Ids come from the system's random source, and no caller can
// choose one. The ids of an archive need not be random: they may be numbers, so all four words are
// hashed.

import assert from 'node:assert/strict'
import type { PagedStore } from '../../../wal/checkpoint/paged-store.ts'
import { Uint32Column } from './column.ts'
import { HashIndex } from './hash-index.ts'

/** Lowercase hex characters of an id, without its prefix. */
export const idHexLength = 32

/** A buffer in which an id's words are collected before they are converted to hex. */
const scratch = Buffer.alloc(idHexLength / 2)

export class IdTable {
  readonly #words = [new Uint32Column(), new Uint32Column(), new Uint32Column(), new Uint32Column()]
  readonly #index = new HashIndex()

  get count(): number {
    return this.#words[0].length
  }

  /** Adds the id written at `from` in `text` and returns its number. */
  add(text: string, from = 0): number {
    const number = this.count
    let mixed = 0
    for (let i = 0; i < 4; i++) {
      const word = wordAt(text, from + i * 8)
      this.#words[i].push(word)
      mixed ^= word
    }
    this.#index.add(hashOf(mixed), number)
    return number
  }

  replace(number: number, text: string): void {
    this.#index.remove(this.#hash(number), number)
    for (let i = 0; i < 4; i++) this.#words[i].set(number, wordAt(text, i * 8))
    this.#index.add(this.#hash(number), number)
  }

  /** Returns the number of the id written in lowercase hex at `from` in `text`, or -1. */
  find(text: string, from = 0): number {
    const first = wordAt(text, from)
    const second = wordAt(text, from + 8)
    const third = wordAt(text, from + 16)
    const fourth = wordAt(text, from + 24)
    const [, seconds, thirds, fourths] = this.#words
    // Ids with the same hash and the same three words have the same first word, too.
    return this.#index.find(
      hashOf(first ^ second ^ third ^ fourth),
      (number) =>
        seconds.get(number) === second &&
        thirds.get(number) === third &&
        fourths.get(number) === fourth,
    )
  }

  get stores(): Record<string, PagedStore> {
    const [word0, word1, word2, word3] = this.#words
    return { word0, word1, word2, word3 }
  }

  fillIndexes(): Iterable<void> {
    return this.#index.fill(this.count, (from, to) => {
      const [firsts, seconds, thirds, fourths] = this.#words.map((words) => words.rowsFrom(from))
      const hashes = new Uint32Array(to - from)
      for (let i = 0; i < hashes.length; i++) {
        hashes[i] = hashOf(firsts[i] ^ seconds[i] ^ thirds[i] ^ fourths[i])
      }
      return hashes
    })
  }

  #hash(number: number): number {
    return hashOf(this.#words.reduce((mixed, words) => mixed ^ words.get(number), 0))
  }

  /** The id in hex. */
  hex(number: number): string {
    for (let i = 0; i < 4; i++) scratch.writeUInt32BE(this.#words[i].get(number), i * 4)
    return scratch.toString('hex')
  }
}

/**
 * Returns the hash of an id, of which `mixed` is the exclusive or of its words. The multiplier is
 * 2^32 over the golden ratio, so that the hashes of successive numbers are far apart.
 */
function hashOf(mixed: number): number {
  return Math.imul(mixed, 0x9e3779b1) >>> 0
}

/** Returns the number that eight hex characters stand for. */
function wordAt(text: string, from: number): number {
  let word = 0
  for (let i = from; i < from + 8; i++) {
    const code = text.charCodeAt(i)
    word = (word << 4) | ((code & 15) + 9 * (code >> 6)) // a branch would be mispredicted
  }
  return word >>> 0
}

const digitsPerWord = 8
const wordBytes = 4

/**
 * A column of ids or hashes. All rows have the same number of hex digits, in adjacent words, so
 * that reading a row costs one miss of the processor's cache.
 */
export class HexColumn {
  /** Several words for each row. */
  readonly words = new Uint32Column()
  readonly #wordsPerRow: number
  /** A buffer in which a row's words are collected before they are converted. */
  readonly #scratch: Buffer

  /** `digits` is the number of hex digits in each row, a multiple of 8. */
  constructor(digits: number) {
    this.#wordsPerRow = digits / digitsPerWord
    assert(Number.isInteger(this.#wordsPerRow), 'a row has whole words')
    this.#scratch = Buffer.alloc(this.#wordsPerRow * wordBytes)
  }

  get length(): number {
    return this.words.length / this.#wordsPerRow
  }

  /** Adds a row; `hex` is in lowercase. */
  push(hex: string): void {
    for (let i = 0; i < this.#wordsPerRow; i++) {
      this.words.push(wordAt(hex, i * digitsPerWord))
    }
  }

  /**
   * Returns the first row with these digits among those from `from` up to, but not including, `to`,
   * or -1. The search is a scan: 5 ms for a million rows.
   */
  find(hex: string, from: number, to: number): number {
    const [first, ...others] = Array.from({ length: this.#wordsPerRow }, (_, i) => {
      return wordAt(hex, i * digitsPerWord)
    })
    const end = Math.min(to, this.length) * this.#wordsPerRow
    for (let at = from * this.#wordsPerRow; at < end; at += this.#wordsPerRow) {
      const { words } = this
      if (words.get(at) !== first) continue
      if (others.every((word, i) => words.get(at + 1 + i) === word)) return at / this.#wordsPerRow
    }
    return -1
  }

  get(row: number): string {
    const first = row * this.#wordsPerRow
    for (let i = 0; i < this.#wordsPerRow; i++) {
      this.#scratch.writeUInt32BE(this.words.get(first + i), i * wordBytes)
    }
    return this.#scratch.toString('hex')
  }
}
