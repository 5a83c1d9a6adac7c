// A set of numbers in which the greatest member below any number is found quickly.
//
//   level 1   │ 1 0 1 … │             a bit for each word below: whether it has any bit set
//   level 0   │ 0 0 1 … │ 0 … │ 1 …   a bit for each number, in words of 32
//
// B1. A bit above level 0 is set exactly while the word that it stands for is not 0.
// B2. The highest level is a single word, so each operation touches only a few words: 4 for a
//     million numbers, 7 at most. A set takes 33 bits for every 32 numbers, whether they are
//     members or not.

import { Uint32Column } from './column.ts'

export class BitSet {
  readonly #levels = [new Uint32Column()]

  add(number: number): void {
    this.#reach(number)
    let index = number
    for (const words of this.#levels) {
      const word = words.get(index >>> 5)
      words.set(index >>> 5, (word | (1 << (index & 31))) >>> 0)
      if (word !== 0) return
      index >>>= 5
    }
  }

  delete(number: number): void {
    if (!this.has(number)) return
    let index = number
    for (const words of this.#levels) {
      const word = (words.get(index >>> 5) & ~(1 << (index & 31))) >>> 0
      words.set(index >>> 5, word)
      if (word !== 0) return
      index >>>= 5
    }
  }

  has(number: number): boolean {
    const [words] = this.#levels
    const word = number >>> 5
    return word < words.length && (words.get(word) & (1 << (number & 31))) !== 0
  }

  /** The greatest member below `end`, or -1. */
  before(end: number): number {
    let last = Math.min(end, this.#levels[0].length * 32) - 1
    if (last < 0) return -1
    for (let level = 0; ; level++) {
      const word = last >>> 5
      const bits = this.#levels[level].get(word) & ((2 << (last & 31)) - 1)
      if (bits !== 0) return this.#descend(level, word * 32 + highestBit(bits))
      if (word === 0) return -1
      last = word - 1
    }
  }

  /** The greatest member in the range that the bit stands for. */
  #descend(level: number, bit: number): number {
    let found = bit
    for (let below = level - 1; below >= 0; below--) {
      found = found * 32 + highestBit(this.#levels[below].get(found))
    }
    return found
  }

  /** Adds words to each level until it has one for the number. */
  #reach(number: number): void {
    let word = number >>> 5
    for (let level = 0; ; level++) {
      const words = this.#levels[level]
      while (words.length <= word) words.push(0)
      if (words.length === 1) return
      if (level + 1 === this.#levels.length) this.#addLevel(words)
      word >>>= 5
    }
  }

  #addLevel(below: Uint32Column): void {
    const words = new Uint32Column()
    for (let word = 0; word < below.length; word++) {
      if (word % 32 === 0) words.push(0)
      const bit = below.get(word) === 0 ? 0 : 1 << (word & 31)
      words.set(word >>> 5, (words.get(word >>> 5) | bit) >>> 0)
    }
    this.#levels.push(words)
  }
}

function highestBit(word: number): number {
  return 31 - Math.clz32(word)
}
