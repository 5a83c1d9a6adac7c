// Storage failures: writes and syncs that return errors.

import t from 'tap'
import type { JournalError } from '../../wal/errors.ts'
import type { Journal } from '../../wal/journal/journal.ts'
import { appendEach, closeByHand, dir, open, turn, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

t.test('J5: a sync fails with a thousand records waiting: none durable, failed once', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk, { segmentBytes: 1024 * 1024 })
  await until(() => disk.pending === 0)
  await appendEach(journal, ['durable'])
  const failures: JournalError[] = []
  journal.onFailed = (error) => failures.push(error)
  journal.onDurable = () => t.fail('nothing is durable after a failed sync')
  disk.failSync(1)
  for (let n = 0; n < 1000; n++) journal.append(n)
  await until(() => failures.length > 0)
  for (let n = 0; n < 10; n++) await turn()
  t.equal(journal.durable, 1)
  t.equal(journal.health, 'storage_failed')
  t.equal(failures.length, 1)
  t.equal(failures[0]!.exitCode, 74)
  t.match(failures[0]!.message, /cannot sync \/data\/0000000001\.wal: EIO/)
  t.throws(() => journal.append('more'), /the journal is open/)
  await journal.close()
})

t.test('J5: the younger of two syncs succeeds, then the older fails: neither counts', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  disk.manual = true
  let failures = 0
  journal.onFailed = () => failures++
  journal.onDurable = () => t.fail('not durable')
  journal.append('older'.padEnd(700))
  await turn()
  journal.append('younger'.padEnd(700))
  await turn()
  disk.complete(1)
  disk.failSync(1)
  disk.complete(0)
  t.equal(failures, 1)
  t.equal(journal.durable, 0)
  await journal.close()
})

t.test('J5: a write fails, then the sync in flight too: failed once', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  disk.manual = true
  let failures = 0
  journal.onFailed = () => failures++
  journal.append('in flight')
  await turn()
  disk.refuse('write', 'EIO')
  journal.append('x'.repeat(700))
  await turn()
  t.equal(failures, 1)
  disk.refuse('write', null)
  disk.failSync(1)
  disk.complete(0)
  t.equal(failures, 1)
  await journal.close()
})

t.test('J5: a write fails: final, reported once, close releases the directory', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  await appendEach(journal, ['a'])
  const failures: JournalError[] = []
  journal.onFailed = (error) => failures.push(error)
  disk.refuse('write', 'EIO')
  journal.append('b')
  await until(() => failures.length > 0)
  t.match(failures[0]!.message, /cannot write \/data\/0000000001\.wal: EIO/)
  await journal.close()
  disk.refuse('write', null)
  const after = await open(disk)
  t.same(after.records, ['a'])
  await after.journal.close()
})

t.test('the sync at close fails: reported, and close still returns', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  let failures = 0
  journal.onFailed = () => failures++
  journal.append('a')
  disk.failSync(1)
  await journal.close()
  t.equal(failures, 1)
  t.equal(journal.durable, 0)
})

t.test('fails before anybody listens: the failure can be read later', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  t.equal(journal.failure, null)
  disk.failSync(1) // of the next segment, which is made ahead of time
  await until(() => journal.health === 'storage_failed')
  t.match(journal.failure, { exitCode: 74, message: /cannot make the segment after .*EIO/ })
  await t.rejects(journal.sync(), journal.failure!)
  await journal.close()
})

t.test('short writes: all records are there', async (t) => {
  const disk = new SimulatedDisk(5)
  disk.shortWrites = true
  const { journal } = await open(disk)
  const wanted = Array.from({ length: 60 }, (_, n) => `${n}`.padEnd(700, '.'))
  await appendEach(journal, wanted)
  await journal.close()
  const after = await open(disk.losePower())
  t.same(after.records, wanted)
  await after.journal.close()
})

/** Appends until the disk is full. Resolves to the last position, which is durable. */
async function fillUp(journal: Journal): Promise<number> {
  await until(() => {
    if (journal.health === 'ok') journal.append('x'.repeat(1000))
    return journal.health === 'storage_full'
  })
  const { position } = journal
  await until(() => journal.durable === position)
  return position
}

/** Appends once more when there is space again, and closes the journal. */
async function goOn(journal: Journal): Promise<void> {
  await until(() => journal.health === 'ok')
  await appendEach(journal, ['after'])
  await journal.close()
}

for (const code of ['ENOSPC', 'EROFS', 'EMFILE', 'EACCES']) {
  t.test(`${code} while the next segment is made: storage_full, then ok by itself`, async (t) => {
    const disk = new SimulatedDisk(1)
    disk.refuse('create', null)
    const { journal, notices } = await open(disk)
    await until(() => disk.pending === 0)
    // The next segment is the spare; the one after it cannot be made.
    disk.refuse('create', code)
    const accepted = await fillUp(journal)
    t.equal(journal.stats().segment, 2)
    t.match(journal.warnings, [`storage: the next segment: ${code}: `])
    t.match(notices.at(-1), { event: 'storage_full', level: 'warn', segment: '0000000003.wal' })
    disk.refuse('create', null)
    await until(() => journal.health === 'ok')
    t.match(notices.at(-1), { event: 'storage_available' })
    t.same(journal.warnings, [])
    await appendEach(journal, ['after'])
    await journal.close()
    const after = await open(disk)
    t.equal(after.records.length, accepted + 1)
    await after.journal.close()
  })
}

t.test(
  'disk full: what fits is durable, the rest refused, resumes when there is space',
  async (t) => {
    const disk = new SimulatedDisk(1)
    disk.capacityBytes = 40_000
    const { journal } = await open(disk)
    const accepted = await fillUp(journal)
    disk.capacityBytes = Number.POSITIVE_INFINITY
    await goOn(journal)
    const after = await open(disk)
    t.equal(after.records.length, accepted + 1)
    await after.journal.close()
  },
)

t.test(
  'disk full: killed, started again: opens and reads, and writes wait for space',
  async (t) => {
    const disk = new SimulatedDisk(1)
    disk.capacityBytes = 36_000
    const { journal } = await open(disk)
    const accepted = await fillUp(journal)
    const next = disk.dieAlone()
    next.capacityBytes = 36_000
    const after = await open(next)
    t.equal(after.records.length, accepted)
    await fillUp(after.journal)
    next.capacityBytes = Number.POSITIVE_INFINITY
    await goOn(after.journal)
  },
)

t.test('disk full to the last byte: killed, torn or not: the next start has room', async (t) => {
  for (const torn of [false, true]) {
    const disk = new SimulatedDisk(1)
    const { journal } = await open(disk)
    await until(() => disk.pending === 0)
    const used = () => [...disk.contents().values()].reduce((sum, { length }) => sum + length, 0)
    disk.capacityBytes = used()
    const accepted = await fillUp(journal)
    const next = disk.dieAlone()
    const last = next.bytesOf(`${dir}/0000000002.wal`)
    if (torn) last.fill(1, last.lastIndexOf('x') - 50, last.lastIndexOf('x'))
    next.capacityBytes = used()
    const after = await open(next)
    t.equal(after.records.length, torn ? accepted - 1 : accepted)
    next.capacityBytes = Number.POSITIVE_INFINITY
    await goOn(after.journal)
  }
})

t.test('the device fails while the next segment is made: final', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.manual = true
  const { journal } = await open(disk)
  let failures = 0
  journal.onFailed = () => failures++
  disk.failSync(1)
  while (failures === 0) {
    disk.completeOne()
    await turn()
  }
  t.equal(journal.health, 'storage_failed')
  await closeByHand(disk, journal)
})

t.test('a slow disk: more than the window waits: overloaded, ok when syncs return', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  disk.manual = true
  for (let n = 0; journal.health === 'ok'; n++) {
    t.ok(n < 20, 'the window is bounded')
    journal.append('x'.repeat(900))
    await turn()
  }
  t.equal(journal.health, 'overloaded')
  while (disk.pending > 0) disk.completeOne()
  t.equal(journal.health, 'ok')
  await closeByHand(disk, journal)
})

t.test('a directory that cannot be written: 74, and the message names it', async (t) => {
  const disk = new SimulatedDisk(1)
  disk.refuse('create', 'EROFS')
  await t.rejects(open(disk), /cannot lock \/data: EROFS/)
})
