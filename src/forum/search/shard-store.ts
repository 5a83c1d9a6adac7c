// Opens, begins, continues and seals the shards of one directory. index.ts decides which and when.

import type { Engine } from './engine.ts'
import { IndexFiles } from './index-files.ts'
import type { Built, SealedFile } from './message-range.ts'
import {
  type About,
  newShard,
  resumedShard,
  type SealedName,
  type Shard,
  sealedName,
  sealedShard,
} from './shard.ts'

export interface StoreOptions {
  engine: Engine
  dir: string
  /** The identity of the forum and of the format. Files of another one are removed. */
  identity: string
  memoryBytes: number
}

/** The maximum size of the cache of one database. */
const cacheBytesMax = 8 << 20

export class ShardStore {
  readonly files: IndexFiles
  readonly #options: StoreOptions
  #cacheBytes = cacheBytesMax

  constructor(options: StoreOptions) {
    this.#options = options
    this.files = new IndexFiles(options.dir)
  }

  /** Divides the memory among these shards, and one more. */
  share(shards: readonly (Shard | null)[]): void {
    this.#cacheBytes = Math.min(cacheBytesMax, this.#options.memoryBytes / (shards.length + 1))
    for (const shard of shards) shard?.setCache(this.#cacheBytes)
  }

  /** Opens a sealed file. Returns null if it is damaged, or not of this forum and format. */
  open(sealed: SealedName): { about: About; built: Built } | null {
    const { engine, identity } = this.#options
    let shard: Shard | null = null
    try {
      shard = sealedShard(engine, this.files.pathOf(sealed.name), this.#cacheBytes)
      const about = shard.about()
      const file = this.files.sealed(sealed)
      if (about.identity === identity && about.first === sealed.first) {
        const { end: next, lastId, erased } = about
        return { about, built: { shard, next, lastId, erased, hidden: new Set(), file } }
      }
    } catch {
      // The file is damaged, so the shard is built again.
    }
    shard?.close() // the file is removed, but takes space as long as it is open
    return null
  }

  /** Begins a shard. Throws if there is no room. */
  begin(first: number, erased: number): Built {
    this.files.needRoom()
    const shard = newShard(this.#options.engine, this.files.dir, first, this.#cacheBytes)
    return { shard, next: first, lastId: '', erased, hidden: new Set(), file: null }
  }

  /** Continues a shard that was sealed before it was full. Throws if it is damaged. */
  resume(built: Built, { name }: SealedFile): Built {
    const { engine } = this.#options
    const resumed = resumedShard(engine, this.files.dir, sealedName(name)!, this.#cacheBytes)
    built.shard.close()
    return { ...built, shard: resumed, file: null }
  }

  /** Saves a shard that reflects all removals up to `erased`. Throws if there is no room. */
  seal(first: number, { shard, next: end, lastId }: Built, erased: number): SealedFile {
    const { identity } = this.#options
    this.files.needRoom()
    const name = shard.seal(this.files.dir, { identity, first, end, lastId, erased })
    return { ...this.files.sealed(sealedName(name)!), isChecked: true }
  }

  /** Opens a shard that has just been sealed. */
  reopen({ name }: SealedFile): Shard {
    return sealedShard(this.#options.engine, this.files.pathOf(name), this.#cacheBytes)
  }
}
