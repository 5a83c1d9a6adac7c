// Goal:   whatever happened to a log, after a repair it starts and has the longest prefix of the
//         written records that the damage allows, and nothing else.
// Method: a log of several segments on the simulated disk, damaged in many ways, one at a time.

import t, { type Test } from 'tap'
import { inspectLog } from '../../wal/tools/inspect.ts'
import { applyRepair, planRepair, type RepairPlan } from '../../wal/tools/repair.ts'
import { copyWhole } from '../../wal/tools/whole-copy.ts'
import { appendEach, dir, open, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

const records = Array.from({ length: 60 }, (_, index) => `${index}`.padEnd(500, '.'))
const name = (number: number) => `${dir}/000000000${number}.wal`

async function closedLog(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(1)
  const { journal } = await open(disk)
  await appendEach(journal, records)
  await until(() => disk.pending === 0)
  await journal.close()
  return disk
}

interface Repaired {
  plan: RepairPlan
  positions: number[]
}

/**
 * Repairs the log, starts with a replay after `from`, and compares the records with those written.
 */
async function repaired(
  t: Test,
  disk: SimulatedDisk,
  { storeId, from = 0 }: { storeId?: string; from?: number } = {},
): Promise<Repaired> {
  const checkpoints = storeId === undefined ? [] : [{ position: from, storeId }]
  const plan = planRepair({ disk, dir, checkpoints })!
  applyRepair({ disk, dir, checkpoints: [] }, plan)
  const start = plan.start
  const after = await open(disk, { from: start })
  t.same(
    after.records,
    after.positions.map((position) => records[position - 1]),
  )
  t.equal(after.journal.position, plan.position)
  await appendEach(after.journal, ['after'])
  await after.journal.close()
  const again = await open(disk, { from: start })
  t.equal(again.records.at(-1), 'after')
  await again.journal.close()
  return { plan, positions: after.positions }
}

t.test('repair: a byte changed anywhere: everything before it is kept', async (t) => {
  const disk = await closedLog()
  for (const segment of [1, 2, 3]) {
    const size = disk.bytesOf(name(segment)).length
    for (let at = 7; at < size; at += 509) {
      const spoilt = disk.copy()
      spoilt.bytesOf(name(segment))[at]! ^= 1
      const { error } = await inspectLog(dir, { disk: spoilt })
      if (error === null) continue
      const position = Number(/position (\d+)/.exec(error.message)![1])
      if (planRepair({ disk: spoilt, dir, checkpoints: [] }) === null) {
        t.equal(position, 1, 'the first record is gone')
        continue
      }
      const { plan } = await repaired(t, spoilt)
      t.ok(plan.position >= position - 1, `${segment}:${at}: ${error.message}`)
      t.equal(plan.known, 60)
    }
  }
})

t.test('repair: files gone, duplicated, swapped, misnamed, foreign, cut: a prefix', async (t) => {
  const disk = await closedLog()
  const other = await closedLog()
  const [first, second, third] = [1, 2, 3].map((number) => disk.bytesOf(name(number)))
  const lastOfFirst = records.findIndex((record) => second!.includes(record))
  const lastOfSecond = records.findIndex((record) => third!.includes(record))
  const cases: [string, (spoilt: SimulatedDisk) => void, number][] = [
    ['the second is gone', (spoilt) => spoilt.erase(name(2)), lastOfFirst],
    ['the third is gone', (spoilt) => spoilt.erase(name(3)), lastOfSecond],
    ['the third is the second', (spoilt) => spoilt.overwrite(name(3), second!), lastOfSecond],
    [
      'the first and second are swapped',
      (spoilt) => {
        spoilt.overwrite(name(1), second!)
        spoilt.overwrite(name(2), first!)
      },
      60,
    ],
    [
      'the first has another name',
      (spoilt) => {
        spoilt.overwrite(name(9), first!)
        spoilt.erase(name(1))
      },
      60,
    ],
    ['the second is foreign', (it) => it.overwrite(name(2), other.bytesOf(name(2))), lastOfFirst],
    ['the first has no header', (it) => it.bytesOf(name(1)).fill(0, 0, 512), 60],
    ['the second has no header', (it) => it.bytesOf(name(2)).fill(9, 0, 512), 60],
    [
      'the second is cut',
      (it) => it.overwrite(name(2), second!.subarray(0, 3000)),
      lastOfFirst + 2,
    ],
  ]
  for (const [what, spoil, kept] of cases) {
    const spoilt = disk.copy()
    spoil(spoilt)
    t.equal((await inspectLog(dir, { disk: spoilt })).error?.exitCode, 77, what)
    const { plan } = await repaired(t, spoilt)
    t.equal(plan.position, kept, what)
  }
})

t.test(
  'repair: damage before a checkpoint: the log from the checkpoint on, nothing lost',
  async (t) => {
    const disk = await closedLog()
    const { storeId } = (await inspectLog(dir, { disk })).log!
    const bytes = disk.bytesOf(name(2))
    bytes[bytes.indexOf('20..')]! ^= 1
    const { plan, positions } = await repaired(t, disk, { storeId, from: 24 })
    t.match(plan, { start: 24, position: 60, known: 60 })
    t.same(
      positions,
      [...Array(36).keys()].map((index) => 25 + index),
    )
  },
)

t.test('repair: only the checkpoint is left: an empty log that continues from it', async (t) => {
  const disk = await closedLog()
  const { storeId } = (await inspectLog(dir, { disk })).log!
  for (const number of [1, 2, 3]) disk.bytesOf(name(number)).fill(0)
  const { plan, positions } = await repaired(t, disk, { storeId, from: 60 })
  t.match(plan, { start: 60, position: 60 })
  t.same(positions, [])
})

t.test('R3: interrupted at any step: still damaged, or done; run again: done', async (t) => {
  const disk = await closedLog()
  const damages: ((spoilt: SimulatedDisk) => void)[] = [
    (it) => it.bytesOf(name(1)).fill(0, 0, 512),
    (it) => it.bytesOf(name(1)).fill(1, 6000, 6001),
    (it) => it.erase(name(2)),
    (it) => {
      it.overwrite(name(9), it.bytesOf(name(1)))
      it.erase(name(1))
    },
  ]
  for (const damage of damages) {
    const damaged = disk.copy()
    damage(damaged)
    for (const die of ['dieAlone', 'losePower', 'losePower', 'losePower'] as const) {
      let isDone = false
      for (let changes = 0; !isDone; changes++) {
        const spoilt = damaged.copy()
        const plan = planRepair({ disk: spoilt, dir, checkpoints: [] })!
        spoilt.freezeAfter(changes)
        try {
          applyRepair({ disk: spoilt, dir, checkpoints: [] }, plan)
          isDone = true
        } catch {}
        const next = spoilt[die]()
        const { log, error } = await inspectLog(dir, { disk: next })
        if (error === null) t.equal(log?.end.position, plan.position, `${changes} changes`)
        else t.equal(error.exitCode, 77)
        const { plan: again } = await repaired(t, next)
        t.equal(again.position, plan.position, `${die} after ${changes} changes`)
      }
    }
  }
})

t.test('repair: nothing readable, and no checkpoint: no plan', async (t) => {
  const disk = await closedLog()
  for (const number of [1, 2, 3]) disk.bytesOf(name(number)).fill(7)
  t.equal(planRepair({ disk, dir, checkpoints: [] }), null)
})

const leftOut = ['lock', 'lock.0123456789abcdef.socket', 'admin.sock']

t.test('full copy: everything but the lock, sockets and the reserve, byte for byte', async (t) => {
  const disk = await closedLog()
  disk.overwrite(`${dir}/secret`, Buffer.from('secret'))
  for (const left of leftOut) disk.overwrite(`${dir}/${left}`, Buffer.from('left out'))
  disk.makeDirectory('/copy')
  copyWhole({ disk, dir }, '/copy')
  const names = disk.list(dir).filter((name) => ![...leftOut, 'reserve'].includes(name))
  t.same(disk.list('/copy').sort(), names.sort())
  for (const name of names)
    t.ok(disk.bytesOf(`/copy/${name}`).equals(disk.bytesOf(`${dir}/${name}`)))
})
