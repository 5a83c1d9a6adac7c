// What the forum reads text with (text/block-loads.ts): a reader in the background, measured, and
// the mending of what is damaged.

import type { Logger } from 'pino'
import type { BadPage } from '../../wal/checkpoint/bad-pages.ts'
import type { Manifest } from '../../wal/checkpoint/manifest.ts'
import { type Disk, realDisk } from '../../wal/disk.ts'
import type { BlockRead, ReadResult, TextDisk } from './block-loads.ts'
import { TextMending } from './mending.ts'
import { BlockReader, type StartReading } from './reader.ts'
import type { Text } from './text.ts'

const boundsSeconds = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10]

export class NodeTextDisk implements TextDisk {
  readonly readBoundsSeconds = boundsSeconds
  /** How long reads of the blocks of one request took: counts by bucket, and the sum in seconds. */
  readonly reads = new Float64Array(boundsSeconds.length + 1)
  readSeconds = 0
  readonly #reader: BlockReader
  readonly #mending: TextMending

  constructor(reader: BlockReader, mending: TextMending) {
    this.#reader = reader
    this.#mending = mending
  }

  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    const begun = performance.now()
    this.#reader.read(reads, (results) => {
      this.#count((performance.now() - begun) / 1000)
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

  #count(seconds: number): void {
    const bucket = boundsSeconds.findIndex((bound) => seconds <= bound)
    this.reads[bucket === -1 ? boundsSeconds.length : bucket] += 1
    this.readSeconds += seconds
  }
}

/** Where the text lies on disk, and who repairs it there: as of a CheckpointSchedule. */
interface TextPlaces {
  readonly newest: Manifest
  readonly scrub: { report(page: BadPage): Promise<boolean> }
}

export interface TextDiskOptions {
  dir: string
  log: Logger
  /** A disk in place of the real one, and the thread that reads it. */
  environment: { disk?: Disk | undefined; startReading?: StartReading | undefined }
  text: Text
  checkpoints: TextPlaces
}

/** Reads the text of this state from its page files. */
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
