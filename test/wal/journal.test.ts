// The journal without failures, on a real disk and on the simulated one.

import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type Journal, openJournal } from '../../wal/journal/journal.ts'
import { appendEach, closeByHand, open, openFiles, turn, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

async function replay(where: string, from = 0): Promise<[number, unknown][]> {
  const found: [number, unknown][] = []
  const onRecord = (position: number, record: unknown) => found.push([position, record])
  const journal = await openJournal({ dir: where, segmentBytes: 64 * 1024, from, onRecord })
  await journal.close()
  return found
}

function durable(journal: Journal, position: number): Promise<void> {
  return until(() => journal.durable >= position)
}

t.test('J1: real disk: records of many batches and segments: replayed in order', async (t) => {
  const where = path.join(t.testdir({}), 'wal')
  const options = { dir: where, segmentBytes: 64 * 1024, onRecord: () => t.fail('nothing yet') }
  const journal = await openJournal(options)
  t.equal(journal.position, 0)
  t.equal(journal.health, 'ok')
  const wanted: [number, unknown][] = []
  for (let n = 1; n <= 400; n++) {
    await until(() => journal.health === 'ok')
    const record = { n, text: 'é'.repeat(n), bytes: Buffer.from([n & 255]), at: 1.7e12 + n }
    t.equal(journal.append(record), n)
    wanted.push([n, record])
    if (n % 7 === 0) await turn()
  }
  await journal.close()
  t.ok(journal.stats().segment > 1)
  t.same(await replay(where), wanted)
  t.same(await replay(where, 250), wanted.slice(250))
  t.equal(fs.statSync(where).mode & 0o777, 0o700)
})

/** msgpackr reads the key `__proto__` as `__proto_`, so that no record can reach a prototype. */
function isOwn(value: unknown): boolean {
  return !JSON.stringify(value).includes('"__proto__":')
}

t.test('J1: any JSON value: appended and replayed: the same value', async () => {
  const value = fc.jsonValue({ maxDepth: 3 }).filter(isOwn)
  await fc.assert(
    fc.asyncProperty(fc.array(value, { maxLength: 20 }), async (values) => {
      const disk = new SimulatedDisk(1)
      const first = await open(disk)
      await appendEach(first.journal, values)
      await first.journal.close()
      const second = await open(disk)
      await second.journal.close()
      return JSON.stringify(second.records) === JSON.stringify(values)
    }),
    { numRuns: 30 },
  )
})

t.test('J1: a record with the key __proto__: replayed without a way to a prototype', async (t) => {
  const disk = new SimulatedDisk(1)
  const first = await open(disk)
  await appendEach(first.journal, [JSON.parse('{"__proto__":{"admin":true}}')])
  await first.journal.close()
  const second = await open(disk)
  await second.journal.close()
  t.same(second.records, [{ __proto_: { admin: true } }])
  t.equal((second.records[0] as { admin?: boolean }).admin, undefined)
})

t.test('J4: many records in one iteration: one write, one sync, one callback', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  const announced: number[] = []
  journal.onDurable = (position) => announced.push(position)
  for (let n = 1; n <= 20; n++) journal.append(n)
  t.equal(journal.durable, 0)
  await durable(journal, 20)
  t.same(announced, [20])
  t.equal(journal.stats().batches, 1)
  t.equal(journal.stats().records, 20)
  await journal.close()
})

t.test('J4: flush: written at once, where no sync is in flight', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  journal.append('a')
  t.equal(journal.stats().batches, 0)
  journal.flush()
  journal.flush()
  t.equal(journal.stats().batches, 1)
  journal.append('b')
  journal.flush()
  t.equal(journal.stats().batches, 1, 'a sync is in flight, and this is little')
  await durable(journal, 2)
  t.equal(journal.stats().batches, 2)
  await journal.close()
})

t.test('J4: syncs return in another order: reported in order, the younger waits', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  disk.manual = true
  const announced: number[] = []
  journal.onDurable = (position) => announced.push(position)
  for (let n = 1; n <= 3; n++) {
    journal.append('x'.repeat(700))
    await turn()
  }
  t.equal(disk.pending, 3)
  disk.complete(2)
  disk.complete(1)
  t.same(announced, [])
  disk.complete(0)
  t.same(announced, [3])
  await closeByHand(disk, journal)
})

t.test('a sync in flight: short batches fill until it returns', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  disk.manual = true
  for (let n = 1; n <= 8; n++) {
    journal.append(n)
    await turn()
  }
  t.equal(journal.stats().batches, 1)
  disk.complete(0)
  t.equal(journal.durable, 1)
  t.equal(journal.stats().batches, 2)
  disk.complete(0)
  t.equal(journal.durable, 8)
  await closeByHand(disk, journal)
})

t.test('three syncs in flight: the fourth batch fills, although it is long', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk, { segmentBytes: 64 * 1024 })
  await until(() => disk.pending === 0)
  disk.manual = true
  for (let n = 1; n <= 8; n++) {
    journal.append('x'.repeat(2000))
    await turn()
  }
  t.equal(journal.stats().batches, 3)
  disk.complete(0)
  t.equal(journal.durable, 1)
  t.equal(journal.stats().batches, 4)
  t.equal(disk.pending, 3)
  await closeByHand(disk, journal)
  t.equal(journal.durable, 8)
})

t.test('idle: some time after the last record: a seal is written, once', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await appendEach(journal, ['a'])
  const { bytes } = journal.stats()
  await until(() => journal.stats().bytes > bytes)
  t.equal(journal.stats().bytes, bytes + 512)
  const after = await open(disk.dieAlone())
  t.same(after.records, ['a'])
  t.same(after.notices, [], 'the next start continues in the same segment')
  await after.journal.close()
})

t.test('durability interval: a record is durable when written, and synced by time', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk, { durability: { mode: 'interval', ms: 5 } })
  await until(() => disk.pending === 0)
  disk.manual = true
  journal.append('a')
  await turn()
  t.equal(journal.durable, 1)
  t.equal(disk.pending, 0, 'no sync yet')
  await until(() => disk.pending === 1)
  await closeByHand(disk, journal)
})

t.test('durability none: nothing syncs until close, which does', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk, { durability: { mode: 'none' } })
  await until(() => disk.pending === 0)
  const { count } = journal.stats().syncs
  for (let n = 0; n < 3; n++) {
    journal.append('a')
    await turn()
  }
  t.equal(journal.durable, 3)
  t.equal(journal.stats().syncs.count, count)
  await journal.close()
  const after = await open(disk.losePower())
  t.equal(after.records.length, 3)
  await after.journal.close()
})

t.test(
  'durability none: closed with an open batch: its records are reported as durable',
  async (t) => {
    for (const mode of ['always', 'none'] as const) {
      const { journal } = await open(new SimulatedDisk(1), { durability: { mode } })
      const reported: number[] = []
      journal.onDurable = (durable) => reported.push(durable)
      journal.append('last')
      await journal.close()
      t.strictSame(reported, [1], mode)
    }
  },
)

t.test('durability none: half the window is written: a sync starts by itself', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk, { durability: { mode: 'none' } })
  for (let n = 0; n < 30; n++) {
    await until(() => journal.health === 'ok')
    journal.append('x'.repeat(900))
    await turn()
  }
  t.ok(journal.stats().syncs.count > 5)
  t.ok(journal.stats().segment > 1)
  await journal.close()
})

t.test('close: with records in the open batch: they are durable, and reported', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  const announced: number[] = []
  journal.onDurable = (position) => announced.push(position)
  journal.append('a')
  const closing = journal.close()
  t.equal(journal.close(), closing, 'closing twice is closing once')
  await closing
  t.same(announced, [1])
  const after = await open(disk.losePower())
  t.same(after.records, ['a'])
  t.same(after.notices, [])
  await after.journal.close()
})

t.test('close: at any moment while the next segment is made: no file stays open', async (t) => {
  for (let turns = 0; turns < 30; turns++) {
    const disk = new SimulatedDisk(1)
    const files = openFiles(disk)
    const { journal } = await open(disk)
    for (let n = 0; n < turns; n++) await turn()
    await journal.close()
    t.same([...files.values()], [], `closed after ${turns} turns`)
  }
})

t.test(
  'replay: a long log: the event loop runs meanwhile, progress reaches the total',
  async (t) => {
    const where = path.join(t.testdir({}), 'wal')
    const journal = await openJournal({ dir: where, segmentBytes: 1024 * 1024, onRecord: () => {} })
    for (let n = 0; n < 20_000; n++) {
      await until(() => journal.health === 'ok')
      journal.append({ n, text: 'some text that is decoded' })
    }
    await journal.close()
    let turns = 0
    const ticking = setInterval(() => turns++, 0)
    let progress: [number, number] = [0, 0]
    const again = await openJournal({
      dir: where,
      segmentBytes: 1024 * 1024,
      onRecord: () => {},
      onProgress: (done, total) => {
        t.ok(done > progress[0])
        progress = [done, total]
      },
    })
    clearInterval(ticking)
    t.ok(turns > 0)
    t.equal(progress[0], progress[1])
    await again.close()
  },
)

t.test('a record that is too long: refused as our bug, nothing is written', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  t.throws(() => journal.append('x'.repeat(1025)), /a record is within the limit of its length/)
  t.equal(journal.position, 0)
  await appendEach(journal, ['fits'])
  await journal.close()
})

t.test('onRecord throws: opening fails with that error, and the lock is free again', async (t) => {
  const disk = new SimulatedDisk(1)
  const first = await open(disk)
  await appendEach(first.journal, ['a'])
  await first.journal.close()
  const onRecord = () => {
    throw new Error('cannot apply')
  }
  await t.rejects(open(disk, { onRecord }), /cannot apply/)
  await (await open(disk)).journal.close()
})
