// Maps ids of 128 random bits to dense numbers, assigned in order of arrival: agt_…, thr_…, and the
// first half of a token's SHA-256.
//
// An id is kept in four u32 columns. Ids come from the system's random source, so the first word is
// a good hash, and no caller can choose it.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { Uint32Column } from './column.ts'
import { HashIndex } from './hash-index.ts'

/** Lowercase hex characters of an id, without its prefix. */
export const idHexLength = 32

/** Where an id's words are collected before they are converted to hex. */
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
    for (let i = 0; i < 4; i++) this.#words[i].push(wordAt(text, from + i * 8))
    this.#index.add(this.#words[0].get(number), number)
    return number
  }

  /** The number of the id written in lowercase hex at `from` in `text`, or -1. */
  find(text: string, from = 0): number {
    const first = wordAt(text, from)
    const second = wordAt(text, from + 8)
    const third = wordAt(text, from + 16)
    const fourth = wordAt(text, from + 24)
    const [, seconds, thirds, fourths] = this.#words
    return this.#index.find(
      first,
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
    const [firsts] = this.#words
    return this.#index.fill(this.count, (from) => firsts.rowsFrom(from) as Uint32Array)
  }

  /** The id in hex. */
  hex(number: number): string {
    for (let i = 0; i < 4; i++) scratch.writeUInt32BE(this.#words[i].get(number), i * 4)
    return scratch.toString('hex')
  }
}

/** Eight hex characters as a number. */
export function wordAt(text: string, from: number): number {
  let word = 0
  for (let i = from; i < from + 8; i++) {
    const code = text.charCodeAt(i)
    word = (word << 4) | ((code & 15) + 9 * (code >> 6)) // a branch would be mispredicted
  }
  return word >>> 0
}
