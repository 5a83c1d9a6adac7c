// Records that are forwarded from one log to another: live, as frames are written, and from the
// files of the log.

import { Unpackr } from 'msgpackr'
import t from 'tap'
import { cutRecords, eachEncoded } from '../../wal/journal/format.ts'
import { LogCursor } from '../../wal/journal/log-cursor.ts'
import { appendEach, dir, open, openFiles, turn, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

interface Passed {
  first: number
  values: unknown[]
}

const unpackr = new Unpackr({ useRecords: false })

function valuesOf(records: Uint8Array, count: number): unknown[] {
  const values: unknown[] = []
  const isWhole = eachEncoded(records, count, (start, end) => {
    values.push(unpackr.unpack(records.subarray(start, end)))
  })
  if (!isWhole) throw new Error('the records do not fill their bytes')
  return values
}

/** Returns everything that the cursor finds now. */
function readAll(cursor: LogCursor): Passed[] {
  const found: Passed[] = []
  for (let next = cursor.next(); next !== null; next = cursor.next()) {
    found.push({ first: next.first, values: valuesOf(next.records, next.count) })
  }
  return found
}

function flat(passed: readonly Passed[]): unknown[] {
  return passed.flatMap(({ values }) => values)
}

/** Returns records of different sizes, which need several segments. */
function manyRecords(count: number): { n: number; text: string }[] {
  return Array.from({ length: count }, (_, i) => ({ n: i + 1, text: 'x'.repeat((i * 37) % 900) }))
}

t.test(
  'frames: written while somebody listens: passed on as written, before the sync',
  async (t) => {
    const disk = new SimulatedDisk(1)
    const { journal } = await open(disk)
    const passed: (Passed & { durable: number })[] = []
    journal.append('nobody listens')
    await until(() => journal.durable === 1)
    journal.onFrame = (first, count, records) => {
      passed.push({ first, values: valuesOf(records, count), durable: journal.durable })
    }
    journal.append('a')
    journal.append({ b: [1, 2] })
    journal.flush()
    t.equal(journal.written, 3)
    await until(() => journal.durable === 3)
    journal.append('c')
    await until(() => journal.durable === 4)
    t.same(passed, [
      { first: 2, values: ['a', { b: [1, 2] }], durable: 1 },
      { first: 4, values: ['c'], durable: 3 },
    ])
    await journal.close()
    t.equal(passed.length, 2, 'a seal is not passed on')
  },
)

t.test('records of another log: appended as encoded: replayed as the same values', async (t) => {
  const [leaderDisk, followerDisk] = [new SimulatedDisk(1), new SimulatedDisk(2)]
  const leader = await open(leaderDisk)
  const follower = await open(followerDisk)
  leader.journal.onFrame = (first, count, records) => {
    t.equal(follower.journal.position, first - 1)
    const last = follower.journal.appendEncoded(Uint8Array.from(records), count)
    t.equal(last, first + count - 1)
  }
  const values = manyRecords(120)
  for (const value of values) {
    await until(() => leader.journal.health === 'ok' && follower.journal.health === 'ok')
    leader.journal.append(value)
    if (value.n % 5 === 0) await turn()
  }
  await leader.journal.close()
  await follower.journal.close()
  const again = await open(followerDisk)
  t.same(again.records, values)
  await again.journal.close()
})

t.test('records that do not fill their bytes: appended as encoded: a bug, reported', async (t) => {
  const { journal } = await open(new SimulatedDisk(1))
  t.throws(() => journal.appendEncoded(Buffer.from([5, 0, 0, 0, 1]), 1), /fill their bytes/)
  t.throws(() => journal.appendEncoded(Buffer.from([1, 0, 0, 0, 1, 9]), 1), /fill their bytes/)
  t.equal(journal.position, 0)
  await journal.close()
})

t.test('cutRecords: any size: the same records in order, in runs that fit or are one', (t) => {
  const lengths = [3, 10, 50, 1, 1, 1, 90, 7]
  const records = Buffer.concat(
    lengths.map((length, i) => {
      const bytes = Buffer.alloc(4 + length, i)
      bytes.writeUInt32LE(length)
      return bytes
    }),
  )
  for (let max = 1; max <= records.length + 1; max++) {
    const runs = [...cutRecords(records, max)]
    t.ok(Buffer.concat(runs.map((run) => run.records)).equals(records))
    t.equal(
      runs.reduce((sum, { count }) => sum + count, 0),
      lengths.length,
    )
    t.ok(runs.every((run) => run.count === 1 || run.records.length <= max))
    t.ok(runs.every((run) => eachEncoded(run.records, run.count, () => {})))
  }
  const alone = [...cutRecords(records, 1_000, (start) => records[start - 4]! === 10)]
  t.same(
    alone.map(({ count }) => count),
    [1, 1, 6],
    'a record that is to be alone, and what is before and behind it',
  )
  t.same([...cutRecords(new Uint8Array(), 10)], [])
  t.end()
})

t.test(
  'a cursor: begun at every position of several segments: all records behind it',
  async (t) => {
    const disk = new SimulatedDisk(1)
    const { journal } = await open(disk)
    const values = manyRecords(90)
    for (const value of values) {
      await until(() => journal.health === 'ok')
      journal.append(value)
      if (value.n % 4 === 0) await turn()
    }
    await journal.sync()
    t.ok(journal.stats().segment > 2)
    const { storeId } = journal
    for (let after = 0; after <= values.length; after++) {
      const cursor = new LogCursor({ disk, dir, storeId }, after)
      const found = readAll(cursor)
      t.equal(found[0]?.first ?? after + 1, after + 1)
      t.same(flat(found), values.slice(after), `behind ${after}`)
      t.equal(cursor.position, values.length)
      cursor.close()
    }
    await journal.close()
  },
)

t.test('a cursor that reads several segments: one of them is open, and closed none', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await appendEach(journal, manyRecords(100))
  t.ok(journal.stats().segment > 2)
  const { storeId } = journal
  await journal.close()
  const files = openFiles(disk)
  const cursor = new LogCursor({ disk, dir, storeId }, 0)
  while (cursor.next() !== null) t.equal(files.size, 1)
  t.equal(cursor.position, 100)
  cursor.close()
  t.equal(files.size, 0)
})

t.test('a cursor is begun, and no second file can be opened: it leaves none open', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await appendEach(journal, manyRecords(100))
  const { storeId } = journal
  await journal.close()
  const files = openFiles(disk)
  const openFile = disk.open
  disk.open = (name, how) => {
    if (files.size > 0) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
    return openFile(name, how)
  }
  try {
    new LogCursor({ disk, dir, storeId }, 0).close()
  } catch {
    // It may also be begun with a single descriptor.
  }
  t.equal(files.size, 0)
})

t.test(
  'a cursor at the end of a log that grows: sees each record once it is written',
  async (t) => {
    const disk = new SimulatedDisk(1)
    const { journal } = await open(disk)
    const cursor = new LogCursor({ disk, dir, storeId: journal.storeId }, 0)
    t.equal(cursor.next(), null)
    const found: unknown[] = []
    const values = manyRecords(100)
    for (const value of values) {
      await appendEach(journal, [value])
      found.push(...flat(readAll(cursor)))
    }
    t.same(found, values)
    t.ok(journal.stats().segment > 2)
    await journal.close()
    t.equal(cursor.next(), null, 'a seal has no records')
    cursor.close()
  },
)

t.test(
  'a cursor behind which segments are removed: what is gone is said, not skipped',
  async (t) => {
    const disk = new SimulatedDisk(1)
    const { journal } = await open(disk)
    await appendEach(journal, manyRecords(100))
    await journal.dropBefore(90)
    const { storeId } = journal
    t.throws(() => new LogCursor({ disk, dir, storeId }, 3), /no longer has position 4/)
    const cursor = new LogCursor({ disk, dir, storeId }, 95)
    t.same(flat(readAll(cursor)), manyRecords(100).slice(95))
    cursor.close()
    await journal.close()
  },
)

t.test(
  'a cursor in a segment when it and the next are removed: what is gone is said, not awaited',
  async (t) => {
    const disk = new SimulatedDisk(1)
    const { journal } = await open(disk)
    const cursor = new LogCursor({ disk, dir, storeId: journal.storeId }, 0)
    await appendEach(journal, manyRecords(100))
    t.equal(cursor.next()!.first, 1)
    await journal.dropBefore(90)
    t.throws(() => readAll(cursor), /no longer has position \d+/)
    t.ok(cursor.position < 90, 'it returns no more than the rest of its segment')
    cursor.close()
    await journal.close()
  },
)
