// A forum with its log and its checkpoints in a directory, on a clock that the test advances. The
// test does what timers do on a node: it runs the turns of expiry, and takes checkpoints.

import assert from 'node:assert/strict'
import pino from 'pino'
import { CheckpointSchedule } from '../../src/engine/storage/checkpoints.ts'
import { apply } from '../../src/forum/apply.ts'
import { type Forum, makeForum } from '../../src/forum/forum.ts'
import { decode } from '../../src/forum/records.ts'
import { State } from '../../src/forum/state.ts'
import type { ThreadExpiry } from '../../src/forum/threads/expiry.ts'
import { textStoreName } from '../../src/kernel/text/text.ts'
import { readPageNow } from '../../wal/checkpoint/page-source.ts'
import { type Disk, realDisk } from '../../wal/disk.ts'
import { type Journal, openJournal } from '../../wal/journal/journal.ts'
import { dayMs, type World } from '../forum/doubles.ts'
import { hashesOf } from '../forum/state-hash.ts'

export interface Store {
  forum: Forum
  journal: Journal
  checkpoints: CheckpointSchedule
}

interface StoreOptions {
  textBytesMax: number
  segmentBytes: number
  retentionDays?: number
  /** By default nothing is synced. */
  durability?: 'always' | 'none'
  disk?: Disk
}

/** Recovers the forum of this directory, which is made if it is not there. */
export async function open(
  dir: string,
  world: World,
  {
    textBytesMax,
    segmentBytes,
    retentionDays = 0,
    durability = 'none',
    disk = realDisk,
  }: StoreOptions,
): Promise<Store> {
  const config = { data: dir, checkpointMb: 0, scrubHours: 0, nodeLimits: { textBytesMax } }
  const checkpoints = new CheckpointSchedule(config, pino({ level: 'silent' }), { disk })
  let state = new State({ retentionMs: dayMs, seed: 7, textBytesMax })
  const fresh = () => {
    state = new State({ retentionMs: dayMs, seed: 7, textBytesMax })
    state.text.readPage = (place) => readPageNow({ disk, dir }, place)
    return state
  }
  fresh()
  const journal = await openJournal({
    dir,
    disk,
    segmentBytes,
    durability: { mode: durability },
    from: (storeId) => checkpoints.load(storeId, fresh, () => {}),
    onRecord: (position, row) => apply(state, position, decode(row)),
  })
  const forum = makeForum({ ...world.forum, state, journal, retentionDays })
  checkpoints.begin(journal, state)
  return { forum, journal, checkpoints }
}

/** Runs the turns of expiry until it has nothing to do, with pauses for other work. */
export async function expire(expiry: ThreadExpiry, eachTurn = () => {}): Promise<void> {
  for (let turns = 0; turns < 10_000; turns++) {
    if (expiry.turn() > 0) return
    eachTurn()
    if (turns % 20 === 19) await new Promise(setImmediate)
  }
  assert.fail('it ends')
}

/** Returns the hashes of the parts of the state, without its text: that may have been moved. */
export function hashesWithoutText({ state }: Forum): [name: string, hash: string][] {
  return Object.entries(hashesOf(state)).filter(([name]) => name !== textStoreName)
}
