// Goal:   a start finds its place in the common history, and does nothing that cannot be undone
//         because a server answered late.
// Method: a stream in memory that shows an older end for a while, and a log on the real disk.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import t, { type Test } from 'tap'
import { HistoryPlace } from '../../src/node/history-place.ts'
import type { StreamMessage } from '../../src/replication/log-stream.ts'
import { realDisk } from '../../wal/disk.ts'
import { type Journal, openJournal } from '../../wal/journal/journal.ts'
import { MemoryStream } from '../replication/memory-stream.ts'

const log = pino({ level: 'silent' })
const none = new Uint8Array()

/** A stream whose end is older than the truth in the first answers. */
class LateStream extends MemoryStream {
  lateAnswers = 0

  override async last(): Promise<StreamMessage | null> {
    if (this.lateAnswers-- > 0) return this.at(this.messages.length - 1)
    return super.last()
  }
}

/** A stream of two messages of term 1, positions 1 to 4. */
async function newStream(): Promise<LateStream> {
  const stream = new LateStream()
  await stream.publish({ first: 1, last: 2, term: 1, bytes: none }, 0)
  await stream.publish({ first: 3, last: 4, term: 1, bytes: none }, 1)
  return stream
}

async function logOf(t: Test, records: number): Promise<{ dir: string; journal: Journal }> {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-place-'))
  const journal = await openJournal({ dir, segmentBytes: 1 << 20, onRecord: () => {} })
  while (journal.health !== 'ok') await new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < records; n++) journal.append(`record ${n}`)
  await journal.sync()
  t.teardown(async () => {
    await journal.close()
    rmSync(dir, { recursive: true })
  })
  return { dir, journal }
}

function placeOf(stream: LateStream, dir: string, patienceMs: number): HistoryPlace {
  const place = { disk: realDisk, dir }
  const about = { node: 'this', leads: false, secret: '', isStopped: () => false }
  return new HistoryPlace({ stream, place, ...about, log, patienceMs })
}

const term = (node: string, number = 1) => ({ number, began: 1, node, mode: 'acked', nonce: '' })

t.test('place: a follower is ahead of a late answer: it asks again, and goes on', async (t) => {
  const stream = await newStream()
  const { dir, journal } = await logOf(t, 4)
  stream.lateAnswers = 2
  const next = await placeOf(stream, dir, 60_000).agree(journal, term('leader'))
  t.same(next, { sequence: 3, end: 4 })
})

t.test('place: a follower stays ahead: refused with 77, nothing is changed', async (t) => {
  const stream = await newStream()
  const { dir, journal } = await logOf(t, 6)
  const refused = { exitCode: 77, message: /ends at position 6 of term 1, .* has lost/ }
  await t.rejects(placeOf(stream, dir, 0).agree(journal, term('leader')), refused)
  const names = readdirSync(dir)
  t.ok(names.includes('0000000001.wal'))
  t.notOk(names.some((name) => name.includes('.replaced') || name.startsWith('clear-log')))
})

t.test('place: a leader returns with an end of its own: it is published', async (t) => {
  const stream = await newStream()
  const { dir, journal } = await logOf(t, 6)
  const next = await placeOf(stream, dir, 0).agree(journal, term('this'))
  t.same(next, { sequence: 4, end: 6 })
  t.match(stream.messages[2], { first: 5, last: 6, term: 1 })
})

t.test('place: another term began before the end: the tail is put aside', async (t) => {
  const stream = await newStream()
  const { dir, journal } = await logOf(t, 6)
  await stream.publish({ first: 5, last: 5, term: 2, bytes: none }, 2)
  await t.rejects(placeOf(stream, dir, 0).agree(journal, term('this')), {
    message: /from position 5 on/,
  })
  t.ok(readdirSync(dir).includes('5-6.wal.replaced'))
})

t.test('place: what goes on is trimmed: a log of its own term is kept', async (t) => {
  const stream = await newStream()
  const { dir, journal } = await logOf(t, 1)
  await stream.publish({ first: 5, last: 9, term: 1, bytes: none }, 2)
  await stream.trim(3)
  await t.rejects(placeOf(stream, dir, 0).agree(journal, term('this')), {
    message: /goes on behind position 1/,
  })
  t.ok(readdirSync(dir).includes('clear-log.keep'))
})
