// Reads blocks of text from page files, in the background: in a worker thread, or through a `Disk`
// where a test simulates one.
//
//   event loop ──reads──▶ worker: pread into shared memory, crc32 ──results──▶ event loop
//
// X1. One message goes to the worker for a request and one comes back, however many blocks it
//     needs: 50 blocks cost the event loop as much as one.
// X2. A result says `good` only when the whole block was read and has its crc.
//
// The worker starts with the first read, and ends with the node.

import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { crc32 } from 'node:zlib'
import { pagesName } from '../../wal/checkpoint/manifest.ts'
import { type Disk, readFullyLater } from '../../wal/disk.ts'
import { codeOf, isUnreadable, messageOf } from '../../wal/errors.ts'
import type { BlockRead, ReadResult } from './block-loads.ts'
import type { TextBlocks } from './blocks.ts'

/** Reads blocks into their slots. */
export interface BlockReader {
  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void
  close(): void
}

/** To the worker. */
export interface WorkerRequest {
  id: number
  /** Slabs that the worker does not have yet: they follow those that it has. */
  slabs: SharedArrayBuffer[]
  /**
   * Of each block where it lies on disk, and where in shared memory it belongs: file, offset,
   * bytes, crc, slab and offset in it. Objects would take ten times as long to send.
   */
  reads: Float64Array
}

/** How many numbers describe one read. */
export const numbersOfRead = 6

/** From the worker. `results` null: all are good. */
export interface WorkerAnswer {
  id: number
  results: ReadResult[] | null
}

export interface WorkerOptions {
  dir: string
}

export const good: ReadResult = { kind: 'good', why: '' }

/** What to say of `read` bytes that were read into the memory of a block. */
export function resultOf(read: number, into: Uint8Array, crc: number): ReadResult {
  if (read < into.length) return { kind: 'damaged', why: 'the file ends before its end' }
  return crc32(into) === crc ? good : { kind: 'damaged', why: 'its crc is wrong' }
}

/** What to say of an error of the disk. Throws what is none. */
export function resultOfError(error: unknown): ReadResult {
  const [code, why] = [codeOf(error), messageOf(error)]
  if (code === '') throw error
  if (code === 'ENOENT') return { kind: 'gone', why }
  return { kind: isUnreadable(error) ? 'damaged' : 'failed', why }
}

export class WorkerReader implements BlockReader {
  readonly #options: WorkerOptions
  readonly #blocks: TextBlocks
  #worker: Worker | null = null
  /** How many slabs the worker has. */
  #slabs = 0
  #lastId = 0
  readonly #pending = new Map<number, { count: number; done: (all: ReadResult[]) => void }>()

  constructor(options: WorkerOptions, blocks: TextBlocks) {
    this.#options = options
    this.#blocks = blocks
  }

  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    this.#worker ??= this.#start()
    this.#lastId += 1
    this.#pending.set(this.#lastId, { count: reads.length, done })
    const slabs = this.#blocks.slabs.slice(this.#slabs)
    this.#slabs += slabs.length
    const request: WorkerRequest = { id: this.#lastId, slabs, reads: this.#numbersOf(reads) }
    this.#worker.postMessage(request)
  }

  close(): void {
    this.#pending.clear()
    void this.#worker?.terminate()
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

  #start(): Worker {
    const worker = new Worker(new URL('./reader-worker.js', import.meta.url), {
      workerData: this.#options,
    })
    worker.unref()
    worker.on('message', ({ id, results }: WorkerAnswer) => {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      pending?.done(results ?? new Array<ReadResult>(pending.count).fill(good))
    })
    worker.on('error', (error) => {
      throw error // a bug of ours: errors of the disk are results
    })
    return worker
  }
}

/** Reads through a `Disk`, in the thread of the event loop. */
export class DiskReader implements BlockReader {
  readonly #disk: Disk
  readonly #dir: string
  readonly #blocks: TextBlocks
  #isClosed = false

  constructor(disk: Disk, dir: string, blocks: TextBlocks) {
    this.#disk = disk
    this.#dir = dir
    this.#blocks = blocks
  }

  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    void Promise.all(reads.map((read) => this.#readOne(read))).then((results) => {
      if (!this.#isClosed) done(results)
    })
  }

  close(): void {
    this.#isClosed = true
  }

  async #readOne({ slot, place }: BlockRead): Promise<ReadResult> {
    try {
      const file = this.#disk.open(path.join(this.#dir, pagesName(place.file)), 'read')
      try {
        const into = this.#blocks.bytesOf(slot)
        const read = await readFullyLater(this.#disk, file, into, place.offset)
        return resultOf(read, into, place.crc)
      } finally {
        this.#disk.close(file)
      }
    } catch (error) {
      return resultOfError(error)
    }
  }
}
