// The checkpoints of a directory: takes them, keeps two, and finds the newest good one at a start.
//
//   take: freeze ─▶ page files and their parity written, synced ─▶ log synced up to `position`
//         ─▶ manifest.tmp, synced ─▶ renamed, directory synced ─▶ read back
//         ─▶ files that no kept checkpoint needs are removed
//
// C1. A manifest has its name only when everything it names, and the log up to its position, is
//     durable.
// C2. Two are kept, and the log since the older one. Nothing is removed before the new one has been
//     read back and found as written. Files that could not be removed, or were not because of a
//     crash, are removed after the next start or checkpoint.
// C3. The manifest of a checkpoint that cannot be used is put aside, never removed, and only after
//     the start has succeeded without it: a start that is refused changes nothing. Its pages are
//     removed when no kept manifest names them. A page that was rebuilt is repaired in its file by
//     the scrub (scrub.ts), after the start.
// C4. A checkpoint that fails changes nothing; the next one has another number.
// C5. A checkpoint has a second page file, with the next number, when stores that need not hold all
//     their pages have pages to write (checkpoint-writer.ts).
// C6. A page that can neither be read nor rebuilt stays in its file, although the file is to be
//     emptied, until it has been read and what was erased in it is overwritten. If that is
//     because of an erasure, the manifest says so, and the file is emptied by the first later
//     checkpoint that can read it.

import path from 'node:path'
import { inSlicesOf, type Pause } from '../../src/base/pauses.ts'
import { type Disk, syncDirectory } from '../disk.ts'
import { isOfSystem, messageOf, storageError } from '../errors.ts'
import type { Journal, Notice } from '../journal/journal.ts'
import {
  type BadManifest,
  type CheckpointDirectory,
  findManifests,
  nextNumber,
  refuseWithoutLog,
  removeAttempt,
  removeUnfinished,
  removeUnneeded,
} from './checkpoint-files.ts'
import { BadCheckpoint, type ReadOptions, readPages, verifyPages } from './checkpoint-reader.ts'
import {
  freezeAll,
  numbersOf,
  rowPageBytes,
  type Written,
  writeCheckpoint,
} from './checkpoint-writer.ts'
import { filesOfErased, filesToEmpty } from './forgetting.ts'
import {
  type BadPage,
  beyondParity,
  type Manifest,
  manifestName,
  markBadDirty,
  pack,
  pagesName,
  unpackFacts,
  unpackRows,
} from './manifest.ts'
import {
  Bytes,
  type Filled,
  filesToRewrite,
  markFilesDirty,
  type Rows,
  type Stores,
} from './paged-store.ts'

/** The number of kept checkpoints (C2). */
export const keptCount = 2
const readSliceMs = 4

interface CheckpointsOptions {
  disk: Disk
  dir: string
  /** The version of the state that the caller reads and writes. */
  stateVersion: number
  onNotice: (notice: Notice) => void
}

/** The state that a checkpoint is loaded into; it is discarded with a checkpoint that is bad. */
export interface Target {
  stores: Stores
  rows: Rows
  /** Called when the stores are filled. */
  restore: (facts: unknown) => void | Promise<void>
}

/** The state that a checkpoint saves: the fold of the log, up to its last record. */
interface Source {
  journal: Pick<Journal, 'storeId' | 'position' | 'sync' | 'dropBefore'>
  /** Called at the instant whose state is saved. */
  facts: () => unknown
  stores: Stores
  rows: Rows
  pause: Pause
}

export interface Taken {
  number: number
  position: number
  /** Bytes of the pages that were written because they had changed. */
  bytes: number
  /** The milliseconds for which the checkpoint blocked the event loop when it began. */
  beginMs: number
}

export class Checkpoints {
  /** The checkpoints that cannot be used, and why. */
  readonly bad: BadManifest[] = []
  /** Pages that `load` rebuilt in memory; their files are unchanged. */
  rebuilt: readonly BadPage[] = []
  /** Whether files that no kept checkpoint needs are still there, or might be. */
  hasLeftovers = false
  readonly #options: CheckpointsOptions
  readonly #directory: CheckpointDirectory
  /** Newest first. */
  #kept: Manifest[] = []
  /** 0: not known yet. */
  #next = 0
  /** Page files that the next checkpoint empties: it uses none of their pages. */
  #emptied: ReadonlySet<number> = new Set()
  /** Page files to be emptied, because the device fails to read or write them. */
  readonly #failing = new Set<number>()
  /** Page files to be emptied, because they may have copies of erased pages (C6). */
  #mustEmpty: ReadonlySet<number> = new Set()

  constructor(options: CheckpointsOptions) {
    this.#options = options
    this.#directory = options
  }

  /** Newest first. */
  get kept(): readonly Manifest[] {
    return this.#kept
  }

  /** The position of the newest checkpoint; 0: there is none. */
  get position(): number {
    return this.#kept[0]?.position ?? 0
  }

  /**
   * Loads the newest good checkpoint into the target that `fresh` makes, and resolves to its
   * position, or to 0 if there is none. `fresh` may be called several times: only the target that
   * it made last counts, which is empty if there is no checkpoint. `storeId` is the log's; null:
   * there is no log. Rejects with JournalError 74 when the disk fails, 76 for another format, 77
   * for a checkpoint of another store. Changes no file. `onProgress` receives the bytes that are
   * read, and their total.
   */
  async load(
    storeId: string | null,
    fresh: () => Target,
    onProgress?: ReadOptions['onProgress'],
  ): Promise<number> {
    try {
      this.#next = nextNumber(this.#directory)
      const { stateVersion } = this.#options
      const { good, bad } = findManifests(this.#directory, { stateVersion, storeId })
      this.bad.push(...bad)
      while (good.length > 0) {
        if (await this.#fill(good[0], fresh(), onProgress)) break
        good.shift()
      }
      this.#kept = good.slice(0, keptCount)
      this.#mustEmpty = new Set(this.#kept[0]?.notEmptied)
    } catch (error) {
      throw isOfSystem(error)
        ? storageError(`read checkpoints in ${this.#directory.dir}`, error)
        : error
    }
    if (this.#kept.length > 0) return this.position
    if (this.bad.length > 0) refuseWithoutLog(this.#directory, this.bad)
    fresh()
    return 0
  }

  /**
   * Called when the start has succeeded: puts bad checkpoints aside, and removes unfinished files
   * that a crash left.
   */
  finishStart(): void {
    const { disk, dir } = this.#directory
    try {
      removeUnfinished(this.#directory)
      for (const { name, why } of this.bad) {
        disk.rename(path.join(dir, name), path.join(dir, `${name}.void`))
        const about = { checkpoint: name, why }
        this.#options.onNotice({ event: 'checkpoint_put_aside', level: 'warn', ...about })
      }
      for (const { file, offset } of this.rebuilt) {
        const place = { file: pagesName(file), offset }
        this.#options.onNotice({ event: 'page_rebuilt', level: 'warn', ...place })
      }
      syncDirectory(disk, dir)
    } catch (error) {
      throw storageError(`put checkpoints aside in ${dir}`, error)
    }
  }

  /**
   * Removes files that the last checkpoints before this start left behind. Must be awaited after
   * `finishStart` and before the first checkpoint; until then, files may be left.
   */
  async removeLeftovers(journal: Source['journal']): Promise<void> {
    if (this.#kept.length < keptCount) return // the next checkpoint removes them
    this.hasLeftovers = true
    await this.#removeUnneeded(journal)
  }

  /**
   * Takes a checkpoint of the state as it is now. If text was erased since the last one, it takes
   * the state as it is once all pages that may have copies of that text are marked. Rejects with
   * JournalError 74 when the disk fails or is full; then nothing has changed. One at a time.
   */
  async take({ journal, facts, stores, rows, pause }: Source): Promise<Taken> {
    const left = this.#kept[0]?.notEmptied ?? []
    if (left.length > 0) await this.#tryAgain(left, this.#kept[0], pause)
    // Text that is erased during `#empty` counts, too: nothing awaits after the last look.
    for (;;) {
      const newest = this.#kept[0]
      const erased = filesOfErased(newest, stores)
      this.#mustEmpty = new Set([...this.#mustEmpty, ...erased])
      const files = new Set([...this.#failing, ...erased])
      this.#failing.clear()
      if (files.size === 0 || newest === undefined) break
      await this.#empty(files, newest, stores, pause)
    }
    const begunMs = performance.now()
    const { position, storeId } = journal
    const { stateVersion } = this.#options
    if (this.#next === 0) this.#next = nextNumber(this.#directory)
    const number = this.#next
    const before = this.#kept[0]
    const frozen = freezeAll(stores, before?.tables ?? new Map())
    for (const source of rows.values()) source.freeze()
    const head = { number, storeId, position, stateVersion, facts: pack(facts()) }
    const [directory, emptied, mustEmpty] = [this.#directory, this.#emptied, this.#mustEmpty]
    const syncLog = () => journal.sync()
    const attempt = { directory, head, frozen, rows, before, emptied, mustEmpty, pause, syncLog }
    const numbers = numbersOf(attempt)
    this.#next += numbers.length
    let saved: Written | null = null
    try {
      const writing = writeCheckpoint(attempt)
      const beginMs = performance.now() - begunMs
      saved = await writing
      this.#kept = [saved.manifest, ...this.#kept].slice(0, keptCount)
      this.hasLeftovers = true
      return { number, position, bytes: saved.bytes, beginMs }
    } catch (error) {
      await removeAttempt(directory, number, numbers)
      const isNoBug = isOfSystem(error) || error instanceof BadCheckpoint
      throw isNoBug ? storageError(`take a checkpoint in ${directory.dir}`, error) : error
    } finally {
      for (const [name, { store }] of frozen) store.thaw(saved?.manifest.tables.get(name) ?? null)
      for (const source of rows.values()) source.thaw()
      if (saved !== null) {
        this.#emptied = new Set() // every page that could be read has left these
        this.#mustEmpty = new Set(saved.manifest.notEmptied)
        const files = filesToRewrite(saved.manifest.files, saved.live)
        for (const file of this.#mustEmpty) files.delete(file)
        await this.#empty(files, saved.manifest, stores, pause)
        await this.#removeUnneeded(journal)
      }
    }
  }

  async #fill(
    manifest: Manifest,
    { stores, rows, restore }: Target,
    onProgress: ReadOptions['onProgress'],
  ): Promise<boolean> {
    const packed = new Map(Array.from(rows.keys(), (name) => [name, new Bytes(rowPageBytes)]))
    try {
      const pause = inSlicesOf(readSliceMs)
      const filled = new Map<string, Filled>([...stores, ...packed])
      const options = { ...this.#directory, pause, onProgress }
      const { rebuilt, lost } = await readPages(manifest, filled, options)
      if (lost.length > 0) throw new BadCheckpoint(beyondParity(lost))
      this.rebuilt = rebuilt
    } catch (error) {
      if (!(error instanceof BadCheckpoint)) throw error
      this.bad.push({ name: manifestName(manifest.number), why: error.message })
      return false
    }
    for (const [name, source] of rows) source.fill(unpackRows(packed.get(name)!.bytes))
    await restore(unpackFacts(manifest.facts))
    return true
  }

  /**
   * Makes the next checkpoint rewrite these pages, which are damaged on disk, from memory. Returns
   * all of them except those that are not in memory. Must not be called while a checkpoint is being
   * taken.
   */
  renew(pages: readonly BadPage[], stores: Stores): BadPage[] {
    return markBadDirty(pages, this.#kept[0], stores)
  }

  /** Makes the next checkpoint move all pages out of a file. */
  moveOut(file: number): void {
    this.#failing.add(file)
  }

  /** Makes the next checkpoint empty the files that can be read again (C6). */
  async #tryAgain(files: readonly number[], newest: Manifest, pause: Pause): Promise<void> {
    for (const file of files) {
      try {
        const bad = await verifyPages(newest, file, { ...this.#directory, pause })
        if (bad.length === 0) this.moveOut(file)
      } catch (error) {
        if (!isOfSystem(error) && !(error instanceof BadCheckpoint)) throw error
      }
    }
  }

  /** Makes the next checkpoint move the pages of the newest one out of these files as well. */
  async #empty(
    files: ReadonlySet<number>,
    newest: Manifest,
    stores: Stores,
    pause: Pause,
  ): Promise<void> {
    this.#emptied = filesToEmpty(new Set([...this.#emptied, ...files]), newest, stores)
    await markFilesDirty(newest.tables, this.#emptied, stores, pause)
  }

  // Removal that fails now is retried after the next checkpoint.
  async #removeUnneeded(journal: Source['journal']): Promise<void> {
    const numbers = new Set(this.#kept.map(({ number }) => number))
    const pages = new Set(this.#kept.flatMap(({ files }) => [...files.keys()]))
    try {
      await removeUnneeded(this.#directory, numbers, pages)
      const older = this.#kept[keptCount - 1]
      if (older !== undefined) await journal.dropBefore(older.position)
      this.hasLeftovers = false
    } catch (error) {
      const why = messageOf(error)
      this.#options.onNotice({ event: 'checkpoint_leftovers', level: 'warn', why })
    }
  }
}
