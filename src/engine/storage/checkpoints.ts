// Schedules checkpoints. One is taken after `--checkpoint-mb` of log since the last one, when text
// that no checkpoint has saved fills half of `--text-memory-mb`, and at a clean stop if there is
// enough log to slow down the next start. wal/checkpoint/checkpoints.ts takes them; kernel/saved.ts
// declares what they save.
//
// T1. One checkpoint is taken at a time. After a failure the schedule waits at least a minute
//     before the next attempt.
// T2. After an erasure two are taken without waiting for more log. Then the erased text has left
//     the disk, unless a page file with it is damaged and could not be emptied. As long as the page
//     with the erased text cannot be read, one is taken each minute, which tries again, and one
//     more after it has succeeded. None are taken because of other damage in the file.
// T3. While a checkpoint is being written, it blocks the event loop for one slice at a time.

import type { Logger } from 'pino'
import { Checkpoints, keptCount, type Taken } from '../../../wal/checkpoint/checkpoints.ts'
import { type BadPage, type Manifest, pagesName } from '../../../wal/checkpoint/manifest.ts'
import { PageSource } from '../../../wal/checkpoint/page-source.ts'
import { type Disk, realDisk } from '../../../wal/disk.ts'
import { isOfSystem, JournalError, storageError } from '../../../wal/errors.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { inSlicesOf, type Pause } from '../../base/pauses.ts'
import type { Config } from '../../config/config.ts'
import type { State } from '../../forum/state.ts'
import { checkpointSource, checkpointTarget, stateVersion, storesOf } from '../../kernel/saved.ts'
import { eraseUnread } from '../../kernel/text/erasing.ts'
import { type Text, textStoreName } from '../../kernel/text/text.ts'
import { warmUp } from '../../kernel/text/warm-up.ts'
import { logNotices } from '../../operators/ops/log.ts'
import { CheckpointStats, type StartProgress, type Vitals } from '../../operators/ops/vitals.ts'
import { Scrub } from './scrub.ts'

const checkEveryMs = 1_000
const retryAfterMs = 60_000
const sliceMs = 1
/** Unsaved text below this size causes no checkpoint, however small `--text-memory-mb` is. */
const unsavedTextMin = 16 << 20
/** A log shorter than this is replayed faster than an operator would notice. */
const bytesAtStopMin = 1 << 20

export interface Erasure {
  /** The number of checkpoints still to be taken before the text has left the disk. */
  checkpoints_left: number
  /**
   * Whether the text is gone from all files of the log, the checkpoints and the search index, and
   * from the memory of every reader. A CheckpointSchedule covers only the log and the checkpoints.
   */
  is_gone: boolean
  takes_checkpoints: boolean
  /** The page files that may keep the text, because they could not be emptied: damage. */
  damaged: string[]
  /** Obstacles to checkpoints, one sentence each. */
  warnings: string[]
}

type CheckpointConfig = Pick<Config, 'data' | 'checkpointMb' | 'scrubHours'> & {
  nodeLimits: Pick<Config['nodeLimits'], 'textBytesMax'>
}

/** The schedule of a node that has recovered. */
interface Running {
  /** What checkpoints wait for, and what they save. */
  journal: Journal
  readonly state: State
  readonly removing: Promise<void>
  readonly warmingUp: Promise<void>
  readonly timer: NodeJS.Timeout | undefined
}

export class CheckpointSchedule {
  readonly stats = new CheckpointStats()
  /**
   * Both are called when a checkpoint has been taken: `onTaken` so that it can be uploaded,
   * `tellReaders` with its number and position.
   */
  onTaken: () => void = () => {}
  tellReaders: (number: number, position: number) => void = () => {}
  /** Reads the page files regularly, and repairs them. */
  readonly scrub: Scrub
  readonly directory: { disk: Disk; dir: string }
  /** Warnings about checkpoints; the next one that succeeds clears them. */
  #warnings: string[] = []
  readonly #checkpoints: Checkpoints
  readonly #log: Logger
  /** Bytes of log between two checkpoints; 0: none are taken. */
  readonly #everyBytes: number
  /**
   * The limit, in bytes, of text that no checkpoint has saved and that must therefore stay in
   * memory.
   */
  readonly #unsavedTextMax: number
  readonly #pause: Pause | undefined
  #running: Running | null = null
  /** Bytes of log that existed when the newest checkpoint began. */
  #bytesAtLast = 0
  #notBeforeMs = 0
  /** Resolves at the end of the checkpoint in progress; null: there is none. */
  #taking: Promise<void> | null = null
  #isStopped = false
  /** When text that was erased, and could not be read, is read again at the earliest. */
  #readAgainMs = 0

  constructor(
    { data: dir, checkpointMb, scrubHours, nodeLimits }: CheckpointConfig,
    log: Logger,
    { disk = realDisk, pause }: { disk?: Disk | undefined; pause?: Pause | undefined } = {},
  ) {
    this.#log = log
    this.#everyBytes = checkpointMb * 2 ** 20
    this.#unsavedTextMax = Math.max(unsavedTextMin, nodeLimits.textBytesMax / 2)
    this.#pause = pause
    this.directory = { disk, dir }
    const onNotice = logNotices(log)
    this.#checkpoints = new Checkpoints({ disk, dir, stateVersion, onNotice })
    const kept = () => this.#checkpoints.kept
    const renew = (pages: readonly BadPage[]) => this.#renew(pages)
    const moveOut = (file: number) => this.#moveOut(file)
    this.scrub = new Scrub({ disk, dir, hours: scrubHours, log, pause, kept, renew, moveOut })
  }

  get warnings(): string[] {
    return [...this.#warnings, ...this.#notEmptied.map(notEmptiedWarning), ...this.scrub.warnings]
  }

  /** The newest checkpoint; there must be one. */
  get newest(): Manifest {
    return this.#checkpoints.kept[0]
  }

  /** The newest checkpoint, or null. */
  get latest(): Manifest | null {
    return this.#checkpoints.kept[0] ?? null
  }

  /** Makes later checkpoints wait for this journal. */
  useJournal(journal: Journal): void {
    this.#running!.journal = journal
  }

  /**
   * Loads the newest good checkpoint into a state that `fresh` makes; resolves to its position, or
   * to 0 if there is none.
   */
  async load(
    storeId: string | null,
    fresh: () => State,
    onProgress: OnStartProgress,
  ): Promise<number> {
    const position = await this.#checkpoints.load(
      storeId,
      () => checkpointTarget(fresh(), (filled, of) => onProgress('indexes', filled, of)),
      (bytes, of) => onProgress('checkpoint', bytes, of),
    )
    this.stats.position = position
    this.#warnings = this.#checkpoints.bad.map(({ name, why }) => `${name} is put aside: ${why}`)
    return position
  }

  /** Starts the schedule. Called when the node has recovered. */
  begin(journal: Journal, state: State): void {
    this.#reportDamage(state.text)
    this.#checkpoints.finishStart()
    const removing = this.#removeLeftovers(journal)
    const warmingUp = this.#warmUp(state.text)
    const check = () => {
      const isDue =
        this.#bytesSince() >= this.#everyBytes ||
        state.text.unsavedBytes > this.#unsavedTextMax ||
        this.#isErasing
      if (isDue && performance.now() >= this.#notBeforeMs) this.take()
    }
    const timer = this.#everyBytes > 0 ? setInterval(check, checkEveryMs).unref() : undefined
    this.#running = { journal, state, removing, warmingUp, timer }
    this.scrub.begin(this.#checkpoints.rebuilt)
  }

  /**
   * Ends the schedule, and takes a last checkpoint if that makes the next start faster or an
   * erasure is not complete. The state must not change any more.
   */
  async stop(): Promise<void> {
    const { warmingUp, removing, timer } = this.#running!
    clearInterval(timer)
    this.#isStopped = true
    await Promise.all([warmingUp, removing])
    await this.scrub.stop()
    await this.#taking
    if (this.#everyBytes === 0 || this.#running!.journal.health === 'storage_failed') return
    if (this.#bytesSince() >= bytesAtStopMin || this.#isErasing) await this.take()
  }

  /** Takes a checkpoint now, or waits for the one that is being taken. */
  take(): Promise<void> {
    this.#taking ??= this.#takeOne().finally(() => {
      this.#taking = null
    })
    return this.#taking
  }

  /**
   * Rewrites these pages from memory by taking as many checkpoints as are kept, so that no kept one
   * needs the damaged copies. Resolves to the pages whose damaged copies are no longer needed:
   * never those that are not in memory, and none if a checkpoint fails.
   */
  async #renew(pages: readonly BadPage[]): Promise<readonly BadPage[]> {
    while (this.#taking !== null) await this.#taking
    const renewed = this.#checkpoints.renew(pages, storesOf(this.#running!.state))
    return renewed.length > 0 && (await this.#replaceAll()) ? renewed : []
  }

  /**
   * Moves all pages out of a page file; resolves to whether no kept checkpoint needs the file any
   * more.
   */
  async #moveOut(file: number): Promise<boolean> {
    while (this.#taking !== null) await this.#taking
    this.#checkpoints.moveOut(file)
    await this.#replaceAll()
    return this.#checkpoints.kept.every(({ files }) => !files.has(file))
  }

  /** Takes as many checkpoints as are kept; resolves to whether all have succeeded. */
  async #replaceAll(): Promise<boolean> {
    for (let n = 0; n < keptCount; n++) {
      const { taken } = this.stats
      await this.take()
      if (this.stats.taken === taken) return false
    }
    return true
  }

  #newPause(): Pause {
    return this.#pause ?? inSlicesOf(sliceMs)
  }

  /** Reports each damaged page to the scrub when an erasure reads it and finds it damaged. */
  #reportDamage(text: Text): void {
    const { readPage } = text
    text.readPage = (place, page) => {
      const content = readPage(place, page)
      if (content === null) void this.scrub.report({ store: textStoreName, page, ...place })
      return content
    }
  }

  async #warmUp(text: Text): Promise<void> {
    const begun = performance.now()
    const before = text.bytesInMemory
    await warmUp(text, {
      ...this.directory,
      pause: this.#newPause(),
      isStopped: () => this.#isStopped,
      onDamaged: (page, place) => void this.scrub.report({ store: textStoreName, page, ...place }),
    })
    const bytes = text.bytesInMemory - before
    if (bytes <= 0) return
    const seconds = Number(((performance.now() - begun) / 1000).toFixed(3))
    this.#log.info({ bytes, ofBytes: text.bytes, seconds }, 'text_in_memory')
  }

  erasure(position: number): Erasure {
    const { kept, hasLeftovers } = this.#checkpoints
    const newer = kept.filter((each) => each.position >= position)
    const checkpoints_left = keptCount - newer.length
    const damaged = this.#notEmptied
    return {
      checkpoints_left,
      is_gone: checkpoints_left === 0 && !hasLeftovers && damaged.length === 0,
      takes_checkpoints: this.#everyBytes > 0,
      damaged,
      warnings: this.#warnings,
    }
  }

  /** The names of the page files that had to be emptied because of an erasure, and were not. */
  get #notEmptied(): string[] {
    const files = new Set(this.#checkpoints.kept.flatMap(({ notEmptied }) => notEmptied))
    return Array.from(files, pagesName)
  }

  /** Whether the next checkpoint is needed so that erased text leaves the disk (T2). */
  get #isErasing(): boolean {
    const { erasedPosition, text } = this.#running!.state
    if (erasedPosition === 0) return false
    const { kept, hasLeftovers } = this.#checkpoints
    if (hasLeftovers || this.erasure(erasedPosition).checkpoints_left > 0) return true
    if (text.unread.length > 0) return performance.now() >= this.#readAgainMs
    return kept[0].notEmptied.length === 0 && this.#notEmptied.length > 0
  }

  #bytesSince(): number {
    const { bytes, replayedBytes } = this.#running!.journal.stats()
    return replayedBytes + bytes - this.#bytesAtLast
  }

  async #takeOne(): Promise<void> {
    const { journal, state, removing } = this.#running!
    const pause = this.#newPause()
    await removing
    const bytesBefore = this.#bytesSince() + this.#bytesAtLast
    const begunMs = performance.now()
    try {
      if (state.text.unread.length > 0) await this.#eraseUnread(state.text)
      if (state.text.unread.length > 0) this.#readAgainMs = performance.now() + retryAfterMs
      const taken = await this.#checkpoints.take({ journal, ...checkpointSource(state), pause })
      this.#bytesAtLast = bytesBefore
      this.#note(taken, begunMs)
      this.#noteLeftovers()
    } catch (error) {
      if (!(error instanceof JournalError)) throw error
      this.stats.failed += 1
      this.#warnings = [`the last checkpoint failed: ${error.message}`]
      this.#notBeforeMs = performance.now() + retryAfterMs
      this.#log.error({ why: error.message }, 'checkpoint_failed')
    }
  }

  async #eraseUnread(text: Text): Promise<void> {
    const source = new PageSource(this.directory, this.newest)
    try {
      await eraseUnread(text, async (place) => {
        const page = Buffer.allocUnsafeSlow(place.bytes)
        return (await source.read(place, page)) ? page : null
      })
    } catch (error) {
      throw isOfSystem(error)
        ? storageError(`read page files in ${this.directory.dir}`, error)
        : error
    } finally {
      await source.close()
    }
  }

  async #removeLeftovers(journal: Journal): Promise<void> {
    await this.#checkpoints.removeLeftovers(journal)
    this.#noteLeftovers()
  }

  #noteLeftovers(): void {
    if (!this.#checkpoints.hasLeftovers) return
    this.#warnings.push('the last checkpoint could not remove files that are no longer needed')
    this.#notBeforeMs = performance.now() + retryAfterMs
  }

  #note({ number, position, bytes, beginMs }: Taken, begunMs: number): void {
    const { stats } = this
    this.#warnings = []
    stats.taken += 1
    stats.position = position
    stats.bytes = bytes
    const doneMs = performance.now()
    stats.ageSeconds = () => (performance.now() - doneMs) / 1000
    stats.seconds = (doneMs - begunMs) / 1000
    stats.beginSeconds = beginMs / 1000
    const seconds = Number(stats.seconds.toFixed(3))
    this.#log.info({ number, position, bytes, seconds }, 'checkpoint_taken')
    this.onTaken()
    this.tellReaders(number, position)
  }
}

function notEmptiedWarning(file: string): string {
  return (
    `${file} may still have text that was erased, because it is damaged: restore a backup, and ` +
    'remove the message there'
  )
}

const logEveryMs = 2_000

/** Receives the progress of a start; cheap enough to be called for every megabyte. */
export type OnStartProgress = (step: StartProgress['step'], done: number, of: number) => void

/**
 * Returns a function that keeps track of the progress of a start: /readyz shows it, and a start
 * that takes long logs it every `everyMs`.
 */
export function startProgress(
  vitals: Pick<Vitals, 'start'>,
  log: Pick<Logger, 'info'>,
  everyMs = logEveryMs,
): OnStartProgress {
  let nextMs = performance.now() + everyMs
  return (step, done, of) => {
    vitals.start = { step, done, of }
    if (performance.now() < nextMs) return
    nextMs = performance.now() + everyMs
    log.info({ ...vitals.start }, 'starting')
  }
}
