// The data directory of a small forum on a disk in memory, which the damage matrix damages, and a
// start on it, which returns the outcome.

import { apply } from '../../src/forum/apply.ts'
import { decode, encode, type ForumRecord } from '../../src/forum/records.ts'
import { State } from '../../src/forum/state.ts'
import { checkpointSource, checkpointTarget, stateVersion } from '../../src/kernel/saved.ts'
import { Checkpoints } from '../../wal/checkpoint/checkpoints.ts'
import { type Notice, openJournal } from '../../wal/journal/journal.ts'
import { dayMs } from '../forum/doubles.ts'
import { stateHash } from '../forum/state-hash.ts'
import { freeMemory, keepMemory, recycleMemory } from '../simulate/recycled-memory.ts'
import { turn } from '../wal/helpers.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'

export const dir = '/data'
const segmentBytes = 16 * 1024
const replies = 60

const newState = () => new State({ retentionMs: dayMs, seed: 7 })
const id = (n: number) => n.toString(16).padStart(32, '0')

/** Returns the `n`-th record of the forum's log, counted from 1; its text begins with `word`. */
function record(n: number, word = 'message'): ForumRecord {
  const at = 1000 + n
  if (n <= 2) {
    const who = { kind: 'persistent' as const, displayName: `agent ${n}`, expiresAt: 0, client: '' }
    const own = { id: id(n), tokenDigest: id(n), listed: false }
    return { type: 'identity.created', at, ...own, ...who }
  }
  const message = {
    at,
    by: n % 2,
    messageId: id(n),
    key: `key-${n}-key`,
    client: '',
    mentions: n % 4 === 0 ? [(n + 1) % 2] : [],
    messageType: n % 3 === 0 ? `type-${n}` : '',
  }
  const escapedContent = JSON.stringify(`${word} ${n} `.padEnd(450, 'é'))
  if (n === 3) {
    const thread = { title: 'Title', visibility: 'public' as const, participants: [] }
    return { type: 'thread.posted', id: id(n), ...thread, ...message, escapedContent }
  }
  return { type: 'reply.posted', thread: 0, ...message, escapedContent }
}

export interface Outcome {
  /** The hash of the state after the start, or null if the start was refused. */
  hash: string | null
  position: number
  error: unknown
  notices: Notice[]
}

/** Recovers from the disk as a node does, and closes the log. */
export async function start(disk: SimulatedDisk): Promise<Outcome> {
  recycleMemory()
  const notices: Notice[] = []
  const onNotice = (notice: Notice) => notices.push(notice)
  const checkpoints = new Checkpoints({ disk, dir, stateVersion, onNotice })
  let state!: State
  const fresh = () => {
    state = newState()
    return checkpointTarget(state)
  }
  try {
    const journal = await openJournal({
      dir,
      disk,
      segmentBytes,
      from: (storeId) => checkpoints.load(storeId, fresh),
      onRecord: (position, row) => apply(state, position, decode(row)),
      onNotice,
    })
    checkpoints.finishStart()
    const { position } = journal
    await journal.close()
    return { hash: stateHash(state), position, error: null, notices }
  } catch (error) {
    return { hash: null, position: 0, error, notices }
  } finally {
    keepMemory()
    freeMemory()
  }
}

export interface StoreOptions {
  seed: number
  /** The positions at which checkpoints are taken. */
  checkpointsAt?: readonly number[]
  /** Whether the node was stopped, which seals the log, or killed. */
  sealed: boolean
  /** The number of its last record. */
  to?: number
}

/** Makes a store of several segments, as a node leaves it behind. */
export async function smallStore(options: StoreOptions): Promise<SimulatedDisk> {
  return grownStore(new SimulatedDisk(options.seed), options)
}

/** Lets a node go on in a store without checkpoints; the texts of new records begin with `word`. */
export async function grownStore(
  disk: SimulatedDisk,
  { checkpointsAt, sealed, to = replies }: Omit<StoreOptions, 'seed'>,
  word?: string,
): Promise<SimulatedDisk> {
  const onNotice = () => {}
  const checkpoints = new Checkpoints({ disk, dir, stateVersion, onNotice })
  const state = newState()
  const onRecord = (position: number, row: unknown) => apply(state, position, decode(row))
  const journal = await openJournal({ dir, disk, segmentBytes, onRecord })
  for (let n = state.position + 1; n <= to; n++) {
    while (journal.health !== 'ok') await turn()
    const next = record(n, word)
    const position = journal.append(encode(next))
    apply(state, position, next)
    while (journal.durable < position) await turn()
    if (!checkpointsAt?.includes(n)) continue
    await checkpoints.take({ journal, ...checkpointSource(state), pause: () => null })
  }
  while (disk.pending > 0) await turn()
  if (!sealed) return disk.dieAlone()
  await journal.close()
  return disk
}

/** Returns the hash of the state at each position: that to which each prefix of the log folds. */
export function hashesByPosition(): string[] {
  const state = newState()
  const hashes = [stateHash(state)]
  for (let n = 1; n <= replies; n++) {
    apply(state, n, record(n))
    hashes.push(stateHash(state))
  }
  return hashes
}
