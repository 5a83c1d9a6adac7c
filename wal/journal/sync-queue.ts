// The syncs that have begun, oldest first. A sync covers all writes before its start, and
// counts only when all older ones have succeeded.
//
// Q1. Each sync in flight has a descriptor of its own, opened for it alone.
//
// Linux reports a failed write once per open file description (errseq_t: each has its own mark, set
// when it is opened). Of two syncs on one descriptor, the first to check consumes the error, and
// the other succeeds although bytes are lost; if that is the older one and completes first, records
// would be reported as durable that are not. By Q1 each sync sees every error since its descriptor
// was opened, which is before the first record of the segment was written.

import { Histogram } from '../../src/base/histogram.ts'
import { Queue } from '../../src/base/queue.ts'
import type { Disk } from '../disk.ts'

/**
 * Syncs of one segment that may be in flight, and so the descriptors that it needs. One thread
 * of the pool stays free for the next segment.
 */
export const syncsInFlightMax = 3

interface Sync {
  files: readonly number[]
  /** The descriptor that it uses; -1 while it waits for one. */
  file: number
  /** Position of the last record that it covers, and the watermark of the last frame. */
  position: number
  watermark: number
  /** Bytes that no older sync covers. */
  bytes: number
  done: boolean
}

const boundsSeconds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]

export class SyncQueue {
  readonly times = new Histogram(boundsSeconds)
  readonly #disk: Disk
  readonly #onSynced: (position: number) => void
  readonly #onFailed: (error: Error) => void
  readonly #queue: Sync[] = []
  readonly #inUse = new Set<number>()
  readonly #retired: (readonly number[])[] = []
  #failed = false
  // The watermarks of the last frame that is written, and of the last that is synced.
  #written: number
  #synced: number
  #unsyncedBytes = 0
  #uncoveredBytes = 0

  /**
   * `watermark` is that of the last frame on the disk. `onSynced` receives ascending positions.
   * `onFailed` is called at most once, and `onSynced` never after it.
   */
  constructor(
    disk: Disk,
    watermark: number,
    onSynced: (position: number) => void,
    onFailed: (error: Error) => void,
  ) {
    this.#disk = disk
    this.#written = this.#synced = watermark
    this.#onSynced = onSynced
    this.#onFailed = onFailed
  }

  get length(): number {
    return this.#queue.length
  }

  /** Bytes that are written but not synced. */
  get unsyncedBytes(): number {
    return this.#unsyncedBytes
  }

  /** Those of them that no sync in flight covers. */
  get uncoveredBytes(): number {
    return this.#uncoveredBytes
  }

  /** The highest watermark that a recovery is certain to find. */
  get watermark(): number {
    return this.#synced
  }

  /** Takes note of written bytes that end in a frame or header with this watermark. */
  wrote(bytes: number, watermark: number): void {
    this.#unsyncedBytes += bytes
    this.#uncoveredBytes += bytes
    this.#written = watermark
  }

  /**
   * Syncs all writes up to this position to the file with the descriptors `files`, as soon as
   * one of these is free.
   */
  start(files: readonly number[], position: number): void {
    if (this.#uncoveredBytes === 0) return
    const [watermark, bytes] = [this.#written, this.#uncoveredBytes]
    this.#uncoveredBytes = 0
    this.#queue.push({ files, file: -1, position, watermark, bytes, done: false })
    this.#startWaiting()
  }

  /** Closes the descriptors of a file when its last syncs have completed. */
  retire(files: readonly number[]): void {
    this.#retired.push(files)
    this.#closeRetired()
  }

  #startWaiting(): void {
    for (const sync of this.#queue) {
      if (sync.file >= 0) continue
      sync.file = sync.files.find((file) => !this.#inUse.has(file)) ?? -1
      if (sync.file >= 0) this.#begin(sync)
    }
  }

  #begin(sync: Sync): void {
    const { file } = sync
    this.#inUse.add(file)
    const startedMs = performance.now()
    this.#disk.dataSyncLater(file, (error) => {
      this.#inUse.delete(file)
      this.times.add((performance.now() - startedMs) / 1000)
      if (this.#failed) return
      if (error !== null) {
        this.#failed = true
        this.#onFailed(error)
        return
      }
      sync.done = true
      this.#startWaiting()
      this.#advance()
    })
  }

  #advance(): void {
    let position = -1
    while (this.#queue[0]?.done === true) {
      const sync = this.#queue.shift()!
      position = sync.position
      this.#synced = sync.watermark
      this.#unsyncedBytes -= sync.bytes
    }
    if (position < 0) return
    if (this.#retired.length > 0) this.#closeRetired()
    this.#onSynced(position)
  }

  #closeRetired(): void {
    for (const files of this.#retired.splice(0)) {
      if (this.#queue.some((sync) => sync.files === files)) this.#retired.push(files)
      else for (const file of files) this.#disk.close(file)
    }
  }
}

interface Waiter {
  position: number
  resolve: () => void
  reject: (error: Error) => void
}

/**
 * Promises that resolve when the log is synced up to a position. Positions only grow, so they are
 * resolved in the order in which they were added.
 */
export class Waiters {
  readonly #waiters = new Queue<Waiter>()

  get count(): number {
    return this.#waiters.length
  }

  add(position: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ position, resolve, reject }))
  }

  /** Resolves the promises for positions up to `synced`. */
  advance(synced: number): void {
    const waiters = this.#waiters
    while (waiters.length > 0 && waiters.first.position <= synced) waiters.shift().resolve()
  }

  fail(error: Error): void {
    while (this.#waiters.length > 0) this.#waiters.shift().reject(error)
  }
}
