// Reads blocks of text from page files, in a thread of its own.
//
//   event loop ──ReadRequest──▶ thread: reads into shared memory, crc32 ──ReadAnswer──▶ event loop
//
// X1. One message goes to the thread for a request and one comes back, however many blocks it
//     needs: 50 blocks cost the event loop as much as one.
// X2. A result says `good` only when the whole block was read and has its crc.
//
// The thread starts with the first read, and ends with the node. Reads by the thread pool in its
// place take 0.9 to 1.5 ms of the event loop's processor time for a page of 50 cold blocks, and
// leave 0.58 of it to polls beside one reader of such pages; with the thread it is 0.5 to 0.6 ms,
// and polls have 0.85 (bench/cold.ts, four rounds that alternate).
//
// Neighbours: page-reads.ts is what the thread does.

import { Worker } from 'node:worker_threads'
import type { BlockRead, ReadResult } from './block-loads.ts'
import type { TextBlocks } from './blocks.ts'
import { good, numbersOfRead, type ReadAnswer, type ReadRequest } from './page-reads.ts'

/** A thread that reads page files. */
export interface ReadingThread {
  post(request: ReadRequest): void
  /** Ends it; no answer comes any more. */
  end(): void
}

/** Starts a thread that reads the page files in `dir`. */
export type StartReading = (dir: string, onAnswer: (answer: ReadAnswer) => void) => ReadingThread

export const startWorker: StartReading = (dir, onAnswer) => {
  const url = new URL('./reader-worker.js', import.meta.url)
  const worker = new Worker(url, { workerData: dir })
  worker.unref()
  worker.on('message', onAnswer)
  worker.on('error', (error) => {
    throw error // a bug of ours: errors of the disk are results
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
  /** How many slabs the thread has. */
  #slabs = 0
  #lastId = 0
  readonly #pending = new Map<number, { count: number; done: (all: ReadResult[]) => void }>()

  constructor(dir: string, blocks: TextBlocks, start: StartReading = startWorker) {
    this.#start = () => start(dir, (answer) => this.#answered(answer))
    this.#blocks = blocks
  }

  /** Reads blocks into their slots. */
  read(reads: readonly BlockRead[], done: (results: readonly ReadResult[]) => void): void {
    this.#thread ??= this.#start()
    this.#lastId += 1
    this.#pending.set(this.#lastId, { count: reads.length, done })
    const slabs = this.#blocks.slabs.slice(this.#slabs)
    this.#slabs += slabs.length
    this.#thread.post({ id: this.#lastId, slabs, reads: this.#numbersOf(reads) })
  }

  close(): void {
    this.#pending.clear()
    this.#thread?.end()
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
