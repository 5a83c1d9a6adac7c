// A store for tests of checkpoints: bytes in one buffer, which is copied completely when frozen.

import type { PagedStore, PageTable } from '../../wal/checkpoint/paged-store.ts'

export class MemoryStore implements PagedStore {
  readonly pageBytes: number
  bytes: Buffer = Buffer.alloc(0)
  #frozen: Buffer = Buffer.alloc(0)
  #saved: Buffer = Buffer.alloc(0)
  readonly #dirty = new Set<number>()

  constructor(pageBytes: number) {
    this.pageBytes = pageBytes
  }

  /** Appends eight bytes. */
  push(value: number): void {
    const more = Buffer.alloc(8)
    more.writeDoubleLE(value)
    this.bytes = Buffer.concat([this.bytes, more])
  }

  /** Changes the eight bytes at `index`. */
  set(index: number, value: number): void {
    this.bytes.writeDoubleLE(value, index * 8)
  }

  get values(): number[] {
    return Array.from({ length: this.bytes.length / 8 }, (_, i) => this.bytes.readDoubleLE(i * 8))
  }

  freeze(): number {
    this.#frozen = Buffer.from(this.bytes)
    return this.#frozen.length
  }

  frozen(page: number): Uint8Array | null {
    const bytes = this.#page(this.#frozen, page)
    return bytes.equals(this.#page(this.#saved, page)) && !this.#dirty.has(page) ? null : bytes
  }

  thaw(saved: PageTable | null): void {
    if (saved === null) return
    this.#saved = this.#frozen
    this.#dirty.clear()
  }

  markDirty(page: number): void {
    this.#dirty.add(page)
  }

  fill(bytes: number): void {
    this.bytes = Buffer.alloc(bytes)
    this.#saved = this.bytes
  }

  room(page: number): Uint8Array {
    return this.bytes.subarray(page * this.pageBytes)
  }

  /** Marks the bytes that were filled in as saved. */
  filled(): void {
    this.#saved = Buffer.from(this.bytes)
  }

  #page(bytes: Buffer, page: number): Buffer {
    return bytes.subarray(page * this.pageBytes, (page + 1) * this.pageBytes)
  }
}
