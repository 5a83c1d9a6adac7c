// A hash index from 32-bit hashes to u32 numbers, outside the JS heap. It holds no keys: the keys
// are in columns, and the caller compares the key of each candidate number.
//
// H1. There are 256 partitions, by the hash's top byte. Each is a linear-probing table that doubles
//     on its own, so that growth happens in many small steps (at ten million entries one step moves
//     40,000).
// H2. A cell is two words, hash and number + 1; zero in the second word means empty.
// H3. A removal closes the gap: there are no tombstones, and a probe ends at the first empty cell.

import assert from 'node:assert/strict'

const partitionCount = 256
const firstCells = 16
const loadMax = 0.7
/** Numbers in one step of `fill`. */
export const stepRows = 65_536

/** The words of every empty partition that has not grown yet: one empty cell, never written. */
const noWords = new Uint32Array(2)

interface Partition {
  /** hash, number + 1, hash, number + 1, … */
  words: Uint32Array
  used: number
}

export class HashIndex {
  readonly #partitions: Partition[] = Array.from({ length: partitionCount }, () => ({
    words: noWords,
    used: 0,
  }))

  add(hash: number, number: number): void {
    const partition = this.#partitions[hash >>> 24]
    if (partition.used + 1 > (partition.words.length / 2) * loadMax) grow(partition)
    place(partition.words, hash, number + 1)
    partition.used += 1
  }

  /**
   * Fills an empty index with the numbers 0 … `count` - 1, or with those in `numbers`; yields after
   * each step of about a millisecond. `hashesOf` returns the hashes of the numbers from the
   * `from`-th up to, but not including, the `to`-th; `from` is a multiple of `stepRows`.
   *
   * It fills one partition after the other, so that writes stay within the processor's cache.
   */
  *fill(
    count: number,
    hashesOf: (from: number, to: number) => Uint32Array,
    numbers: Uint32Array | null = null,
  ): Generator<void> {
    const counts = new Uint32Array(partitionCount)
    for (let from = 0; from < count; from += stepRows) {
      countByPartition(hashesOf(from, Math.min(from + stepRows, count)), counts)
      yield
    }
    const partitions = this.#partitions
    let most = 0
    for (const [p, partition] of partitions.entries()) {
      makeRoom(partition, counts[p])
      most = Math.max(most, counts[p])
    }
    // Each partition's pairs are collected at the start of its own words.
    const ends = new Uint32Array(partitionCount)
    const words = partitions.map((partition) => partition.words)
    for (let from = 0; from < count; from += stepRows) {
      const to = Math.min(from + stepRows, count)
      sortByPartition(hashesOf(from, to), from, numbers?.subarray(from, to) ?? null, ends, words)
      yield
    }
    const pairs = new Uint32Array(2 * most)
    for (const [p, end] of ends.entries()) {
      placeAll(words[p], pairs.subarray(0, end))
      yield
    }
  }

  /** Returns the number under `hash` for which `isMatch` holds, or -1. */
  find(hash: number, isMatch: (number: number) => boolean): number {
    const { words } = this.#partitions[hash >>> 24]
    const mask = words.length - 1
    for (let at = (hash * 2) & mask; words[at + 1] !== 0; at = (at + 2) & mask) {
      if (words[at] === hash && isMatch(words[at + 1] - 1)) return words[at + 1] - 1
    }
    return -1
  }

  /** Removes `number`, which was added under `hash`. */
  remove(hash: number, number: number): void {
    const partition = this.#partitions[hash >>> 24]
    const { words } = partition
    const mask = words.length - 1
    let gap = (hash * 2) & mask
    while (words[gap + 1] !== number + 1 || words[gap] !== hash) {
      assert(words[gap + 1] !== 0, 'the number was added')
      gap = (gap + 2) & mask
    }

    // Move back every later entry of the run that would be unreachable behind the gap.
    for (let at = (gap + 2) & mask; words[at + 1] !== 0; at = (at + 2) & mask) {
      const home = (words[at] * 2) & mask
      const reachesGap = ((at - home) & mask) >= ((at - gap) & mask)
      if (!reachesGap) continue
      words[gap] = words[at]
      words[gap + 1] = words[at + 1]
      gap = at
    }
    words[gap] = 0
    words[gap + 1] = 0
    partition.used -= 1
  }
}

/** Gives an empty partition the size that it would have grown to with `count` numbers. */
function makeRoom(partition: Partition, count: number): void {
  if (count === 0) return
  partition.used = count
  let cells = firstCells
  while (count > cells * loadMax) cells *= 2
  partition.words = new Uint32Array(2 * cells)
}

function grow(partition: Partition): void {
  const old = partition.words
  partition.words = new Uint32Array(Math.max(firstCells, old.length) * 2)
  for (let at = 0; at < old.length; at += 2) {
    if (old[at + 1] !== 0) place(partition.words, old[at], old[at + 1])
  }
}

/** Adds the number of hashes of each partition to `counts`. */
function countByPartition(hashes: Uint32Array, counts: Uint32Array): void {
  for (let i = 0; i < hashes.length; i++) counts[hashes[i] >>> 24] += 1
}

/** Appends each pair of hash and number + 1 to the pairs of its partition, which end at `ends`. */
function sortByPartition(
  hashes: Uint32Array,
  first: number,
  numbers: Uint32Array | null,
  ends: Uint32Array,
  words: readonly Uint32Array[],
): void {
  for (let i = 0; i < hashes.length; i++) {
    const hash = hashes[i]
    const partition = hash >>> 24
    const at = ends[partition]
    ends[partition] = at + 2
    words[partition][at] = hash
    words[partition][at + 1] = (numbers === null ? first + i : numbers[i]) + 1
  }
}

/** Moves the pairs at the start of a partition's words to their cells, by way of `pairs`. */
function placeAll(words: Uint32Array, pairs: Uint32Array): void {
  pairs.set(words.subarray(0, pairs.length))
  words.fill(0, 0, pairs.length)
  for (let at = 0; at < pairs.length; at += 2) place(words, pairs[at], pairs[at + 1])
}

function place(words: Uint32Array, hash: number, value: number): void {
  const mask = words.length - 1
  let at = (hash * 2) & mask
  while (words[at + 1] !== 0) at = (at + 2) & mask
  words[at] = hash
  words[at + 1] = value
}
