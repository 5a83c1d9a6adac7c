// Schedules the scrubs of page files (wal/checkpoint/scrub.ts): the first pass begins a minute
// after the start, and then one every `--scrub-hours`. Files in which the start has found damage
// are repaired at once.
//
// S1. One pass runs at a time, at a limited rate: 4 MiB a second, or as much as it needs to finish
//     within half of the hours between two passes. A file in which a read has found damage is
//     scrubbed at once and at full speed.
// S2. A page that parity cannot repair is rewritten from memory, by as many checkpoints as it takes
//     until no kept one needs the damaged copy. When the device can no longer read or write a part
//     of a file, all pages of the file are moved to other files in the same way.

import type { Logger } from 'pino'
import { BadCheckpoint } from '../../../wal/checkpoint/checkpoint-reader.ts'
import {
  type BadPage,
  type Manifest,
  pagesName,
  parityName,
  placesOf,
} from '../../../wal/checkpoint/manifest.ts'
import { type Scrubbed, scrubFile } from '../../../wal/checkpoint/scrub.ts'
import type { Disk } from '../../../wal/disk.ts'
import { isOfSystem } from '../../../wal/errors.ts'
import { inSlicesOf, type Pause } from '../../base/pauses.ts'
import { ScrubStats } from '../../operators/ops/vitals.ts'

const firstAfterMs = 60_000
const hourMs = 3_600_000
const bytesPerMsMin = (4 * 2 ** 20) / 1000
const sliceMs = 1

interface PeriodicScrubOptions {
  disk: Disk
  dir: string
  /**
   * Hours between the beginnings of two passes; 0: only damage that a start or a read finds is
   * repaired.
   */
  hours: number
  log: Logger
  pause: Pause | undefined
  /** The manifests of the kept checkpoints, newest first. */
  kept: () => readonly Manifest[]
  /** Takes checkpoints that rewrite these pages. Resolves to the pages that were rewritten. */
  renew: (pages: readonly BadPage[]) => Promise<readonly BadPage[]>
  /**
   * Takes checkpoints that move all pages out of this file. Resolves to whether no kept checkpoint
   * needs the file any more.
   */
  moveOut: (file: number) => Promise<boolean>
}

class Stopped extends Error {}

function throwUnlessStopped(error: unknown): void {
  if (!(error instanceof Stopped)) throw error
}

export class Scrub {
  readonly stats = new ScrubStats()
  /** Warnings about damage that is not repaired yet, by the number of the page file. */
  readonly #damaged = new Map<number, string>()
  readonly #options: PeriodicScrubOptions
  readonly #pause: Pause
  #bytesPerMs = bytesPerMsMin
  #isStopped = false
  #running: Promise<void> = Promise.resolve()
  /**
   * The scrubs of reported files, which run one after the other, and the number of them that have
   * not ended.
   */
  #reported: Promise<void> = Promise.resolve()
  #urgent = 0
  /** The scrub in progress of each file: a file is scrubbed only once at a time. */
  readonly #scrubbing = new Map<number, Promise<unknown>>()
  /** Ends the current wait of the periodic pass at once. */
  #wake: () => void = () => {}

  constructor(options: PeriodicScrubOptions) {
    this.#options = options
    this.#pause = options.pause ?? inSlicesOf(sliceMs)
  }

  get warnings(): string[] {
    return [...this.#damaged.values()]
  }

  /**
   * Starts the schedule when the node has recovered. `rebuilt` are the pages that the start has
   * rebuilt in memory.
   */
  begin(rebuilt: readonly BadPage[]): void {
    const files = new Set(rebuilt.map(({ file }) => file))
    for (const file of files) {
      this.#addWarning(rebuilt.filter((page) => page.file === file))
    }
    this.#running = this.#run(files).catch(throwUnlessStopped)
  }

  /**
   * Reports a page that a read found damaged, and scrubs its file at once. Resolves to whether the
   * file is good afterwards.
   */
  report(page: BadPage): Promise<boolean> {
    const { file } = page
    if (!this.#damaged.has(file)) this.#addWarning([page])
    this.#urgent += 1
    this.#reported = this.#reported.then(async () => {
      await this.#pass([file]).catch(throwUnlessStopped)
      this.#urgent -= 1
    })
    return this.#reported.then(() => !this.#damaged.has(file))
  }

  /** Ends the schedule; resolves when no pass is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wake()
    await Promise.all([this.#running, this.#reported])
  }

  async #run(damaged: Iterable<number>): Promise<void> {
    const { hours } = this.#options
    let found = await this.#pass(damaged)
    if (hours === 0) return
    await this.#wait(Math.min(firstAfterMs, hours * hourMs))
    for (;;) {
      const begun = performance.now()
      const files = new Set(this.#options.kept().flatMap(({ files }) => [...files.keys()]))
      this.#bytesPerMs = Math.max(bytesPerMsMin, (2 * this.#bytes()) / (hours * hourMs))
      found += await this.#pass(files)
      const ended = performance.now()
      this.stats.ageSeconds = () => (performance.now() - ended) / 1000
      this.stats.found = found
      found = 0
      await this.#wait(Math.max(0, hours * hourMs - (performance.now() - begun)))
    }
  }

  #bytes(): number {
    const files = new Map(this.#options.kept().flatMap(({ files }) => [...files]))
    return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Scrubs the files; resolves to the number of damaged pages found. */
  async #pass(files: Iterable<number>): Promise<number> {
    let found = 0
    for (const file of files) {
      const manifests = this.#options.kept().filter((manifest) => manifest.files.has(file))
      if (manifests.length === 0) {
        this.#damaged.delete(file)
        continue // a checkpoint has removed it since
      }
      try {
        found += await this.#scrub(file, manifests)
      } catch (error) {
        if (!isOfSystem(error) && !(error instanceof BadCheckpoint)) throw error
        const why = (error as Error).message
        this.#options.log.warn({ file: pagesName(file), why }, 'scrub_failed')
      }
    }
    return found
  }

  async #scrub(file: number, manifests: readonly Manifest[]): Promise<number> {
    const { disk, dir, kept } = this.#options
    const pace = (bytes: number) => {
      this.stats.bytes += bytes
      return this.#wait(this.#urgent > 0 ? 0 : bytes / this.#bytesPerMs)
    }
    await this.#scrubbing.get(file)?.catch(() => {})
    const pause = this.#pause
    const scrubbing = scrubFile({ disk, dir }, manifests, file, { pause, pace })
    this.#scrubbing.set(file, scrubbing)
    const result = await scrubbing.finally(() => this.#scrubbing.delete(file))
    if (!kept().some(({ files }) => files.has(file))) {
      this.#damaged.delete(file)
      return 0
    }
    await this.#note(file, result)
    return result.mended.length + result.lost.length
  }

  async #note(file: number, { mended, lost, isWorn, newParity }: Scrubbed): Promise<void> {
    const { log, renew, moveOut } = this.#options
    for (const { offset, bytes } of mended) {
      log.warn({ file: pagesName(file), offset, bytes, by: 'parity' }, 'page_mended')
    }
    if (newParity) log.info({ file: parityName(file) }, 'parity_written')
    this.stats.byParity += mended.length
    if (lost.length === 0) {
      if (isWorn) {
        const what = 'the device cannot read or write a part of it'
        this.#damaged.set(file, `${pagesName(file)} must be replaced: ${what}`)
        if (!(await moveOut(file))) return
        log.warn({ file: pagesName(file), why: what }, 'page_file_replaced')
      }
      this.#damaged.delete(file)
      return
    }
    this.#addWarning(lost)
    const renewed = await renew(lost)
    for (const { offset, bytes } of renewed) {
      log.warn({ file: pagesName(file), offset, bytes, by: 'memory' }, 'page_mended')
    }
    this.stats.byMemory += renewed.length
    const left = lost.filter((page) => !renewed.includes(page))
    if (left.length === 0) this.#damaged.delete(file)
    else this.#addWarning(left)
  }

  #addWarning(pages: readonly BadPage[]): void {
    this.#damaged.set(pages[0].file, `damaged, and not repaired yet: ${placesOf(pages)}`)
  }

  /** Waits; rejects with Stopped once `stop` has been called. */
  async #wait(ms: number): Promise<void> {
    if (!this.#isStopped && ms > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        timer.unref()
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    if (this.#isStopped) throw new Stopped()
  }
}
