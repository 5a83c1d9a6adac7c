// The worker thread that reads blocks of text into shared memory, and checks them (node/reader.ts).
//
// Files stay open between reads. Those that were not used for a while are closed, so that the space
// of a file that a checkpoint has removed is free soon.

import { closeSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { pagesName } from '../../wal/checkpoint/manifest.ts'
import type { ReadResult } from './block-loads.ts'
import {
  numbersOfRead,
  resultOf,
  resultOfError,
  type WorkerAnswer,
  type WorkerOptions,
  type WorkerRequest,
} from './reader.ts'

const closeEveryMs = 5_000
const filesMax = 64

const { dir } = workerData as WorkerOptions
const slabs: SharedArrayBuffer[] = []
/** Descriptors by the numbers of files, in the order in which they were opened. */
const files = new Map<number, number>()
let used = new Set<number>()

parentPort!.on('message', ({ id, slabs: added, reads }: WorkerRequest) => {
  slabs.push(...added)
  const results: ReadResult[] = []
  for (let i = 0; i < reads.length; i += numbersOfRead) {
    const [file, offset, bytes, crc, slab, at] = reads.subarray(i, i + numbersOfRead)
    results.push(read(file, offset, new Uint8Array(slabs[slab], at, bytes), crc))
  }
  const isAllGood = results.every(({ kind }) => kind === 'good')
  const answer: WorkerAnswer = { id, results: isAllGood ? null : results }
  parentPort!.postMessage(answer)
})

setInterval(() => {
  for (const file of files.keys()) if (!used.has(file)) close(file)
  used = new Set()
}, closeEveryMs)

function read(file: number, offset: number, into: Uint8Array, crc: number): ReadResult {
  try {
    const descriptor = fileOf(file)
    let done = 0
    while (done < into.length) {
      const count = readSync(descriptor, into, done, into.length - done, offset + done)
      if (count === 0) break
      done += count
    }
    return resultOf(done, into, crc)
  } catch (error) {
    return resultOfError(error)
  }
}

function fileOf(file: number): number {
  used.add(file)
  const open = files.get(file)
  if (open !== undefined) return open
  const [oldest] = files.keys()
  if (files.size === filesMax) close(oldest)
  const descriptor = openSync(path.join(dir, pagesName(file)), 'r')
  files.set(file, descriptor)
  return descriptor
}

function close(file: number): void {
  closeSync(files.get(file)!)
  files.delete(file)
}
