// The journal of a leader: which records it calls durable, when it refuses, and how it fails.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { beginTerm } from '../../../src/cluster/replication/lead.ts'
import { ReplicatedJournal } from '../../../src/cluster/replication/replicated-journal.ts'
import { openJournal } from '../../../wal/journal/journal.ts'
import { inTime, until } from '../../until.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { SimulatedEngine } from './simulated-engine.ts'
import { SimulatedStream } from './simulated-stream.ts'

/** Returns a leading journal on a real disk, and the engine, whose steps a timer completes. */
async function leading(t: Test, lagBytesMax = 1 << 20) {
  const dir = mkdtempSync(join(tmpdir(), 'agent-forum-leader-'))
  const local = await openJournal({ dir, onRecord: () => {}, segmentBytes: 1 << 16 })
  const engine = new SimulatedEngine(seededRandom(1))
  const stream = new SimulatedStream(engine)
  const work = setInterval(() => engine.completeOne(), 1)
  const end = { position: 0, term: 0, nonce: '', store: local.storeId }
  const {
    record: { term },
    name,
    message,
  } = (await beginTerm(stream, { node: 'a', end, isFirst: true, at: 1 }))!
  local.appendEncoded(message.bytes, 1)
  const { sequence } = message
  await local.sync()
  const journal = new ReplicatedJournal({
    ...{ local, stream, term, name, sequence, lagBytesMax },
  })
  const durable: number[] = []
  const failures: number[] = []
  journal.onDurable = (position) => durable.push(position)
  journal.onFailed = ({ exitCode }) => failures.push(exitCode)
  t.teardown(async () => {
    await inTime('the close', journal.close())
    clearInterval(work)
    rmSync(dir, { recursive: true })
  })
  return { local, engine, journal, durable, failures, nonce: name.nonce }
}

t.test('synced here, not yet there: not durable, and sync waits', async (t) => {
  const { local, engine, journal, durable } = await leading(t)
  engine.isAvailable = false
  let isSynced = false
  t.equal(journal.append(['one']), 2)
  const syncing = journal.sync().then(() => (isSynced = true))
  await until('the sync here', () => local.durable === 2)
  t.same([journal.durable, durable, isSynced], [1, [], false])
  engine.isAvailable = true
  await syncing
  t.same([journal.durable, durable], [2, [2]])
  t.equal(engine.message(2)!.last, 2)
})

t.test('what the stream lacks: more than the limit: overloaded until it has it', async (t) => {
  const { engine, journal } = await leading(t, 100)
  engine.isAvailable = false
  journal.append(['one'])
  await until('the frame', () => journal.written === 2)
  t.equal(journal.health, 'ok')
  journal.append(['x'.repeat(100)])
  await until('the next frame', () => journal.written === 3)
  t.equal(journal.health, 'overloaded', 'the lag is bounded')
  engine.isAvailable = true
  await journal.sync()
  await until('the rest', () => journal.health === 'ok')
})

t.test('another node leads: nothing becomes durable, the code is 78', async (t) => {
  const { local, engine, journal, durable, failures, nonce } = await leading(t)
  const other = new SimulatedStream(engine)
  const begun = await beginTerm(other, {
    node: 'b',
    end: { position: 1, term: 1, nonce, store: local.storeId },
    isFirst: false,
    at: 2,
  })
  t.equal(begun?.record.term, 2)
  journal.append(['one'])
  const syncing = journal.sync()
  await t.rejects(syncing, { name: 'JournalError' })
  await until('the failure', () => failures.length === 1)
  await until('the sync here', () => local.durable === 2)
  t.same([failures, durable, journal.durable, journal.health], [[78], [], 1, 'storage_failed'])
})

t.test('the stream is full: writes are refused, until it has room', async (t) => {
  const { engine, journal } = await leading(t)
  engine.capacityBytes = 0
  journal.append(['one'])
  await until('a refusal', () => journal.health === 'storage_full')
  t.match(journal.warnings, ['replication: the stream is full'])
  engine.capacityBytes = Number.POSITIVE_INFINITY
  await until('room', () => journal.health === 'ok')
  await journal.sync()
  t.equal(journal.durable, 2)
})

t.test('drained in vain: sync fails from then on, so that a stop does not wait', async (t) => {
  const { engine, journal } = await leading(t)
  engine.isAvailable = false
  journal.append(['one'])
  await inTime('the drain', journal.drain(30))
  await t.rejects(inTime('the sync to fail', journal.sync()), { name: 'JournalError' })
})
