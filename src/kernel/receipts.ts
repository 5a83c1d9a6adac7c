// Receipts record the use of idempotency keys, by identity and operation. They make retries safe.
//
//   receipts, oldest first:   oldest → … → newest      linked by `next`; numbers are reused
//
// R1. There is at most one receipt per identity and key. All operations share one key space. The
//     newest use of a key counts: if the log is replayed with a longer retention, a key may still
//     be kept that had been evicted when it was used again.
// R2. Receipts are evicted oldest first, and only if they are older than the retention and not
//     among the newest million. Their age is measured by the times of records, so a replay of the
//     log evicts the same receipts. Each new receipt evicts a few, so that no single write has to
//     evict millions.
// R3. A key is kept as a 64-bit hash, seeded per store. The identity is compared exactly, so keys
//     that collide (one chance in 2^64) belong to the same caller, who gets a 409.
// R4. A repeated request is compared with what it made. What it said besides is kept as a 32-bit
//     hash, its `details`. Two requests that differ in these only are taken for the same with a
//     probability of 2^-32.

import type { PagedStore } from '../../wal/checkpoint/paged-store.ts'
import { Float64Column, Uint8Column, Uint32Column } from './columns/column.ts'
import { HashIndex, stepRows } from './columns/hash-index.ts'

/** The operations with a key. Checkpoints contain their indexes: append new ones at the end. */
export const receiptOperations = [
  'thread',
  'reply',
  'webhook',
  'proposal',
  'review',
  'claim',
] as const
export type ReceiptOperation = (typeof receiptOperations)[number]

const newestKept = 1_000_000
const evictedPerAddMax = 16
const none = 0xffffffff

interface KeyHash {
  first: number
  second: number
}

export class Receipts {
  readonly #identities = new Uint32Column()
  readonly #firsts = new Uint32Column()
  readonly #seconds = new Uint32Column()
  readonly #operations = new Uint8Column()
  readonly #subjects = new Uint32Column()
  readonly #times = new Float64Column()
  readonly #details = new Uint32Column()
  readonly #next = new Uint32Column()
  readonly #index = new HashIndex()
  readonly #retentionMs: number
  #seed: number
  #oldest = none
  #newest = none
  #spare = none
  #count = 0

  constructor(retentionMs: number, seed: number) {
    this.#retentionMs = retentionMs
    this.#seed = seed >>> 0
  }

  get count(): number {
    return this.#count
  }

  get stores(): Record<string, PagedStore> {
    return {
      identities: this.#identities,
      firsts: this.#firsts,
      seconds: this.#seconds,
      operations: this.#operations,
      subjects: this.#subjects,
      times: this.#times,
      details: this.#details,
      next: this.#next,
    }
  }

  facts(): number[] {
    return [this.#seed, this.#oldest, this.#newest, this.#spare, this.#count]
  }

  restore(facts: unknown): void {
    ;[this.#seed, this.#oldest, this.#newest, this.#spare, this.#count] = facts as number[]
  }

  *fillIndexes(): Iterable<void> {
    const kept = new Uint32Array(this.#count)
    for (let i = 0, receipt = this.#oldest; receipt !== none; receipt = this.#next.get(receipt)) {
      kept[i++] = receipt
      if (i % stepRows === 0) yield
    }
    const hashes = new Uint32Array(stepRows)
    yield* this.#index.fill(
      kept.length,
      (from, to) => {
        for (let i = from; i < to; i++) hashes[i - from] = this.#firsts.get(kept[i])
        return hashes.subarray(0, to - from)
      },
      kept,
    )
  }

  /** Returns the receipt's number, or -1. */
  find(identity: number, key: string): number {
    return this.#find(identity, hashKey(this.#seed, identity, key))
  }

  operation(receipt: number): ReceiptOperation {
    return receiptOperations[this.#operations.get(receipt)]
  }

  /**
   * Returns the number of the created message (thread, reply), webhook, proposal or review, or the
   * fence of the claim.
   */
  subject(receipt: number): number {
    return this.#subjects.get(receipt)
  }

  /** Returns the time of the record that the key was used for. */
  time(receipt: number): number {
    return this.#times.get(receipt)
  }

  /** Returns the hash of what the request said beside what it made (`detailsOf`). */
  details(receipt: number): number {
    return this.#details.get(receipt)
  }

  /** Records that a key was used; `at` is the record's time, and `details` as in `detailsOf`. */
  add(
    identity: number,
    key: string,
    operation: ReceiptOperation,
    subject: number,
    at: number,
    details = noDetails,
  ): void {
    this.#evict(at)
    const hash = hashKey(this.#seed, identity, key)
    let receipt = this.#find(identity, hash)
    if (receipt === -1) receipt = this.#link(identity, hash)
    this.#operations.set(receipt, receiptOperations.indexOf(operation))
    this.#subjects.set(receipt, subject)
    this.#times.set(receipt, at)
    this.#details.set(receipt, details)
  }

  #find(identity: number, { first, second }: KeyHash): number {
    return this.#index.find(
      first,
      (receipt) =>
        this.#identities.get(receipt) === identity && this.#seconds.get(receipt) === second,
    )
  }

  /** Adds a receipt for this key, as the newest one. */
  #link(identity: number, { first, second }: KeyHash): number {
    const receipt = this.#takeNumber()
    this.#identities.set(receipt, identity)
    this.#firsts.set(receipt, first)
    this.#seconds.set(receipt, second)
    this.#next.set(receipt, none)
    if (this.#newest === none) this.#oldest = receipt
    else this.#next.set(this.#newest, receipt)
    this.#newest = receipt
    this.#count += 1
    this.#index.add(first, receipt)
    return receipt
  }

  #evict(at: number): void {
    for (let n = 0; n < evictedPerAddMax && this.#count >= newestKept; n++) {
      if (this.#times.get(this.#oldest) >= at - this.#retentionMs) return
      const receipt = this.#oldest
      this.#index.remove(this.#firsts.get(receipt), receipt)
      this.#oldest = this.#next.get(receipt)
      this.#next.set(receipt, this.#spare)
      this.#spare = receipt
      this.#count -= 1
    }
  }

  #takeNumber(): number {
    const receipt = this.#spare
    if (receipt !== none) {
      this.#spare = this.#next.get(receipt)
      return receipt
    }
    this.#identities.push(0)
    this.#firsts.push(0)
    this.#seconds.push(0)
    this.#operations.push(0)
    this.#subjects.push(0)
    this.#times.push(0)
    this.#details.push(noDetails)
    return this.#next.push(none)
  }
}

const noDetails = 0

/** Returns the hash of these details as a receipt keeps it; 0 if all of them are undefined. */
export function detailsOf(fields: Readonly<Record<string, string | number | undefined>>): number {
  for (const name in fields) {
    if (fields[name] !== undefined) return hashKey(0, 0, JSON.stringify(fields)).first || 1
  }
  return noDetails
}

/** Returns two 32-bit FNV-1a hashes with different seeded offset bases and multipliers. */
function hashKey(seed: number, identity: number, key: string): KeyHash {
  let first = (0x811c9dc5 ^ seed) | 0
  let second = Math.imul(seed ^ identity, 0x9e3779b1)
  first = Math.imul(first ^ identity, 0x01000193)
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    first = Math.imul(first ^ code, 0x01000193)
    second = Math.imul(second ^ code, 0x85ebca6b) ^ (second >>> 15)
  }
  // FNV mixes its top bits poorly, and the index selects a partition by these.
  first = Math.imul(first ^ (first >>> 16), 0xc2b2ae35)
  first ^= first >>> 13
  return { first: first >>> 0, second: second >>> 0 }
}
