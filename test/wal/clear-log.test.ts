// The removal of a log that makes room for another copy of the same history.

import t from 'tap'
import { clearLog, planClearing } from '../../wal/tools/begin-log.ts'
import { appendEach, dir, open } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

async function closedLog(seed: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(seed)
  const { journal } = await open(disk)
  await appendEach(journal, ['a', 'b'])
  await journal.close()
  for (const name of ['0000000001.pages', '0000000001.parity', '0000000002.checkpoint']) {
    disk.overwrite(`${dir}/${name}`, Buffer.from('x'))
  }
  for (const name of ['secret', '1-2.wal.replaced']) {
    disk.overwrite(`${dir}/${name}`, Buffer.from(name))
  }
  return disk
}

const isOfLog = (name: string) => /\.(?:wal|pages|parity|checkpoint)$/.test(name)

t.test('a log: not planned: nothing is removed', async (t) => {
  const disk = await closedLog(1)
  const before = disk.list(dir)
  t.notOk(clearLog({ disk, dir }))
  t.same(disk.list(dir), before)
})

t.test('a log: planned: the log and its checkpoints are gone, the rest stays', async (t) => {
  const disk = await closedLog(2)
  planClearing({ disk, dir }, { keeps: false })
  planClearing({ disk, dir }, { keeps: false })
  t.ok(clearLog({ disk, dir }))
  t.same(disk.list(dir).filter(isOfLog), [])
  t.same(disk.list(dir).sort().slice(-2), ['reserve', 'secret'])
  t.ok(disk.list(dir).includes('1-2.wal.replaced'))
  t.notOk(clearLog({ disk, dir }), 'once')
  const { records, journal } = await open(disk)
  t.same(records, [])
  await journal.close()
})

t.test(
  'a log: the process dies at any step: it is whole, or removed by the next one',
  async (t) => {
    let steps = 0
    for (let step = 0; ; step++) {
      const disk = await closedLog(step + 1)
      disk.freezeAfter(step)
      let isDone = true
      try {
        planClearing({ disk, dir }, { keeps: step % 3 === 0 })
        clearLog({ disk, dir })
      } catch {
        isDone = false
      }
      const next = step % 2 === 0 ? disk.losePower() : disk.dieAlone()
      clearLog({ disk: next, dir })
      const left = next.list(dir).filter(isOfLog)
      if (left.length > 0 && left.length < 5) t.fail(`step ${step}: ${left} are left`)
      steps = step
      if (isDone) break
    }
    t.ok(steps > 5, `${steps} steps`)
  },
)

t.test('a log: planned to be kept: its segments have other names', async (t) => {
  const disk = await closedLog(3)
  const bytes = Buffer.from(disk.bytesOf(`${dir}/0000000001.wal`))
  planClearing({ disk, dir }, { keeps: true })
  t.ok(clearLog({ disk, dir }))
  t.same(disk.list(dir).filter(isOfLog), [])
  t.ok(disk.bytesOf(`${dir}/0000000001.wal.replaced`).equals(bytes))
})
