// The smallest program that uses a journal and its checkpoints: its state is the values of its
// records in order, their sum, and a few numbers that change all the time.

import type { Pause } from '../../src/base/pauses.ts'
import { Checkpoints } from '../../wal/checkpoint/checkpoints.ts'
import {
  type Journal,
  type JournalOptions,
  type Notice,
  openJournal,
} from '../../wal/journal/journal.ts'
import { dir, smallSegment } from './helpers.ts'
import { MemoryStore } from './memory-store.ts'
import type { SimulatedDisk } from './simulated-disk.ts'

const pageBytes = 256
const busyValues = 100

export interface Row {
  value: number
  /** Padding that only makes the log longer. */
  text: string
}

export class Fold {
  readonly values = new MemoryStore(pageBytes)
  readonly busy = new MemoryStore(pageBytes)
  sum = 0
  position = 0

  constructor() {
    for (let n = 0; n < busyValues; n++) this.busy.push(0)
  }

  apply(position: number, { value }: Row): void {
    if (position !== this.position + 1) throw new Error(`${position} after ${this.position}`)
    this.position = position
    this.sum += value
    this.values.push(value)
    this.busy.set(position % busyValues, value)
  }

  get stores() {
    return new Map(Object.entries({ values: this.values, busy: this.busy }))
  }

  get facts() {
    return [this.position, this.sum]
  }

  restore(facts: unknown): void {
    ;[this.position, this.sum] = facts as [number, number]
    this.values.filled()
    this.busy.filled()
  }

  /** Throws unless the state is the fold of this log. */
  compare(log: readonly Row[]): void {
    const wanted = new Fold()
    for (const [i, row] of log.entries()) wanted.apply(i + 1, row)
    if (this.position !== log.length) throw new Error(`${this.position}, not ${log.length} records`)
    if (!this.values.bytes.equals(wanted.values.bytes)) throw new Error('other values')
    if (!this.busy.bytes.equals(wanted.busy.bytes)) throw new Error('other busy values')
    if (this.sum !== wanted.sum) throw new Error('another sum')
  }
}

export interface Folding {
  journal: Journal
  checkpoints: Checkpoints
  fold: Fold
  /** The position of the checkpoint with which the program started. */
  from: number
  notices: Notice[]
  append(value: number, length?: number): number
  take(pause?: Pause): Promise<{ position: number; bytes: number }>
}

/** Starts the program on this disk. */
export async function startFolding(
  disk: SimulatedDisk,
  options: Partial<JournalOptions> = {},
): Promise<Folding> {
  const notices: Notice[] = []
  const onNotice = (notice: Notice) => notices.push(notice)
  const checkpoints = new Checkpoints({ disk, dir, stateVersion: 1, onNotice })
  let fold = new Fold()
  let from = 0
  const fresh = () => {
    fold = new Fold()
    const { stores } = fold
    fold.busy.bytes = Buffer.alloc(0)
    const restore = (facts: unknown) => fold.restore(facts)
    return { stores, rows: new Map(), restore }
  }
  const journal = await openJournal({
    dir,
    disk,
    segmentBytes: smallSegment,
    onNotice,
    onRecord: (position, record) => fold.apply(position, record as Row),
    from: async (storeId) => {
      from = await checkpoints.load(storeId, fresh)
      if (from === 0) fold = new Fold()
      return from
    },
    ...options,
  })
  checkpoints.finishStart()
  const append = (value: number, length = 0) => {
    const row = { value, text: 'x'.repeat(length) }
    const position = journal.append(row)
    fold.apply(position, row)
    return position
  }
  const take = (pause: Pause = () => null) =>
    checkpoints.take({
      journal,
      facts: () => fold.facts,
      stores: fold.stores,
      rows: new Map(),
      pause,
    })
  return { journal, checkpoints, fold, from, notices, append, take }
}
