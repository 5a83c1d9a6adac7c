// The removal of a log, and its replacement by another copy of the same history.

import t from 'tap'
import {
  beginLog,
  besideLog,
  finishPlan,
  planClearing,
  planReplacing,
} from '../../wal/tools/begin-log.ts'
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
  t.notOk(finishPlan({ disk, dir }))
  t.same(disk.list(dir), before)
})

t.test('a log: planned: the log and its checkpoints are gone, the rest stays', async (t) => {
  const disk = await closedLog(2)
  planClearing({ disk, dir })
  planClearing({ disk, dir })
  t.ok(finishPlan({ disk, dir }))
  t.same(disk.list(dir).filter(isOfLog), [])
  t.same(disk.list(dir).sort().slice(-2), ['reserve', 'secret'])
  t.ok(disk.list(dir).includes('1-2.wal.replaced'))
  t.notOk(finishPlan({ disk, dir }), 'once')
  const { records, journal } = await open(disk)
  t.same(records, [])
  await journal.close()
})

const storeId = 'ab'.repeat(16)
/** The files of the copy that lies beside the log, besides its segment. */
const fetched = ['0000000001.pages', '0000000007.pages', '0000000007.checkpoint']

function fetchBeside(disk: SimulatedDisk): void {
  const beside = besideLog({ disk, dir })
  for (const name of fetched) disk.overwrite(`${beside.dir}/${name}`, Buffer.from('y'))
  beginLog(beside, { storeId, position: 100 })
}

/** Returns the files of the log in the directory, with their content. */
function filesOf(disk: SimulatedDisk): [string, string][] {
  const names = disk.list(dir).filter(isOfLog).sort()
  return names.map((name) => [name, disk.bytesOf(`${dir}/${name}`).toString('hex')])
}

/** Does this to a log until it has made `step` changes; returns the disk of the next process. */
async function dieAt(step: number, work: (disk: SimulatedDisk) => void, seed = 0) {
  const disk = await closedLog(100 * seed + step + 1)
  const before = filesOf(disk)
  disk.freezeAfter(step)
  let isDone = true
  try {
    work(disk)
  } catch {
    isDone = false
  }
  const next = (seed + step) % 2 === 0 ? disk.losePower() : disk.dieAlone()
  return { before, next, isDone }
}

t.test('a log: removed, the process dies at any step: it is whole, or gone', async (t) => {
  for (let step = 0; ; step++) {
    const { next, isDone } = await dieAt(step, (disk) => {
      planClearing({ disk, dir })
      finishPlan({ disk, dir })
    })
    finishPlan({ disk: next, dir })
    const left = next.list(dir).filter(isOfLog)
    if (left.length > 0 && left.length < 5) t.fail(`step ${step}: ${left} are left`)
    if (!isDone) continue
    t.ok(step > 5, `${step} steps`)
    break
  }
})

t.test('C2: replaced, processes die at any step: the old log whole, or the new one', async (t) => {
  const whole = await closedLog(1)
  fetchBeside(whole)
  planReplacing({ disk: whole, dir }, { keeps: false })
  finishPlan({ disk: whole, dir })
  const copy = filesOf(whole)
  t.same(
    copy.map(([name]) => name),
    ['0000000001.wal', ...fetched].sort(),
  )
  const seen = { old: 0, copy: 0 }
  for (let step = 0, seed = 0; ; ) {
    const work = (disk: SimulatedDisk) => {
      fetchBeside(disk)
      planReplacing({ disk, dir }, { keeps: step % 3 === 0 })
      finishPlan({ disk, dir })
    }
    const { before, next, isDone } = await dieAt(step, work, seed)
    // The next process dies, too, somewhere on its way.
    next.freezeAfter((step + seed) % 11)
    try {
      finishPlan({ disk: next, dir })
    } catch {}
    const last = seed % 4 < 2 ? next.losePower() : next.dieAlone()
    const isPlanned = finishPlan({ disk: last, dir })
    const files = filesOf(last)
    const isCopy = isPlanned || files.some(([name]) => name === '0000000007.checkpoint')
    t.same(files, isCopy ? copy : before, `step ${step}, seed ${seed}`)
    seen[isCopy ? 'copy' : 'old'] += 1
    seed = (seed + 1) % 12
    if (seed > 0) continue
    if (isDone) break
    step += 1
  }
  t.ok(seen.old > 100 && seen.copy > 100, JSON.stringify(seen))
})

t.test('a log: replaced and kept: its segments have other names', async (t) => {
  const disk = await closedLog(3)
  const bytes = Buffer.from(disk.bytesOf(`${dir}/0000000001.wal`))
  fetchBeside(disk)
  planReplacing({ disk, dir }, { keeps: true })
  t.ok(finishPlan({ disk, dir }))
  t.ok(disk.bytesOf(`${dir}/0000000001.wal.replaced`).equals(bytes))
  t.same(disk.list(`${dir}/fetched-log`), [])
  const { journal } = await open(disk, { from: 100 })
  t.same([journal.storeId, journal.position], [storeId, 100])
  await journal.close()
})
