// What is done about a block of text that is damaged on disk: it is rebuilt from the parity of its
// page file, or is lost; in both cases it is reported once, and its file is scrubbed at once.
//
// Y1. A block that was rebuilt has its crc. One that is lost is tried again when the scrub has
//     repaired its file, otherwise after a minute: each attempt reads sixteen pieces of the file.

import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import type { BadPage } from '../../wal/checkpoint/bad-pages.ts'
import { type Manifest, pagesName } from '../../wal/checkpoint/manifest.ts'
import { rebuildPage } from '../../wal/checkpoint/rebuild.ts'
import type { Disk } from '../../wal/disk.ts'
import { isOfSystem, messageOf } from '../../wal/errors.ts'
import type { BlockRead } from './block-loads.ts'
import { blockBytes } from './blocks.ts'
import { pageBytes } from './slabs.ts'
import { textStoreName } from './text.ts'

const retryAfterMs = 60_000

export interface TextMendingOptions {
  disk: Disk
  dir: string
  log: Logger
  /** The newest checkpoint. */
  manifest: () => Manifest
  /** Has the file of a damaged page scrubbed; resolves to whether it is good then. */
  scrub: (page: BadPage) => Promise<boolean>
}

export class TextMending {
  /** Blocks that were found damaged: those rebuilt from parity, and those lost. */
  rebuilt = 0
  lost = 0
  readonly #options: TextMendingOptions
  /** Places that were reported, until they may be reported again; true: the block is lost (Y1). */
  readonly #reported = new Map<string, boolean>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: TextMendingOptions) {
    this.#options = options
  }

  /** The bytes of a damaged block; null: it is lost, or the disk fails. One after the other. */
  mend(read: BlockRead, why: string): Promise<Uint8Array | null> {
    const mending = this.#last.then(() => this.#mend(read, why))
    this.#last = mending
    return mending
  }

  async #mend({ block, place }: BlockRead, why: string): Promise<Uint8Array | null> {
    const key = `${place.file}:${place.offset}`
    if (this.#reported.get(key) === true) return null
    const { disk, dir, manifest, log } = this.#options
    const at = block * blockBytes
    try {
      const number = Math.floor(at / pageBytes)
      const page = await rebuildPage({ disk, dir }, manifest(), textStoreName, number)
      const bytes = page.bytes?.subarray(at % pageBytes).subarray(0, blockBytes) ?? null
      const isGood = bytes !== null && crc32(bytes) === place.crc
      this.#report(key, { block, place }, why, page.place, isGood)
      return isGood ? bytes : null
    } catch (error) {
      if (!isOfSystem(error)) throw error
      log.warn({ file: pagesName(place.file), why: messageOf(error) }, 'text_block_not_rebuilt')
      return null
    }
  }

  #report(
    key: string,
    { place: { file, offset, bytes } }: Omit<BlockRead, 'slot'>,
    why: string,
    page: BadPage,
    isGood: boolean,
  ): void {
    if (isGood) this.rebuilt += 1
    else this.lost += 1
    if (this.#reported.has(key)) return
    this.#reported.set(key, !isGood)
    const fields = { file: pagesName(file), offset, bytes, why }
    const { log, scrub } = this.#options
    if (isGood) log.warn({ ...fields, by: 'parity' }, 'text_block_rebuilt')
    else log.error(fields, 'text_block_lost')
    void scrub(page).then((isRepaired) => {
      if (isRepaired) this.#reported.delete(key)
      else setTimeout(() => this.#reported.delete(key), retryAfterMs).unref()
    })
  }
}
