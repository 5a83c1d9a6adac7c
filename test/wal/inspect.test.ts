// The report of `wal inspect` for an operator.

import t from 'tap'
import { describeReport, inspectLog } from '../../wal/tools/inspect.ts'
import { appendEach, dir, open, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

async function closedLog(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await appendEach(journal, ['a', 'b', 'c'.repeat(600)])
  await until(() => disk.pending === 0)
  await journal.close()
  return disk
}

t.test('inspect: a closed log: segments, records and how it ends, nothing changed', async (t) => {
  const disk = await closedLog()
  const before = disk.contents()
  const records: unknown[] = []
  const report = await inspectLog(dir, {
    onRecord: (_, record) => records.push(record),
    disk,
  })
  t.equal(report.error, null)
  t.same(records, ['a', 'b', 'c'.repeat(600)])
  const lines = describeReport(report)
  t.match(lines[0], /^0000000001\.wal: 16384 bytes, positions 1\.\.3, 3 records in 5 frames$/)
  t.equal(lines[1], '0000000002.wal: 16384 bytes, not used yet')
  t.match(lines[2], /^store [0-9a-f]{32} ends at 0000000001\.wal:3584, position 3: sealed$/)
  t.same(disk.contents(), before)
})

t.test('inspect: a damaged log: its contents, and the message of the refusal', async (t) => {
  const disk = await closedLog()
  disk.bytesOf(`${dir}/0000000001.wal`)[1024 + 40]! ^= 1
  const report = await inspectLog(dir, { disk })
  t.equal(report.error?.exitCode, 77)
  t.match(describeReport(report).at(-1), /0000000001\.wal is damaged at offset 1024, position 1: /)
})

t.test('inspect: a torn tail, and one put aside before: both are shown', async (t) => {
  const disk = await closedLog()
  disk.bytesOf(`${dir}/0000000001.wal`)[8000] = 1
  const torn = describeReport(await inspectLog(dir, { disk }))
  t.match(torn.at(-1), /a torn tail follows, which the next start puts aside/)
  await (await open(disk)).journal.close()
  const after = describeReport(await inspectLog(dir, { disk }))
  t.ok(after.includes('0000000001.wal.torn: a torn tail that was put aside'))
  t.match(after.at(-1), /position 3: sealed/)
})

t.test('inspect: in use: refused with 75, since a log in use looks torn', async (t) => {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  const { error } = await inspectLog(dir, { disk })
  t.equal(error?.exitCode, 75)
  await journal.close()
})

t.test('inspect: no directory, or an empty one: reported', async (t) => {
  const disk = new SimulatedDisk(1)
  t.match(describeReport(await inspectLog(dir, { disk })), ['no log here'])
  disk.makeDirectory(dir)
  t.match(describeReport(await inspectLog(dir, { disk })), ['no log here'])
})
