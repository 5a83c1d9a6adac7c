// The next segment, made in the background while the current one fills.
//
//   making ──made──▶ ready ──take──▶ taken ──synced──▶ making (the next)
//     │ ▲
//     │ └─ a second later ─┐
//     └──── no space ──▶ no_space
//
// P1. A segment exists only when the header of the previous one is synced. So after any crash, at
//     most one segment follows the last one that has a good header.

import assert from 'node:assert/strict'
import type { Disk } from '../disk.ts'
import { isLackOfSpace, messageOf } from '../errors.ts'
import { makeSpare, openForSyncs, segmentName, segmentPath } from './segments.ts'
import type { Notice } from './types.ts'

const retryMs = 1000

export interface SpareOptions {
  disk: Disk
  dir: string
  segmentBytes: number
  onNotice: (notice: Notice) => void
  /** Called when the disk failed for a reason other than a lack of space. */
  onFailed: (error: unknown) => void
}

export type SpareState = 'making' | 'ready' | 'taken' | 'no_space'

export class Spare {
  readonly #options: SpareOptions
  #state: SpareState = 'making'
  #whyNot = ''
  #files: readonly number[] = []
  #next = 0
  #takenAt = 0
  #stopped = false
  #making: Promise<void> = Promise.resolve()
  #retry: NodeJS.Timeout | null = null

  /** `found`: the segment exists already, filled with zeros. */
  constructor(number: number, found: boolean, options: SpareOptions) {
    this.#options = options
    if (found) {
      this.#files = openForSyncs(options.disk, segmentPath(options.dir, number))
      this.#state = 'ready'
    } else {
      this.#make(number)
    }
  }

  get state(): SpareState {
    return this.#state
  }

  get warnings(): string[] {
    return this.#state === 'no_space' ? [`storage: the next segment: ${this.#whyNot}`] : []
  }

  /**
   * Hands over the open files of a segment that continues after `position`. Segment `next` is made
   * when a later position is synced.
   */
  take(next: number, position: number): readonly number[] {
    assert(this.#state === 'ready')
    const files = this.#files
    this.#files = []
    this.#state = 'taken'
    this.#next = next
    this.#takenAt = position
    return files
  }

  /** Called when the log is synced up to `position`: makes the next segment when P1 allows it. */
  onSynced(position: number): void {
    if (this.#state !== 'taken' || position <= this.#takenAt) return
    this.#state = 'making'
    this.#make(this.#next)
  }

  /** Stops making segments; resolves when no write is in progress any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    await this.#making
    for (const file of this.#files) this.#options.disk.close(file)
    this.#files = []
  }

  #make(number: number): void {
    const { disk, dir, segmentBytes } = this.#options
    this.#making = makeSpare(disk, dir, number, segmentBytes, () => this.#stopped).then(
      (files) => this.#made(number, files),
      (error) => this.#notMade(number, error),
    )
  }

  #made(number: number, files: readonly number[] | null): void {
    if (files === null) return
    if (this.#state === 'no_space') {
      this.#options.onNotice({ event: 'storage_available', segment: segmentName(number) })
    }
    this.#files = files
    this.#state = 'ready'
  }

  #notMade(number: number, error: unknown): void {
    if (this.#stopped) return
    if (!isLackOfSpace(error)) {
      this.#options.onFailed(error)
      return
    }
    const why = messageOf(error)
    if (this.#state === 'making') {
      const notice = { event: 'storage_full', segment: segmentName(number), why }
      this.#options.onNotice({ ...notice, level: 'warn' })
    }
    this.#state = 'no_space'
    this.#whyNot = why
    this.#retry = setTimeout(() => this.#make(number), retryMs).unref()
  }
}
