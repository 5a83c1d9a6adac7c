// Reads whole segments into one buffer, and yields to the event loop regularly, so that a server
// can answer "starting" meanwhile.

import { type Disk, readFully } from '../disk.ts'
import { storageError } from '../errors.ts'
import type { SegmentFile } from './segments.ts'

const pieceBytes = 1024 * 1024
const sliceMs = 4

export class SegmentReader {
  readonly #disk: Disk
  readonly #files: SegmentFile[]
  readonly #onProgress: (done: number, total: number) => void
  /** Bytes of the log before each segment, and in all. */
  readonly #starts: number[] = [0]
  #buffer: Buffer = Buffer.alloc(0)
  #sliceStartMs = performance.now()

  constructor(
    disk: Disk,
    files: SegmentFile[],
    onProgress: (done: number, total: number) => void = () => {},
  ) {
    this.#disk = disk
    this.#files = files
    this.#onProgress = onProgress
    for (const { size } of files) this.#starts.push(this.#starts.at(-1)! + size)
  }

  /** All bytes of a segment, valid until the next call. */
  async load(index: number): Promise<Buffer> {
    const { path, size } = this.#files[index]
    if (this.#buffer.length < size) this.#buffer = Buffer.allocUnsafeSlow(size)
    const bytes = this.#buffer.subarray(0, size)
    let file = -1
    try {
      file = this.#disk.open(path, 'read')
      for (let at = 0; at < size; at += pieceBytes) {
        const piece = bytes.subarray(at, Math.min(size, at + pieceBytes))
        piece.fill(0, readFully(this.#disk, file, piece, at))
        if (this.isDue()) await this.breathe()
      }
    } catch (error) {
      throw storageError(`read ${path}`, error)
    } finally {
      if (file >= 0) this.#disk.close(file)
    }
    return bytes
  }

  /** Nothing is loaded any more: overwrites what was, as text in it may be erased one day. */
  wipe(): void {
    this.#buffer.fill(0)
  }

  isDue(): boolean {
    return performance.now() - this.#sliceStartMs > sliceMs
  }

  async breathe(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#sliceStartMs = performance.now()
  }

  /** Reports what is before byte `at` of the segment as done. */
  noteDone(index: number, at: number): void {
    this.#onProgress(this.#starts[index] + at, this.#starts.at(-1)!)
  }
}
