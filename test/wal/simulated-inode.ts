// A file or directory of the simulated disk: its visible content, its durable content, and where
// they differ.

export const sectorBytes = 512

/** Returns a generator of numbers from 0 to 1, which is determined by its seed. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The content that a started sync will make durable. */
export interface SyncCopy {
  size: number
  sectors: Map<number, Buffer>
}

export class Inode {
  readonly isDirectory: boolean
  /** The visible content. */
  cache: Buffer = Buffer.alloc(0)
  /** The durable content. */
  disk: Buffer = Buffer.alloc(0)
  readonly #dirty = new Set<number>()

  constructor(isDirectory: boolean) {
    this.isDirectory = isDirectory
  }

  write(bytes: Uint8Array, at: number): void {
    const end = at + bytes.length
    if (end > this.cache.length) this.resize(end)
    this.cache.set(bytes, at)
    for (let index = Math.floor(at / sectorBytes); index * sectorBytes < end; index++) {
      this.#dirty.add(index)
    }
  }

  resize(size: number): void {
    const resized = Buffer.alloc(size)
    this.cache.copy(resized)
    this.cache = resized
    for (const index of this.#dirty) if (index * sectorBytes >= size) this.#dirty.delete(index)
  }

  copyForSync(): SyncCopy {
    const sectors = new Map(
      [...this.#dirty].map((index) => [index, Buffer.from(this.#seen(index))]),
    )
    return { size: this.cache.length, sectors }
  }

  store(copy: SyncCopy): void {
    const stored = Buffer.alloc(copy.size)
    this.disk.copy(stored)
    for (const [index, bytes] of copy.sectors) stored.set(bytes, index * sectorBytes)
    this.disk = stored
    this.#clean(copy)
  }

  /**
   * Applies a failed sync: some sectors reach the disk, and the cache forgets which ones did not.
   */
  storeSome(copy: SyncCopy, random: () => number): void {
    const sectors = new Map([...copy.sectors].filter(() => random() < 0.5))
    this.store({ size: copy.size, sectors })
    this.#clean(copy)
  }

  losePower(random: () => number): void {
    const size = random() < 0.5 ? this.cache.length : this.disk.length
    const kept = Buffer.alloc(size)
    this.disk.copy(kept)
    for (const index of this.#dirty) {
      const at = index * sectorBytes
      if (at >= size) continue
      const fate = random()
      if (fate < 0.4) kept.set(this.#seen(index).subarray(0, size - at), at)
      else if (fate < 0.6) fillWithGarbage(kept.subarray(at, at + sectorBytes), random)
    }
    this.overwrite(kept)
  }

  /** Replaces the cache and the disk. */
  overwrite(bytes: Buffer): void {
    this.disk = Buffer.from(bytes)
    this.cache = Buffer.from(bytes)
    this.#dirty.clear()
  }

  #seen(index: number): Buffer {
    return this.cache.subarray(index * sectorBytes, (index + 1) * sectorBytes)
  }

  // Sectors that were written again after the copy was made stay dirty.
  #clean(copy: SyncCopy): void {
    for (const [index, bytes] of copy.sectors) {
      if (this.#seen(index).equals(bytes)) this.#dirty.delete(index)
    }
  }
}

// Keeps the beginning of the old bytes and adds noise, the worst possible content of a sector.
function fillWithGarbage(sector: Buffer, random: () => number): void {
  for (let at = Math.floor(random() * sector.length); at < sector.length; at++) {
    sector[at] = Math.floor(random() * 256)
  }
}
