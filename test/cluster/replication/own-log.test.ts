// A follower's own log: it accepts no more than it has room for, and yields to other work.

import { Packr } from 'msgpackr'
import t from 'tap'
import { type FollowedJournal, OwnLog } from '../../../src/cluster/replication/following.ts'
import { encode } from '../../../src/forum/records.ts'
import { JournalError } from '../../../wal/errors.ts'
import { eachEncoded } from '../../../wal/journal/format.ts'
import type { Health } from '../../../wal/journal/journal.ts'
import { turn, until } from '../../wal/helpers.ts'
import { Pair } from './follower-pair.ts'

/** Returns `count` records of `bytes` each, as encoded in a frame. */
function recordsOf(count: number, bytes: number): Buffer {
  const record = Buffer.alloc(4 + bytes, 1)
  record.writeUInt32LE(bytes)
  return Buffer.concat(Array.from({ length: count }, () => record))
}

/** Returns the record that erases this message, as encoded in a frame. */
function erasureOf(message: number): Buffer {
  return framed(encode({ type: 'message.erased', at: 1, message, reason: '' }))
}

/** Returns the record that erases the newest messages of this thread. */
function threadErasureOf(thread: number): Buffer {
  return framed(encode({ type: 'thread.erased', at: 1, thread, messages: 1 }))
}

/** Returns a record as encoded in a frame. */
function framed(row: unknown[]): Buffer {
  const packed = new Packr({ useRecords: false }).pack(row)
  const bytes = Buffer.alloc(4 + packed.length)
  bytes.writeUInt32LE(packed.length)
  packed.copy(bytes, 4)
  return bytes
}

/**
 * Makes a log that remembers the length of each run that it is given, with a state that records the
 * applied ranges.
 */
function newLog() {
  const runs: number[] = []
  const applied: [number, number][] = []
  const journal = {
    health: 'ok' as Health,
    failure: null as JournalError | null,
    position: 0,
    hasSpare: true as boolean,
    /** The positions of the records from which the next record was separated. */
    separated: [] as number[],
    separate(position: number): boolean {
      if (journal.hasSpare) journal.separated.push(position)
      return journal.hasSpare
    },
    appendEncoded(records: Uint8Array, count: number): number {
      if (!eachEncoded(records, count, () => {})) throw new Error('a run has whole records')
      runs.push(records.length)
      journal.position += count
      return journal.position
    },
  } satisfies FollowedJournal & { hasSpare: boolean; separated: number[] }
  const threads = { message: (thread: number, i: number) => 10 * thread + i, messageCount: () => 3 }
  const messages = { seq: (message: number) => message + 100 }
  const state = { messages, threads, text: { isFrozen: false } }
  const receive = (first: number, count: number, _: Uint8Array, append = () => {}) => {
    append()
    if (journal.position !== first + count - 1) throw new Error('O1: in the log, then applied')
    applied.push([first, count])
    return true
  }
  return { runs, applied, journal, state, log: new OwnLog(journal, { receive }, state) }
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

t.test('own log: stopped while the disk is full: ends, and keeps what it has', async (t) => {
  const { log, journal, runs } = newLog()
  journal.health = 'storage_full'
  const receiving = log.receive(1, 3, recordsOf(3, 100))
  await turn()
  log.stop()
  await t.rejects(receiving, /stopped without room/)
  t.same(runs, [])
  journal.health = 'ok'
  await log.receive(1, 3, recordsOf(3, 100))
  t.equal(journal.position, 3, 'what there is room for is taken')
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

t.test(
  'own log: an erasure: alone, in a segment behind the message, with no checkpoint',
  async (t) => {
    const { log, applied, journal, state } = newLog()
    state.text.isFrozen = true
    journal.hasSpare = false
    const erasures = [erasureOf(7), recordsOf(2, 10), erasureOf(8), threadErasureOf(2)]
    const records = Buffer.concat([recordsOf(2, 10), ...erasures, recordsOf(1, 10)])
    const taking = log.receive(1, 8, records)
    await until(() => applied.length === 1)
    t.same(applied, [[1, 2]], 'what is before it')
    for (const isFrozen of [true, false]) {
      state.text.isFrozen = isFrozen
      log.moved()
      await turn()
      t.equal(applied.length, 1, isFrozen ? 'a checkpoint is being written' : 'no segment is ready')
    }
    t.same(journal.separated, [])
    journal.hasSpare = true
    log.moved()
    await taking
    t.same(applied.slice(1), [
      [3, 1],
      [4, 2],
      [6, 1],
      [7, 1],
      [8, 1],
    ])
    t.same(journal.separated, [107, 108, 122])
  },
)

t.test('own log: O1: a record of a newer version: nothing of its run is appended', async (t) => {
  const { journal, runs, state } = newLog()
  const { role } = new Pair()
  const log = new OwnLog(journal, role, state)
  const row = encode({ type: 'leader.began', at: 1, term: 1, node: 'a', nonce: 'n' })
  const [code, version, ...rest] = row as [number, number]
  for (const newer of [
    [code, version + 1, ...rest],
    [127, 1, 1],
  ]) {
    const records = Buffer.concat([framed(row), framed(newer)])
    await t.rejects(log.receive(1, 2, records), { exitCode: 76, message: /newer agent-forum/ })
    t.same([runs, role.position], [[], 0], 'the next start finds a log that it can read')
  }
  await log.receive(1, 1, framed(row))
  t.same([runs.length, role.position], [1, 1])
})
