// The separation of records into different segments, so that one can leave the disk before the
// other.

import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openJournal } from '../../wal/journal/journal.ts'
import { appendEach, open, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const segmentBytes = 64 * 1024

t.test('a record is separated from an earlier one: its segment goes without it', async (t) => {
  const where = path.join(t.testdir({}), 'wal')
  const options = { dir: where, segmentBytes, onRecord: () => {} }
  const journal = await openJournal(options)
  const append = async (...records: string[]) => {
    for (const record of records) journal.append(record)
    await journal.sync()
  }
  const isOnDisk = (record: string) => {
    const names = fs.readdirSync(where)
    return names.some((name) => fs.readFileSync(path.join(where, name)).includes(record))
  }
  await append('the first', 'the second')
  await until(() => journal.separate(2))
  await append('the third')
  t.equal(journal.stats().segment, 2)
  t.ok(journal.separate(1) && journal.separate(2), 'they are separate already')
  await append('the fourth')
  t.equal(journal.stats().segment, 2)
  await journal.dropBefore(2)
  t.ok(isOnDisk('the first'), 'what begins with the third is needed only from there on')
  await journal.dropBefore(3)
  t.notOk(isOnDisk('the first') || isOnDisk('the second'))
  t.ok(isOnDisk('the third'))
  journal.append('the fifth')
  await until(() => journal.separate(5))
  await append('the sixth')
  await journal.close()
  t.equal(journal.stats().segment, 3)

  const found: unknown[] = []
  const onRecord = (_: number, record: unknown) => found.push(record)
  await (await openJournal({ ...options, from: 3, onRecord })).close()
  t.same(found, ['the fourth', 'the fifth', 'the sixth'])
})

for (const mode of ['none', 'always'] as const) {
  t.test(`durability ${mode}: separated, nothing follows: the batch is durable`, async (t) => {
    const where = path.join(t.testdir({}), 'wal')
    const durability = { mode }
    const journal = await openJournal({
      dir: where,
      segmentBytes,
      durability,
      onRecord: () => {},
    })
    const record = 'r'.repeat(4000)
    while (journal.stats().bytes < segmentBytes - 2 * record.length) {
      journal.append(record)
      await journal.sync()
    }
    await until(() => journal.separate(0) && journal.health === 'ok')
    let durable = 0
    journal.onDurable = (position) => {
      durable = position
    }
    // Together they need the next segment, so that no spare is left for the separation.
    for (let n = 0; n < 3; n++) journal.append(record)
    journal.separate(journal.position)
    t.equal(durable, 0, 'nobody hears of it before the caller has decided')
    await until(() => durable === journal.position)
    await journal.close()
  })
}

t.test('durability none: separated twice, and nothing syncs: possible both times', async (t) => {
  const where = path.join(t.testdir({}), 'wal')
  const durability = { mode: 'none' } as const
  const journal = await openJournal({ dir: where, segmentBytes, durability, onRecord: () => {} })
  for (const record of ['the first', 'the second']) {
    const position = journal.append(record)
    await until(() => journal.separate(position))
  }
  journal.append('the third')
  t.equal(journal.stats().segment, 3)
  await journal.close()
})

t.test('separated twice in a row, then power is lost: the journal opens again', async (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    const disk = new SimulatedDisk(seed)
    const { journal } = await open(disk)
    await appendEach(journal, ['the first'])
    await until(() => journal.separate(1))
    await appendEach(journal, ['the second'])
    await until(() => journal.separate(2))
    disk.manual = true
    journal.append('the third')
    journal.flush()
    const { journal: next, records } = await open(disk.losePower())
    await next.close()
    t.same(records.slice(0, 2), ['the first', 'the second'], `seed ${seed}`)
  }
})
