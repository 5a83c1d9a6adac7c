// The thread's half of the reader of text (reader.ts): reads the blocks of a request from page
// files into shared memory, and checks them. In the product it runs in a worker (reader-worker.ts),
// in simulations beside the event loop, on a simulated disk.
//
// Files stay open between reads. Those that were not used for a while are closed, so that the space
// of a file that a checkpoint has removed is free soon.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import { pagesName } from '../../wal/checkpoint/manifest.ts'
import { type Disk, readFully } from '../../wal/disk.ts'
import { codeOf, isUnreadable, messageOf } from '../../wal/errors.ts'
import type { ReadResult } from './block-loads.ts'

const closeEveryMs = 5_000
const filesMax = 64

/** To the thread. */
export interface ReadRequest {
  id: number
  /** Slabs that the thread does not have yet: they follow those that it has. */
  slabs: SharedArrayBuffer[]
  /**
   * Of each block where it lies on disk, and where in shared memory it belongs: file, offset,
   * bytes, crc, slab and offset in it. Objects would take ten times as long to send.
   */
  reads: Float64Array
}

/** How many numbers describe one read. */
export const numbersOfRead = 6

/** From the thread. `results` null: all are good. */
export interface ReadAnswer {
  id: number
  results: ReadResult[] | null
}

export const good: ReadResult = { kind: 'good', why: '' }

export class PageReads {
  readonly #disk: Disk
  readonly #dir: string
  readonly #slabs: SharedArrayBuffer[] = []
  /** Descriptors by the numbers of files, in the order in which they were opened. */
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
      if (read < into.length) return { kind: 'damaged', why: 'the file ends before its end' }
      return crc32(into) === crc ? good : { kind: 'damaged', why: 'its crc is wrong' }
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
