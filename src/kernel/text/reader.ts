// Reads blocks of text from page files, in a thread of its own.
//
//   event loop ──ReadRequest──▶ thread: reads into shared memory, crc32 ──ReadAnswer──▶ event loop
//
// X1. A request costs one message to the thread and one back, however many blocks it needs: 50
//     blocks cost the event loop as much as one.
// X2. A result is `good` only if the whole block was read and has the right CRC.
//
// The thread starts with the first read and ends with the node. If the thread pool did the reads, a
// page of 50 cold blocks would take 0.9 to 1.5 ms of the event loop's processor time, and polls
// would get 0.58 of that time beside one reader of such pages. With this thread a page takes 0.5 to
// 0.6 ms, and polls get 0.85 (bench/cold.ts, four alternating rounds).
//
// `PageReads` is the thread's half. It runs in a worker (reader-worker.ts) or, in simulations,
// beside the event loop on a simulated disk. `BlockReader` is the event loop's half. Files stay
// open between reads. Those that were not used for a while are closed, so that the space of a file
// that a checkpoint has removed is soon freed.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import { pagesName } from '../../../wal/checkpoint/manifest.ts'
import { type Disk, readFully } from '../../../wal/disk.ts'
import { codeOf, isUnreadable, messageOf } from '../../../wal/errors.ts'
import { startThread } from '../../base/program-files.ts'
import type { BlockRead, ReadResult } from './block-loads.ts'
import type { TextBlocks } from './blocks.ts'

const closeEveryMs = 5_000
const filesMax = 64

export interface ReadRequest {
  id: number
  /** The slabs that the thread does not have yet; they follow those that it has. */
  slabs: SharedArrayBuffer[]
  /**
   * For each block, its location on disk and its destination in shared memory: file, offset, bytes,
   * crc, slab, and offset in the slab. Objects would take ten times as long to send.
   */
  reads: Float64Array
}

/** The number of values that describe one read. */
const numbersOfRead = 6

/** A message from the thread. `results` null means that all are good. */
interface ReadAnswer {
  id: number
  results: ReadResult[] | null
}

const good: ReadResult = { kind: 'good', why: '' }
const closed: ReadResult = { kind: 'failed', why: 'the reader is closed' }

export class PageReads {
  readonly #disk: Disk
  readonly #dir: string
  readonly #slabs: SharedArrayBuffer[] = []
  /** Descriptors by file number, in the order in which the files were opened. */
  readonly #files = new Map<number, number>()
  #used = new Set<number>()
  readonly #closing: NodeJS.Timeout

  constructor(disk: Disk, dir: string) {
    this.#disk = disk
    this.#dir = dir
    this.#closing = setInterval(() => this.#closeUnused(), closeEveryMs)
  }

  serve({ id, slabs, reads }: ReadRequest): ReadAnswer {
    this.#slabs.push(...slabs)
    const results: ReadResult[] = []
    for (let i = 0; i < reads.length; i += numbersOfRead) {
      const [file, offset, bytes, crc, slab, at] = reads.subarray(i, i + numbersOfRead)
      results.push(this.#read(file, offset, new Uint8Array(this.#slabs[slab], at, bytes), crc))
    }
    const isAllGood = results.every(({ kind }) => kind === 'good')
    return { id, results: isAllGood ? null : results }
  }

  close(): void {
    clearInterval(this.#closing)
    for (const file of this.#files.keys()) this.#close(file)
  }

  #read(file: number, offset: number, into: Uint8Array, crc: number): ReadResult {
    try {
      const read = readFully(this.#disk, this.#fileOf(file), into, offset)
      if (read < into.length) return { kind: 'damaged', why: 'the file is too short' }
      return crc32(into) === crc ? good : { kind: 'damaged', why: 'CRC mismatch' }
    } catch (error) {
      const [code, why] = [codeOf(error), messageOf(error)]
      if (code === '') throw error
      if (code === 'ENOENT') return { kind: 'gone', why }
      return { kind: isUnreadable(error) ? 'damaged' : 'failed', why }
    }
  }

  #fileOf(file: number): number {
    this.#used.add(file)
    const open = this.#files.get(file)
    if (open !== undefined) return open
    const [oldest] = this.#files.keys()
    if (this.#files.size === filesMax) this.#close(oldest)
    const descriptor = this.#disk.open(path.join(this.#dir, pagesName(file)), 'read')
    this.#files.set(file, descriptor)
    return descriptor
  }

  #closeUnused(): void {
    for (const file of this.#files.keys()) if (!this.#used.has(file)) this.#close(file)
    this.#used = new Set()
  }

  #close(file: number): void {
    this.#disk.close(this.#files.get(file)!)
    this.#files.delete(file)
  }
}

/** A thread that reads page files. */
interface ReadingThread {
  post(request: ReadRequest): void
  /** Ends the thread. No answer arrives after this. */
  end(): void
}

/** Starts a thread that reads the page files in `dir`. */
export type StartReading = (dir: string, onAnswer: (answer: ReadAnswer) => void) => ReadingThread

const startWorker: StartReading = (dir, onAnswer) => {
  const worker = startThread(dir)
  worker.on('message', onAnswer)
  worker.on('error', (error) => {
    throw error // a bug of ours: disk errors are reported as results
  })
  return {
    post: (request) => worker.postMessage(request),
    end: () => void worker.terminate(),
  }
}

export class BlockReader {
  readonly #start: () => ReadingThread
  readonly #blocks: TextBlocks
  #thread: ReadingThread | null = null
  #isClosed = false
  #slabs = 0
  #lastId = 0
  readonly #pending = new Map<number, { count: number; done: (all: ReadResult[]) => void }>()

  constructor(dir: string, blocks: TextBlocks, start: StartReading = startWorker) {
    this.#start = () => start(dir, (answer) => this.#answered(answer))
    this.#blocks = blocks
  }

  /** Reads blocks into their slots, as a TextDisk does. */
  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    if (this.#isClosed) return done(reads.map(() => closed))
    this.#thread ??= this.#start()
    this.#lastId += 1
    this.#pending.set(this.#lastId, { count: reads.length, done })
    const slabs = this.#blocks.slabs.slice(this.#slabs)
    this.#slabs += slabs.length
    this.#thread.post({ id: this.#lastId, slabs, reads: this.#numbersOf(reads) })
  }

  /** Ends the thread. The search index, which is closed at the same time, may go on reading. */
  close(): void {
    this.#isClosed = true
    this.#thread?.end()
    for (const { count, done } of this.#pending.values()) done(new Array(count).fill(closed))
    this.#pending.clear()
  }

  #numbersOf(reads: readonly BlockRead[]): Float64Array {
    const numbers = new Float64Array(reads.length * numbersOfRead)
    let next = 0
    for (const { slot, place } of reads) {
      const { slab, at } = this.#blocks.placeOf(slot)
      numbers[next++] = place.file
      numbers[next++] = place.offset
      numbers[next++] = place.bytes
      numbers[next++] = place.crc
      numbers[next++] = slab
      numbers[next++] = at
    }
    return numbers
  }

  #answered({ id, results }: ReadAnswer): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    pending?.done(results ?? new Array<ReadResult>(pending.count).fill(good))
  }
}
