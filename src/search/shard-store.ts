// The shards of one directory: opened, begun, continued and sealed. index.ts says which and when.

import type { Engine } from './engine.ts'
import { IndexFiles } from './index-files.ts'
import {
  type About,
  newShard,
  resumedShard,
  type SealedName,
  type Shard,
  sealedName,
  sealedShard,
} from './shard.ts'
import type { Building, Finished, SealedFile } from './slot.ts'

export interface StoreOptions {
  engine: Engine
  dir: string
  /** Of the forum and the form; files of another one are removed. */
  identity: string
  memoryBytes: number
}

/** So much of the memory is for each database at most. */
const cacheBytesMax = 8 << 20

export class ShardStore {
  readonly files: IndexFiles
  readonly #options: StoreOptions
  #cacheBytes = cacheBytesMax

  constructor(options: StoreOptions) {
    this.#options = options
    this.files = new IndexFiles(options.dir)
  }

  /** Divides the memory between so many shards. */
  share(shards: readonly (Shard | null)[]): void {
    this.#cacheBytes = Math.min(cacheBytesMax, this.#options.memoryBytes / (shards.length + 1))
    for (const shard of shards) shard?.setCache(this.#cacheBytes)
  }

  /** Opens a sealed file; null: it is damaged, or not of this forum and form. */
  open(sealed: SealedName): { about: About; finished: Finished } | null {
    const { engine, identity } = this.#options
    let shard: Shard | null = null
    try {
      shard = sealedShard(engine, this.files.pathOf(sealed.name), this.#cacheBytes)
      const about = shard.about()
      const file = this.files.sealed(sealed)
      if (about.identity === identity && about.first === sealed.first) {
        return { about, finished: { shard, end: about.end, erased: about.erased, file } }
      }
    } catch {
      // Damaged: it is built again.
    }
    shard?.close() // the file is removed, and takes space as long as it is open
    return null
  }

  /** Begins a shard. Throws where there is no room. */
  begin(first: number, erased: number): Building {
    this.files.needRoom()
    const shard = newShard(this.#options.engine, this.files.dir, first, this.#cacheBytes)
    return { shard, next: first, lastId: '', erased }
  }

  /** Goes on with a shard that was sealed before it was full. Throws where it is damaged. */
  resume({ shard, end, erased }: Finished, { name }: SealedFile): Building {
    const { engine } = this.#options
    const { lastId } = shard.about()
    const resumed = resumedShard(engine, this.files.dir, sealedName(name)!, this.#cacheBytes)
    shard.close()
    return { shard: resumed, next: end, lastId, erased }
  }

  /** Saves a shard that knows all removals up to `erased`. Throws where there is no room. */
  seal(first: number, { shard, next: end, lastId }: Building, erased: number): SealedFile {
    const { identity } = this.#options
    this.files.needRoom()
    const name = shard.seal(this.files.dir, { identity, first, end, lastId, erased })
    return { ...this.files.sealed(sealedName(name)!), isChecked: true }
  }

  /** A shard that was sealed just now. */
  reopen({ name }: SealedFile): Shard {
    return sealedShard(this.#options.engine, this.files.pathOf(name), this.#cacheBytes)
  }
}
