// The disk of the text, as block-loads.ts uses it: a background reader whose reads are timed, and
// the repair of damaged blocks. A block that is damaged on disk is rebuilt from the parity of its
// page file, or is lost. In both cases it is reported once, and its file is scrubbed immediately.
//
// Y1. A rebuilt block has the right CRC. A lost block is tried again once the scrub has repaired
//     its file, otherwise after a minute: each attempt reads sixteen pieces of the file.

import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import { type BadPage, type Manifest, pagesName } from '../../../wal/checkpoint/manifest.ts'
import { rebuildPage } from '../../../wal/checkpoint/page-source.ts'
import { type Disk, realDisk } from '../../../wal/disk.ts'
import { isOfSystem, messageOf } from '../../../wal/errors.ts'
import { Histogram } from '../../base/histogram.ts'
import type { BlockRead, ReadResult, TextDisk } from './block-loads.ts'
import { blockBytes } from './blocks.ts'
import { pageBytes } from './page-slots.ts'
import { BlockReader, type StartReading } from './reader.ts'
import { type Text, textStoreName } from './text.ts'

const boundsSeconds = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10]

export class NodeTextDisk implements TextDisk {
  /** Durations of reads in seconds. A single read covers all blocks of a request. */
  readonly reads = new Histogram(boundsSeconds)
  readonly #reader: BlockReader
  readonly #mending: TextMending

  constructor(reader: BlockReader, mending: TextMending) {
    this.#reader = reader
    this.#mending = mending
  }

  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    const begun = performance.now()
    this.#reader.read(reads, (results) => {
      this.reads.add((performance.now() - begun) / 1000)
      done(results)
    })
  }

  get rebuilt(): number {
    return this.#mending.rebuilt
  }

  get lost(): number {
    return this.#mending.lost
  }

  mend(read: BlockRead, why: string): Promise<Uint8Array | null> {
    return this.#mending.mend(read, why)
  }

  close(): void {
    this.#reader.close()
  }
}

/** The parts of a CheckpointSchedule that locate the text on disk, and repair it there. */
interface TextPlaces {
  readonly newest: Manifest
  readonly scrub: { report(page: BadPage): Promise<boolean> }
}

export interface TextDiskOptions {
  dir: string
  log: Logger
  /** Replacements for the real disk, and for the thread that reads it. */
  environment: { disk?: Disk | undefined; startReading?: StartReading | undefined }
  text: Text
  checkpoints: TextPlaces
}

/** Opens a disk that reads this text from its page files. */
export function openTextDisk(options: TextDiskOptions): NodeTextDisk {
  const { dir, log, environment, text, checkpoints } = options
  const { disk = realDisk, startReading } = environment
  const reader = new BlockReader(dir, text.blocks, startReading)
  const mending = new TextMending({
    disk,
    dir,
    log,
    manifest: () => checkpoints.newest,
    scrub: (page) => checkpoints.scrub.report(page),
  })
  return new NodeTextDisk(reader, mending)
}

const retryAfterMs = 60_000

interface TextMendingOptions {
  disk: Disk
  dir: string
  log: Logger
  /** Returns the manifest of the newest checkpoint. */
  manifest: () => Manifest
  /** Scrubs the file of a damaged page. Resolves to whether the file is good afterwards. */
  scrub: (page: BadPage) => Promise<boolean>
}

class TextMending {
  /** The numbers of damaged blocks that were rebuilt from parity, and that were lost. */
  rebuilt = 0
  lost = 0
  readonly #options: TextMendingOptions
  /** Reported places, until they may be reported again; true means that the block is lost (Y1). */
  readonly #reported = new Map<string, boolean>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: TextMendingOptions) {
    this.#options = options
  }

  /**
   * Resolves to the bytes of a damaged block, or to null if it is lost or the disk fails. Blocks
   * are rebuilt one at a time.
   */
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
