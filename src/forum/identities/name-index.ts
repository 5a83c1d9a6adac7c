// An index of names, searched by prefix and ignoring case: of identities that have published
// publicly (publishers.ts), or of those that are listed (`Listed`). It is not persisted: names are
// added in the order in which their holders first published or were created, when a search needs
// them.
//
//   buckets   [ ada #7 | ada #19 | Ana #2 ] [ ana #31 | Ben #4 ] …    entries in order, up to
//                                                                    `bucketMax` in each
//   folded    ADAADAANAANABEN…    the names in the form that is compared, in chunks
//
// N1. Entries are ordered by their folded names, compared as bytes of UTF-8, and entries with equal
//     names by their identities. Names never change, so the order of entries never changes.
// N2. Adding, removing or finding an entry takes a logarithmic number of comparisons, each with one
//     name at most. Apart from that, a search examines only the entries that it returns.

import { partition } from '../../base/partition.ts'
import { folded } from '../../base/text.ts'
import { Uint32Column } from '../../kernel/columns/column.ts'
import type { State } from '../state.ts'

const bucketMax = 512
const chunkBytes = 1 << 20

interface Bucket {
  readonly entries: Uint32Array
  length: number
}

export class NameIndex {
  readonly #state: State
  readonly #buckets: Bucket[] = [newBucket()]
  /** By entry: its identity, and where its folded name begins. */
  readonly #identities = new Uint32Column()
  readonly #starts = new Uint32Column()
  readonly #chunks: Buffer[] = []
  /** The end of the last folded name; no name extends over two chunks. */
  #end = 0

  constructor(state: State) {
    this.#state = state
  }

  get count(): number {
    return this.#identities.length
  }

  add(identity: number): void {
    const name = Buffer.from(folded(nameOf(this.#state, identity)))
    const at = this.#indexOf(name, identity)
    const entry = this.#identities.push(identity)
    this.#starts.push(this.#keep(name))
    const bucket = this.#buckets[at.bucket]
    bucket.entries.copyWithin(at.index + 1, at.index, bucket.length)
    bucket.entries[at.index] = entry
    bucket.length += 1
    if (bucket.length === bucketMax) this.#split(at.bucket)
  }

  /** Removes an identity that was added. Its folded name stays in memory until a restart. */
  remove(identity: number): void {
    const name = Buffer.from(folded(nameOf(this.#state, identity)))
    let { bucket, index } = this.#indexOf(name, identity)
    if (index === this.#buckets[bucket].length) {
      bucket += 1
      index = 0
    }
    const found = this.#buckets[bucket]
    found.entries.copyWithin(index, index + 1, found.length)
    found.length -= 1
    if (found.length === 0 && this.#buckets.length > 1) this.#buckets.splice(bucket, 1)
  }

  /** Returns the first `count` identities after `after` whose names have this prefix. */
  find(prefix: string, after: number | null, count: number): number[] {
    const start = Buffer.from(folded(prefix))
    const last = after === null ? start : Buffer.from(folded(nameOf(this.#state, after)))
    const isLater = Buffer.compare(last, start) >= 0
    let { bucket, index } = this.#indexOf(isLater ? last : start, isLater ? (after ?? -1) + 1 : 0)
    const found: number[] = []
    for (; bucket < this.#buckets.length && found.length < count; index = 0, bucket++) {
      const { entries, length } = this.#buckets[bucket]
      for (; index < length && found.length < count; index++) {
        const name = this.#nameOf(entries[index])
        if (!name.subarray(0, start.length).equals(start)) return found
        found.push(this.#identities.get(entries[index]))
      }
    }
    return found
  }

  /** Returns the bucket and the index of the first entry that is not less than this one. */
  #indexOf(name: Buffer, identity: number): { bucket: number; index: number } {
    const isLess = (entry: number) => {
      const order = Buffer.compare(this.#nameOf(entry), name)
      return order < 0 || (order === 0 && this.#identities.get(entry) < identity)
    }
    // Only the last bucket whose first entry is less can have entries on both sides.
    const later = partition(this.#buckets.length, (i) => {
      const { entries, length } = this.#buckets[i]
      return length > 0 && isLess(entries[0])
    })
    const bucket = Math.max(0, later - 1)
    const { entries, length } = this.#buckets[bucket]
    return { bucket, index: partition(length, (i) => isLess(entries[i])) }
  }

  #split(bucket: number): void {
    const full = this.#buckets[bucket]
    const half = bucketMax / 2
    const upper = newBucket()
    upper.entries.set(full.entries.subarray(half))
    upper.length = half
    full.length = half
    this.#buckets.splice(bucket + 1, 0, upper)
  }

  /** Stores a folded name after its length, which takes two bytes; returns where both begin. */
  #keep(name: Buffer): number {
    const bytes = name.length + 2
    const left = chunkBytes - (this.#end % chunkBytes)
    if (this.#end % chunkBytes === 0 || left < bytes) {
      this.#end = this.#chunks.length * chunkBytes
      this.#chunks.push(Buffer.alloc(chunkBytes))
    }
    const start = this.#end
    const chunk = this.#chunks.at(-1)!
    chunk.writeUInt16LE(name.length, start % chunkBytes)
    name.copy(chunk, (start % chunkBytes) + 2)
    this.#end += bytes
    return start
  }

  #nameOf(entry: number): Buffer {
    const start = this.#starts.get(entry)
    const chunk = this.#chunks[Math.floor(start / chunkBytes)]
    const at = start % chunkBytes
    return chunk.subarray(at + 2, at + 2 + chunk.readUInt16LE(at))
  }
}

/** Sorts identities into the order of their names (N1). */
export function sortByName(state: State, identities: Iterable<number>): number[] {
  const named = Array.from(identities, (identity) => {
    return { identity, name: Buffer.from(folded(nameOf(state, identity))) }
  })
  named.sort((a, b) => Buffer.compare(a.name, b.name) || a.identity - b.identity)
  return named.map(({ identity }) => identity)
}

export function nameOf({ identities }: State, identity: number): string {
  return JSON.parse(identities.nameJson(identity)) as string
}

function newBucket(): Bucket {
  return { entries: new Uint32Array(bucketMax), length: 0 }
}

/** The number of identities examined in one slice; adding a name takes about a microsecond. */
const sliceIdentities = 256

/**
 * The names that only callers with a token find: those of listed identities or, where operators
 * decide who takes part, of all that have a token. Identities are examined when a search needs it,
 * in the order of their creation. One that was examined is in the index exactly while it may be
 * found: records change the index through `onListed`.
 */
export class Listed {
  readonly #state: State
  readonly #names: NameIndex
  /** The number of identities that were examined. */
  #examined = 0
  #hasEverybody = false
  changedPosition = 0

  constructor(state: State) {
    this.#state = state
    this.#names = new NameIndex(state)
    state.onListed = (identity, position) => this.#onListed(identity, position)
  }

  /**
   * Examines further identities. Returns true once all are examined. `hasEverybody` says whether
   * identities are found that are not listed, which is the same for the life of a process.
   */
  catchUp(hasEverybody: boolean): boolean {
    const { identities } = this.#state
    this.#hasEverybody = hasEverybody
    const end = Math.min(identities.count, this.#examined + sliceIdentities)
    for (; this.#examined < end; this.#examined++) {
      if (this.#mayBeFound(this.#examined)) this.#names.add(this.#examined)
    }
    return end === identities.count
  }

  /** Returns the first `count` identities after `after` with names of this prefix. */
  find(prefix: string, after: number | null, count: number): number[] {
    return this.#names.find(prefix, after, count)
  }

  #mayBeFound(identity: number): boolean {
    const { identities } = this.#state
    if (this.#hasEverybody) return identities.kind(identity) !== 'compat'
    return identities.isListed(identity)
  }

  #onListed(identity: number, position: number): void {
    this.changedPosition = position
    if (identity >= this.#examined || this.#hasEverybody) return
    if (this.#state.identities.isListed(identity)) this.#names.add(identity)
    else this.#names.remove(identity)
  }
}
