// Goal:   after any loss of power or death of the process, durable records are present, complete
//         and in order; other records are completely present or completely absent; and the journal
//         always opens again.
// Method: each seed runs several lives on one simulated disk. A life appends records, lets syncs
//         return in any order or fail, and ends in a loss of power, a death or a clean close. The
//         records that the next life replays are compared with those that were appended and those
//         that were durable.

import t, { type Test } from 'tap'
import type { Durability, Journal } from '../../wal/journal/journal.ts'
import { sizeOf, timeoutMs } from '../depth.ts'
import { closeByHand, open, turn } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { seededRandom } from './simulated-inode.ts'

// WAL_SEED=n POWER_SEEDS=1 repeats one seed.
const firstSeed = Number(process.env.WAL_SEED ?? 1)
const seeds = sizeOf('POWER_SEEDS')

t.setTimeout(timeoutMs)

interface World {
  random: () => number
  disk: SimulatedDisk
  durability: Durability
  /** The record at position n is at index n - 1. */
  log: unknown[]
  /** The number of records that the next start must have. */
  promised: number
}

t.test('J4 J6: power lost or process dead at any time: durable records remain, in order', (t) =>
  liveThrough(t, { mode: 'always' }),
)

t.test('durability none: a death loses nothing, a loss of power only the newest records', (t) =>
  liveThrough(t, { mode: 'none' }),
)

async function liveThrough(t: Test, durability: Durability): Promise<void> {
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const world = newWorld(seed, durability)
    try {
      for (let life = 0; life < 4; life++) await live(world)
    } catch (error) {
      t.fail(`seed ${seed}: ${error instanceof Error ? error.stack : error}`)
      return
    }
  }
  t.pass(`${seeds} seeds from ${firstSeed}`)
}

function newWorld(seed: number, durability: Durability): World {
  const disk = new SimulatedDisk(seed)
  disk.manual = true
  return { random: seededRandom(seed * 7919), disk, durability, log: [], promised: 0 }
}

async function live(world: World): Promise<void> {
  const { random, disk, durability } = world
  const { journal, records } = await open(disk, { durability })
  compare(world, records)
  world.log = records
  world.promised = records.length
  let failed = false
  journal.onFailed = () => {
    failed = true
  }
  const announced: number[] = []
  journal.onDurable = (durable) => announced.push(durable)
  if (random() < 0.15) disk.failSync(1 + Math.floor(random() * 12))
  for (let step = Math.floor(random() * 40); step > 0 && !failed; step--) {
    appendSome(world, journal)
    if (random() < 0.05) journal.separate(Math.floor(random() * (world.log.length + 1)))
    if (random() < 0.8) await turn()
    for (let n = Math.floor(random() * 3); n > 0 && disk.pending > 0; n--) disk.completeOne()
  }
  ascending(announced)
  await end(world, journal, failed)
}

function appendSome({ random, log }: World, journal: Journal): void {
  for (let n = Math.floor(random() * 5); n > 0 && journal.health === 'ok'; n--) {
    const record = { n: random(), text: 'x'.repeat(Math.floor(random() ** 3 * 900)) }
    log.push(record)
    equal(journal.append(record), log.length)
  }
}

async function end(world: World, journal: Journal, failed: boolean): Promise<void> {
  const { random, disk, durability } = world
  const how = random()
  const powerLost = how > 0.5
  if (how < 0.2 && !failed) {
    await closeByHand(disk, journal)
    if (journal.health !== 'storage_failed') world.promised = world.log.length
  }
  if (durability.mode === 'always' || !powerLost) {
    world.promised = Math.max(world.promised, journal.durable)
  }
  world.disk = powerLost ? disk.losePower() : disk.dieAlone()
  world.disk.manual = true
}

function compare({ log, promised }: World, replayed: unknown[]): void {
  if (replayed.length < promised) {
    throw new Error(`${promised} records were durable, ${replayed.length} came back`)
  }
  if (replayed.length > log.length) throw new Error('records that were never appended')
  replayed.forEach((record, index) => {
    equal(JSON.stringify(record), JSON.stringify(log[index]))
  })
}

function ascending(positions: number[]): void {
  positions.forEach((position, index) => {
    if (index > 0 && position <= positions[index - 1]!)
      throw new Error(`not in order: ${positions}`)
  })
}

function equal(found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${found} should be ${wanted}`)
}
