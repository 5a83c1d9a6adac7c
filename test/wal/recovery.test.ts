// Goal:   recovery may die at any step, repeatedly, without losing durable records or records that
//         an earlier start has shown.
// Method: a log with a torn or unsealed tail is opened by a process that freezes after n changes to
//         the disk, for every n until opening succeeds. Each time the power is lost or the process
//         dies, and the next process opens what is left.

import t from 'tap'
import { appendEach, open, turn, until } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'

/** Returns a disk whose last records are written but not synced. */
async function brokenLog(seed: number, count: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk(seed)
  const { journal } = await open(disk)
  await until(() => disk.pending === 0)
  await appendEach(journal, recordsOf(count))
  await until(() => disk.pending === 0)
  disk.manual = true
  for (let n = 0; n < 3; n++) {
    journal.append(`torn ${n}`.padEnd(700, '.'))
    await turn()
  }
  return seed % 2 === 0 ? disk.losePower() : disk.dieAlone()
}

function recordsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index}`.padEnd(700, '.'))
}

for (const [where, count] of [
  ['in the middle of a segment', 5],
  ['at the roll', 10],
] as const) {
  t.test(`recovery ${where}: dies at every step: the next one finds all`, async (t) => {
    let deaths = 0
    for (let seed = 1; seed <= 12; seed++) {
      const steps = await stepsOf(await brokenLog(seed, count))
      for (let step = 0; step < steps; step++, deaths++) {
        const why = await dieTwiceAt(step, seed, count)
        if (why !== null) t.fail(`seed ${seed} step ${step}: ${why}`)
      }
    }
    t.ok(deaths > 100, `${deaths} deaths`)
  })
}

async function dieTwiceAt(step: number, seed: number, count: number): Promise<string | null> {
  let disk = await brokenLog(seed, count)
  for (const powerLost of [true, false]) {
    disk.freezeAfter(step)
    await open(disk).catch(() => {})
    disk = powerLost ? disk.losePower() : disk.dieAlone()
  }
  const { journal, records } = await open(disk)
  if (records.length < count || records.length > count + 3) return `${records.length} records`
  if (!startsWith(records, recordsOf(count))) return 'other records'
  await appendEach(journal, ['after'])
  const last = await open(disk.losePower())
  if (last.records.length !== records.length + 1) return 'shown records were lost'
  if (!startsWith(last.records, [...records, 'after'])) return 'shown records changed'
  await last.journal.close()
  return null
}

function startsWith(records: unknown[], wanted: unknown[]): boolean {
  return wanted.every((record, index) => records[index] === record)
}

/** Returns the number of changes to the disk that an undisturbed opening makes. */
async function stepsOf(disk: SimulatedDisk): Promise<number> {
  disk.manual = true
  const before = disk.changesMade
  await open(disk)
  return disk.changesMade - before
}

t.test('a failed sync, a restart, a loss of power: what the restart showed is kept', async (t) => {
  for (let seed = 1; seed <= 50; seed++) {
    const disk = new SimulatedDisk(seed)
    const { journal } = await open(disk)
    await until(() => disk.pending === 0)
    await appendEach(journal, recordsOf(3))
    disk.failSync(1)
    for (const record of recordsOf(3)) journal.append(record)
    await until(() => journal.health === 'storage_failed')
    const next = disk.dieAlone()
    const restarted = await open(next)
    t.ok(restarted.records.length >= 3)
    const shown = restarted.records
    const last = await open(next.losePower())
    t.same(last.records, shown, `seed ${seed}`)
    await last.journal.close()
  }
})

t.test('killed again and again: segments are cut, so the log does not grow by them', async (t) => {
  let disk = new SimulatedDisk(1)
  for (let n = 0; n < 10; n++) {
    const { journal, records } = await open(disk)
    t.equal(records.length, n)
    await appendEach(journal, ['a'])
    await until(() => disk.pending === 0)
    disk = disk.dieAlone()
  }
  const sizes = [...disk.contents()].filter(([name]) => name.endsWith('.wal'))
  const bytes = sizes.reduce((sum, [, content]) => sum + content.length, 0)
  t.ok(bytes < 3 * 16 * 1024 + 10 * 1536, `${bytes} bytes`)
})
