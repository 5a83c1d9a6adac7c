// The open journal: accepts records, writes frames, and tracks which positions are durable.
//
//   positions: appended >= written >= synced; with no batch open, appended = written
//
// Nothing here waits for a sync. A batch is written on `flush`, or in the next event-loop
// iteration, if no sync is in flight, or if few are and the batch is long enough; otherwise when
// one of them completes.

import assert from 'node:assert/strict'
import { type JournalError, storageError } from '../errors.ts'
import { Batch, OpenSegment } from './batch.ts'
import { encodeSegmentHeader, recordHeaderBytes, wholeSectors } from './format.ts'
import { encodeSeal, type PreparedTail } from './prepare-tail.ts'
import { dropSegments, segmentName, segmentPath } from './segments.ts'
import { Spare } from './spare.ts'
import { SyncQueue, syncsInFlightMax, Waiters } from './sync-queue.ts'
import type { Health, Journal, JournalStats, OnFrame, WriterOptions } from './types.ts'

export class Writer implements Journal {
  onDurable: (durable: number) => void = () => {}
  onFailed: (error: JournalError) => void = () => {}
  onFrame: OnFrame | null = null
  failure: JournalError | null = null
  readonly storeId: string
  position: number
  readonly #options: WriterOptions
  readonly #always: boolean
  readonly #seed: number
  readonly #batch: Batch
  readonly #syncs: SyncQueue
  readonly #spare: Spare
  readonly #segment: OpenSegment
  #written: number
  #synced: number
  #link: number
  #sealed = true
  readonly #counts = { batches: 0, records: 0, bytes: 0 }
  #flushPlanned = false
  readonly #waiters = new Waiters()
  readonly #idle = new IdleWatch(
    () => this.#counts.batches,
    () => this.#onIdle(),
  )
  #interval: NodeJS.Timeout | null = null
  #state: 'open' | 'closing' | 'failed' = 'open'
  #closed: Promise<void> | null = null
  #finish: () => void = () => {}

  constructor(tail: PreparedTail, options: WriterOptions) {
    const { disk, dir, limits, durability, onNotice } = options
    this.#options = options
    this.#always = durability.mode === 'always'
    this.storeId = tail.storeId
    this.#seed = tail.seed
    this.#segment = new OpenSegment(disk, tail)
    this.position = this.#written = this.#synced = tail.place.position
    this.#link = tail.place.link
    this.#batch = new Batch(limits.recordBytesMax)
    this.#syncs = new SyncQueue(
      disk,
      this.position,
      (position) => this.#onSynced(position),
      (error) => this.#fail('sync', error),
    )
    const onFailed = (error: unknown) => this.#fail('make the segment after', error)
    const files = { disk, dir, segmentBytes: limits.segmentBytes, onNotice, onFailed }
    this.#spare = new Spare(tail.place.number + 1, tail.hasSpare, files)
    if (durability.mode === 'interval') {
      const mayBegin = () => this.#syncs.length < syncsInFlightMax
      this.#interval = setInterval(() => mayBegin() && this.#startSync(), durability.ms).unref()
    }
  }

  get written(): number {
    return this.#written
  }

  get durable(): number {
    return this.#always ? this.#synced : this.#written
  }

  get health(): Health {
    if (this.#state === 'failed') return 'storage_failed'
    const { recordBytesMax, unsyncedBytesMax } = this.#options.limits
    const next = wholeSectors(this.#batch.length + recordHeaderBytes + recordBytesMax)
    if (this.#syncs.unsyncedBytes + next > unsyncedBytesMax) return 'overloaded'
    if (this.#spare.state === 'ready' || this.#segment.fits(next)) return 'ok'
    return this.#spare.state === 'no_space' ? 'storage_full' : 'overloaded'
  }

  get warnings(): string[] {
    return this.#state === 'open' ? this.#spare.warnings : []
  }

  append(record: unknown): number {
    this.#batch.add(record)
    return this.#appended(1)
  }

  appendEncoded(records: Uint8Array, count: number): number {
    this.#batch.addEncoded(records, count)
    return this.#appended(count)
  }

  #appended(count: number): number {
    assert(this.#state === 'open', 'the journal is open')
    if (!this.#flushPlanned && this.#mayFlush()) {
      this.#flushPlanned = true
      setImmediate(() => {
        this.#flushPlanned = false
        this.flush()
      })
    }
    this.position += count
    return this.position
  }

  flush(): void {
    if (this.#state !== 'open' || this.#batch.count === 0 || !this.#mayFlush()) return
    this.#writeBatch()
    this.#onWritten()
  }

  #onWritten(): void {
    const soon = this.#syncs.uncoveredBytes > this.#options.limits.unsyncedBytesMax / 2
    if (this.#always || soon) this.#startSync()
    if (!this.#always && this.#state === 'open') this.onDurable(this.#written)
  }

  stats(): JournalStats {
    const { replayedBytes } = this.#options
    const { number: segment } = this.#segment
    return { ...this.#counts, segment, replayedBytes, syncs: this.#syncs.times }
  }

  sync(): Promise<void> {
    if (this.failure !== null) return Promise.reject(this.failure)
    setImmediate(() => {
      if (this.#state === 'open') this.flush()
      if (this.#syncs.length === 0) this.#startSync()
      this.#waiters.advance(this.#synced)
    })
    return this.#waiters.add(this.position)
  }

  separate(position: number): boolean {
    if (position < this.#segment.firstPosition) return true
    if (this.#state !== 'open') return false
    if (this.#spare.state !== 'ready') {
      this.#startSync() // the next segment is made when a record of this one is synced
      return false
    }
    // A crash reaches at most one segment beyond the one with this watermark (tail-rule.ts).
    if (this.#syncs.watermark < this.#segment.firstPosition) {
      this.#startSync()
      this.#onIdle()
      return false
    }
    if (this.#batch.count > 0) {
      this.#writeBatch()
      const written = this.#written
      // Not now, since the caller is about to decide. If another batch is written first, it does
      // this for both.
      setImmediate(() => written === this.#written && this.#onWritten())
    }
    if (this.#spare.state === 'ready') this.#roll() // the batch may have needed it
    return position < this.#segment.firstPosition
  }

  dropBefore(position: number): Promise<void> {
    return dropSegments(this.#options, position)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    if (this.#state === 'open') {
      this.#stopTimers()
      await new Promise<void>((resolve) => {
        this.#finish = resolve
        const { durable } = this
        if (this.#batch.count > 0) this.#writeBatch()
        if (this.#state === 'open') this.#state = 'closing'
        if (this.durable > durable) this.onDurable(this.durable)
        this.#closeStep()
      })
    }
    await this.#spare.stop()
    if (this.#state !== 'failed') this.#segment.close()
    this.#options.unlock()
  }

  // Syncs the written frames, then writes the seal, then syncs that.
  #closeStep(): void {
    if (this.#state !== 'closing' || this.#syncs.length > 0) return
    if (this.#syncs.uncoveredBytes === 0 && !this.#sealed) this.#writeSeal()
    if (this.#syncs.uncoveredBytes > 0) this.#startSync()
    else this.#finish()
  }

  // A second sync in flight shortens the wait, but each costs this thread a write and a call: with
  // 64 writers, many small batches reached 17,000 records/s, fewer and longer ones 24,000.
  #mayFlush(): boolean {
    if (!this.#always || this.#syncs.length === 0) return true
    const { besideBytesMin } = this.#options.limits
    return this.#syncs.length < syncsInFlightMax && this.#batch.length >= besideBytesMin
  }

  #writeBatch(): void {
    if (!this.#segment.fits(wholeSectors(this.#batch.length))) this.#roll()
    const [count, next] = [this.#batch.count, this.#next()]
    const { bytes, records, crc } = this.#batch.finish(next, this.#seed)
    if (!this.#write(bytes)) return
    this.#link = crc
    this.#written += count
    this.#sealed = false
    this.#counts.batches += 1
    this.#counts.records += count
    assert(this.#written === this.position)
    this.onFrame?.(next.firstPosition, count, records)
    bytes.fill(0) // batch.ts, B1
  }

  // The fields by which a frame or a header refers to the log before it.
  #next(): { firstPosition: number; watermark: number; link: number } {
    return { firstPosition: this.#written + 1, watermark: this.#synced, link: this.#link }
  }

  // format.ts, J2: a seal states that all records are synced, so it is written only when they are.
  #writeSeal(): void {
    assert(this.#synced === this.#written)
    this.#sealed = this.#write(encodeSeal(this.#written, this.#link, this.#seed))
  }

  #write(bytes: Buffer): boolean {
    if (this.#state === 'failed') return false
    try {
      this.#segment.write(bytes)
    } catch (error) {
      this.#fail('write', error)
      return false
    }
    this.#counts.bytes += bytes.length
    this.#syncs.wrote(bytes.length, this.#synced)
    return true
  }

  #roll(): void {
    this.#startSync()
    this.#syncs.retire(this.#segment.files)
    const number = this.#segment.number + 1
    const firstPosition = this.#written + 1
    const files = this.#spare.take(number + 1, this.#written)
    this.#segment.moveTo({ files, number, firstPosition, size: this.#options.limits.segmentBytes })
    const header = { storeId: this.storeId, number, ...this.#next(), settled: false }
    this.#write(encodeSegmentHeader(header))
    this.#options.onNotice({ event: 'segment_begun', segment: segmentName(number) })
  }

  #startSync(): void {
    if (this.#state !== 'failed') this.#syncs.start(this.#segment.files, this.#written)
  }

  #onSynced(position: number): void {
    if (this.#state === 'failed') return
    const moved = position > this.#synced
    assert(position >= this.#synced)
    this.#synced = position
    this.#spare.onSynced(position)
    if (moved && this.#always) this.onDurable(position)
    this.#waiters.advance(position)
    this.flush()
    if (this.#waiters.count > 0) this.#startSync()
    if (!this.#sealed && this.#state === 'open') this.#idle.begin()
    this.#closeStep()
  }

  // Damage in the last frame is distinguished from a torn tail only by a later frame's watermark.
  #onIdle(): void {
    if (this.#sealed || this.#state !== 'open' || this.#synced !== this.position) return
    this.#writeSeal()
    this.#startSync()
  }

  #stopTimers(): void {
    this.#idle.stop()
    if (this.#interval !== null) clearInterval(this.#interval)
  }

  #fail(doing: string, cause: unknown): void {
    if (this.#state === 'failed') return
    this.#state = 'failed'
    this.#stopTimers()
    const file = segmentPath(this.#options.dir, this.#segment.number)
    this.failure = storageError(`${doing} ${file}`, cause)
    this.#waiters.fail(this.failure)
    this.onFailed(this.failure)
    this.#finish()
  }
}

const idleMs = 200

/** Notices when nothing has been written for a while. */
class IdleWatch {
  readonly #count: () => number
  readonly #onIdle: () => void
  #timer: NodeJS.Timeout | null = null

  /** `count` grows with every write; `onIdle` is called once for each `begin`. */
  constructor(count: () => number, onIdle: () => void) {
    this.#count = count
    this.#onIdle = onIdle
  }

  /** Begins to wait, unless it is waiting already. */
  begin(): void {
    if (this.#timer !== null) return
    const before = this.#count()
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#count() === before) this.#onIdle()
      else this.begin()
    }, idleMs).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
  }
}
