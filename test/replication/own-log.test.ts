// A follower's own log: takes no more than it has room for, and lets other work pass.

import t from 'tap'
import { type FollowedJournal, OwnLog } from '../../src/replication/own-log.ts'
import { JournalError } from '../../wal/errors.ts'
import { eachEncoded } from '../../wal/journal/format.ts'
import type { Health } from '../../wal/journal/journal.ts'
import { turn, until } from '../wal/helpers.ts'

/** `count` records of `bytes` each, as they stand in a frame. */
function recordsOf(count: number, bytes: number): Buffer {
  const record = Buffer.alloc(4 + bytes, 1)
  record.writeUInt32LE(bytes)
  return Buffer.concat(Array.from({ length: count }, () => record))
}

/** A log that remembers the length of each run that it is given, and a state that does as well. */
function newLog() {
  const runs: number[] = []
  const applied: [number, number][] = []
  const journal = {
    health: 'ok' as Health,
    failure: null as JournalError | null,
    position: 0,
    appendEncoded(records: Uint8Array, count: number): number {
      if (!eachEncoded(records, count, () => {})) throw new Error('a run has whole records')
      runs.push(records.length)
      journal.position += count
      return journal.position
    },
  } satisfies FollowedJournal
  const receive = (first: number, count: number) => {
    if (journal.position !== first + count - 1) throw new Error('O1: in the log, then applied')
    applied.push([first, count])
    return true
  }
  return { runs, applied, journal, log: new OwnLog(journal, { receive }) }
}

t.test('own log: a long message: in runs, with turns for other work between them', async (t) => {
  const { log, runs, applied } = newLog()
  let turns = 0
  let isOver = false
  const count = async () => {
    for (; !isOver; turns++) await turn()
  }
  void count()
  await log.receive(1, 300, recordsOf(300, 1_000))
  isOver = true
  t.equal(
    runs.reduce((sum, length) => sum + length, 0),
    300 * 1_004,
  )
  t.ok(Math.max(...runs) <= 64 * 1024, `${runs}`)
  t.equal(
    applied.reduce((sum, [, n]) => sum + n, 0),
    300,
  )
  t.ok(turns >= runs.length - 1, `${turns} turns`)
})

t.test('own log: no room: waits until there is', async (t) => {
  const { log, runs, journal } = newLog()
  journal.health = 'overloaded'
  let isTaken = false
  const taking = log.receive(1, 2, recordsOf(2, 10)).then(() => {
    isTaken = true
  })
  await turn()
  log.moved()
  await turn()
  t.same([runs.length, isTaken], [0, false], 'it has moved, and there is still no room')
  journal.health = 'ok'
  log.moved()
  await taking
  t.equal(runs.length, 1)
})

t.test('own log: the disk was full and is not any more: goes on by itself', async (t) => {
  const { log, runs, journal } = newLog()
  journal.health = 'storage_full'
  const taking = log.receive(1, 2, recordsOf(2, 10))
  journal.health = 'ok'
  await taking
  t.equal(runs.length, 1)
})

t.test('own log: the storage has failed: rejects with its error', async (t) => {
  const { log, runs, journal } = newLog()
  journal.health = 'overloaded'
  let error: unknown = null
  log.receive(1, 2, recordsOf(2, 10)).catch((caught: unknown) => {
    error = caught
  })
  await turn()
  journal.health = 'storage_failed'
  journal.failure = new JournalError(74, 'cannot sync')
  log.moved()
  await until(() => error !== null)
  t.equal(error, journal.failure)
  t.equal(runs.length, 0)
})
