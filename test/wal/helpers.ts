// Helpers shared by the tests of the journal.

import { createHash } from 'node:crypto'
import type { OpenHow } from '../../wal/disk.ts'
import {
  type Journal,
  type JournalOptions,
  type Notice,
  openJournal,
} from '../../wal/journal/journal.ts'
import type { SimulatedDisk } from './simulated-disk.ts'

export const dir = '/data'
export const smallSegment = 16 * 1024

export interface Opened {
  journal: Journal
  /** The replayed records: the record at position n is at index n - 1 - `from`. */
  records: unknown[]
  positions: number[]
  notices: Notice[]
}

/** Opens the journal in `/data` with small segments, and collects its notices. */
export async function open(
  disk: SimulatedDisk,
  options: Partial<JournalOptions> = {},
): Promise<Opened> {
  const records: unknown[] = []
  const positions: number[] = []
  const notices: Notice[] = []
  const journal = await openJournal({
    dir,
    disk,
    segmentBytes: smallSegment,
    onRecord: (position, record) => {
      positions.push(position)
      records.push(record)
    },
    onNotice: (notice) => notices.push(notice),
    ...options,
  })
  return { journal, records, positions, notices }
}

/** Returns the files that are open, from now on, by the descriptor. */
export function openFiles(
  disk: SimulatedDisk,
): ReadonlyMap<number, { name: string; how: OpenHow }> {
  const files = new Map<number, { name: string; how: OpenHow }>()
  const [openFile, closeFile] = [disk.open.bind(disk), disk.close.bind(disk)]
  disk.open = (name, how) => {
    const file = openFile(name, how)
    files.set(file, { name, how })
    return file
  }
  disk.close = (file) => {
    files.delete(file)
    closeFile(file)
  }
  return files
}

/** Waits for one event-loop iteration, in which scheduled batches are written. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Longer than any test needs on a busy machine, even with a real disk. */
const patienceMs = 60_000

/** Waits for iterations until `condition` holds. Fails if it does not hold within a minute. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + patienceMs
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`waited in vain for ${condition}`)
    await turn()
  }
}

/** Appends each record in a batch of its own and waits until it is durable. */
export async function appendEach(journal: Journal, records: unknown[]): Promise<void> {
  for (const record of records) {
    await until(() => journal.health === 'ok')
    const position = journal.append(record)
    await until(() => journal.durable >= position)
  }
}

/** Closes the journal, and meanwhile completes its background operations. */
export async function closeByHand(disk: SimulatedDisk, journal: Journal): Promise<void> {
  let closed = false
  const closing = journal.close().then(() => {
    closed = true
  })
  while (!closed) {
    if (disk.pending > 0) disk.completeOne()
    await turn()
  }
  await closing
}

/** Returns the SHA-256 of the names and contents of all files, in hex. */
export function digestOf(disk: SimulatedDisk): string {
  const hash = createHash('sha256')
  for (const [name, bytes] of [...disk.contents()].sort()) {
    hash.update(`${name} ${bytes.length}\n`).update(bytes)
  }
  return hash.digest('hex')
}
