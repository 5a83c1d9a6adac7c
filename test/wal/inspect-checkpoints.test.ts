// The report of `wal inspect` on checkpoints, and on a log whose beginning they made unnecessary.

import t from 'tap'
import { describeReport, inspectLog } from '../../wal/tools/inspect.ts'
import { dir, smallStore } from '../faults/damaged-store.ts'

const store = () => smallStore({ seed: 6, sealed: true, checkpointsAt: [20, 40, 50] })

t.test('inspect: a log without its beginning, two checkpoints: both good, no error', async (t) => {
  const report = await inspectLog(dir, { disk: await store() })
  t.equal(report.error, null)
  const lines = describeReport(report)
  t.ok(lines.includes('0000000005.checkpoint: whole, position 50'))
  t.ok(lines.includes('0000000003.checkpoint: whole, position 40'))
})

t.test(
  'inspect: a page is damaged, and can be rebuilt: 77, the place, what a start does',
  async (t) => {
    const disk = await store()
    disk.bytesOf(`${dir}/0000000005.pages`)[0]! ^= 1
    const report = await inspectLog(dir, { disk })
    t.match(report.error, {
      exitCode: 77,
      message: /0000000005\.pages at offset 0; a start rebuilds/,
    })
    t.ok(describeReport(report).includes('0000000005.checkpoint: whole, position 50'))
  },
)

t.test('inspect: parity is damaged: 77, and that nothing is lost', async (t) => {
  const disk = await store()
  disk.bytesOf(`${dir}/0000000005.parity`)[100]! ^= 1
  const { error } = await inspectLog(dir, { disk })
  t.match(error, {
    exitCode: 77,
    message: /parity is damaged: 0000000005\.parity; a running node rewrites it/,
  })
})

t.test('inspect: a page is damaged beyond repair: 77, and what a start does', async (t) => {
  const disk = await store()
  disk.bytesOf(`${dir}/0000000005.pages`)[0]! ^= 1
  disk.erase(`${dir}/0000000005.parity`)
  const { error } = await inspectLog(dir, { disk })
  t.equal(error?.exitCode, 77)
  t.match(error?.message, /0000000005\.checkpoint is damaged: .*; a start puts it aside/)
})

t.test('inspect: no checkpoint is left, the log begins later: 77, as a start says', async (t) => {
  const disk = await store()
  for (const number of [3, 5]) disk.erase(`${dir}/000000000${number}.checkpoint`)
  const { error } = await inspectLog(dir, { disk })
  t.match(error, { exitCode: 77, message: /positions before \d+ are missing/ })
})
