// Goal:   records that are not part of the common history are moved from the log to a file of their
//         own, and no crash on the way loses a record or leaves a log that cannot be opened.
// Method: logs of several segments on the simulated disk, cut at every position; then a tool that
//         freezes after n changes, for every n, followed by a loss of power or a death of the
//         process.

import t, { type Test } from 'tap'
import { beginLog } from '../../wal/tools/begin-log.ts'
import { describeReport, inspectLog } from '../../wal/tools/inspect.ts'
import { putAside } from '../../wal/tools/put-aside.ts'
import { startFolding } from './fold.ts'
import { appendEach, dir, open, turn, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const recordOf = (position: number) => `${position}`.padEnd(700, '.')
const recordsOf = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => recordOf(first + index))

/** Makes a closed log of `count` records, up to four in a frame, in segments of 16 KiB. */
async function closedLog(seed: number, count: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(seed)
  const { journal } = await open(disk)
  for (let position = 1; position <= count; position++) {
    await until(() => journal.health === 'ok')
    journal.append(recordOf(position))
    if (position % 4 === 0 || position === count) await until(() => journal.durable === position)
  }
  await journal.close()
  return disk
}

const cut = (disk: SimulatedDisk, from: number) => putAside({ disk, dir, from, onNotice: () => {} })

/** Returns the records of the files that were put aside, in the order of the file names. */
async function keptIn(disk: SimulatedDisk): Promise<unknown[]> {
  const names = disk.list(dir).filter((name) => name.includes('.wal.replaced'))
  const records = new Map<number, unknown>()
  for (const name of names) {
    const single = new SimulatedDisk(1)
    single.makeDirectory('/single')
    single.overwrite('/single/0000000001.wal', disk.bytesOf(`${dir}/${name}`))
    const onRecord = (position: number, record: unknown) => records.set(position, record)
    await inspectLog('/single', { disk: single, onRecord })
  }
  return [...records].sort(([a], [b]) => a - b).map(([, record]) => record)
}

t.test('a tail: put aside from any position: it is in a file, the log goes on', async (t) => {
  const count = 50
  const whole = await closedLog(1, count)
  t.ok(whole.list(dir).includes('0000000003.wal'), 'the log has several segments')
  for (let from = 1; from <= count; from++) {
    const disk = whole.copy()
    const moved = await cut(disk, from)
    t.equal(moved?.count, count - from + 1, `from ${from}`)
    t.same(await keptIn(disk), recordsOf(from, count), 'what was removed is kept')
    const { journal, records } = await open(disk)
    t.same(records, recordsOf(1, from - 1), 'the others are in the log')
    await appendEach(journal, ['other'])
    t.equal(journal.position, from, 'its positions are given again')
    await journal.close()
    const again = await open(disk)
    t.same(again.records, [...recordsOf(1, from - 1), 'other'])
    await again.journal.close()
  }
})

t.test('a tail: the log ends before it: nothing is changed', async (t) => {
  const disk = await closedLog(2, 10)
  const before = disk.list(dir).filter((name) => !name.startsWith('lock'))
  t.equal(await cut(disk, 11), null)
  t.same(
    disk.list(dir).filter((name) => !name.startsWith('lock')),
    before,
  )
})

t.test('a tail: the log begins later: refused, and nothing is changed', async (t) => {
  const disk = new SimulatedDisk(3)
  disk.makeDirectory(dir)
  beginLog({ disk, dir }, { storeId: 'ab'.repeat(16), position: 100 })
  const { journal } = await open(disk, { from: 100 })
  for (let n = 0; n < 4; n++) journal.append(recordOf(n))
  await journal.close()
  const before = disk.contents()
  for (const from of [100, 102]) {
    await t.rejects(cut(disk, from), { exitCode: 77, message: /from which it could follow/ })
  }
  for (const [name, bytes] of before) t.ok(disk.bytesOf(name).equals(bytes), name)
})

/** Makes a closed log of `count` records, with a checkpoint after each tenth. */
async function checkpointedLog(seed: number, count: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(seed)
  const folding = await startFolding(disk)
  for (let position = 1; position <= count; position++) {
    folding.append(position)
    if (position % 10 === 0) await folding.take()
  }
  await folding.journal.close()
  return disk
}

/** Fails unless a start has nothing from `from` on, and uses the newest checkpoint before it. */
async function beginsBefore(t: Test, disk: SimulatedDisk, from: number, why: string) {
  const next = await startFolding(disk)
  const newest = Math.floor((from - 1) / 10) * 10
  t.same([next.from, next.fold.position, next.journal.position], [newest, from - 1, from - 1], why)
  await next.journal.close()
}

t.test('a tail: checkpoints have a part of it: the newest one without it counts', async (t) => {
  const count = 22
  const whole = await checkpointedLog(8, count)
  for (const from of [9, 10, 11, 20, 21, 22]) {
    const disk = whole.copy()
    t.equal((await cut(disk, from))?.count, count - from + 1)
    await beginsBefore(t, disk, from, `from ${from}`)
  }
})

t.test('a tail: so, and the tool dies at any step: they go before it', async (t) => {
  const from = 15
  for (const die of ['losePower', 'dieAlone'] as const) {
    const whole = await checkpointedLog(9, 22)
    const steps = await changesOf(whole.copy(), (disk) => cut(disk, from))
    for (let step = 0; step < steps; step++) {
      const disk = whole.copy()
      disk.freezeAfter(step)
      await cut(disk, from).catch(() => {})
      const next = disk[die]()
      await cut(next, from)
      await beginsBefore(t, next, from, `${die} after ${step} of ${steps} steps`)
    }
  }
})

t.test('a tail: a node has the directory open: refused', async (t) => {
  const disk = new SimulatedDisk(4)
  const { journal } = await open(disk)
  journal.append('a')
  await turn()
  await t.rejects(cut(disk, 1), { exitCode: 75, message: /use/ })
  await journal.close()
})

t.test('a tail: the tool dies at any step: nothing is lost, and it can run again', async (t) => {
  const [count, from] = [44, 18]
  let deaths = 0
  for (let seed = 1; seed <= 6; seed++) {
    const whole = await closedLog(seed, count)
    const steps = await changesOf(whole.copy(), (disk) => cut(disk, from))
    for (let step = 0; step < steps; step++, deaths++) {
      const disk = whole.copy()
      disk.freezeAfter(step)
      await cut(disk, from).catch(() => {})
      const next = deaths % 2 === 0 ? disk.losePower() : disk.dieAlone()
      const { journal, records } = await open(next)
      const where = `seed ${seed} step ${step}`
      if (records.length < from - 1) t.fail(`${where}: only ${records.length} records are left`)
      if (!same(records, recordsOf(1, records.length))) t.fail(`${where}: other records`)
      await journal.close()
      await cut(next, from)
      const last = await open(next)
      if (!same(last.records, recordsOf(1, from - 1))) t.fail(`${where}: the second run`)
      await last.journal.close()
      if (!same(await keptIn(next), recordsOf(from, count))) t.fail(`${where}: not all are kept`)
    }
  }
  t.ok(deaths > 60, `${deaths} deaths`)
})

t.test('a log that begins behind a position: opened: goes on there', async (t) => {
  const disk = new SimulatedDisk(5)
  disk.makeDirectory(dir)
  const storeId = '0123456789abcdef'.repeat(2)
  beginLog({ disk, dir }, { storeId, position: 1234 })
  t.throws(() => beginLog({ disk, dir }, { storeId, position: 7 }), /has a log already/)
  const { journal } = await open(disk, { from: 1234 })
  t.equal(journal.storeId, storeId)
  await appendEach(journal, ['a'])
  await journal.close()
  const { journal: next, positions } = await open(disk.losePower(), { from: 1234 })
  t.same(positions, [1235])
  await next.close()
})

t.test('a log that begins: the process dies at any step: a start finds none, or it', async (t) => {
  const steps = await changesOf(emptyDirectory(1), async (disk) => begin(disk))
  for (let seed = 1; seed <= 20; seed++) {
    for (let step = 0; step < steps; step++) {
      const disk = emptyDirectory(seed)
      disk.freezeAfter(step)
      try {
        begin(disk)
      } catch {}
      const next = seed % 2 === 0 ? disk.losePower() : disk.dieAlone()
      if (!next.list(dir).includes('0000000001.wal')) begin(next)
      const { journal } = await open(next, { from: 5 })
      t.equal(journal.position, 5)
      await journal.close()
    }
  }
})

const begin = (disk: SimulatedDisk) =>
  beginLog({ disk, dir }, { storeId: 'cd'.repeat(16), position: 5 })

function emptyDirectory(seed: number): SimulatedDisk {
  const disk = new SimulatedDisk(seed)
  disk.makeDirectory(dir)
  disk.sync(disk.open('/', 'read'))
  return disk
}

/** Returns the number of changes to the disk that `work` makes if nothing disturbs it. */
async function changesOf(disk: SimulatedDisk, work: (disk: SimulatedDisk) => Promise<unknown>) {
  const before = disk.changesMade
  await work(disk)
  return disk.changesMade - before
}

function same(records: unknown[], wanted: unknown[]): boolean {
  return records.length === wanted.length && wanted.every((record, n) => records[n] === record)
}

t.test('a tail that was put aside: the report names it', async (t) => {
  const disk = await closedLog(7, 10)
  await cut(disk, 8)
  const lines = describeReport(await inspectLog(dir, { disk }))
  t.ok(lines.includes('8-10.wal.replaced: a tail of the log that was put aside'), lines.join('\n'))
})
