// Goal:   at whatever moment the power is lost or the process dies, while checkpoints are taken,
//         old log is removed or a start is in progress, the next start has every durable record.
// Method: each seed runs several lives on a simulated disk. In each life it appends, takes
//         checkpoints in random slices, completes the disk's operations in random order, and ends
//         in a crash; some lives end after a number of changes to the disk, even during the start.
//         Page files are scrubbed meanwhile. Once per seed, one byte of a page file rots or the
//         parity of a file is removed. WAL_SEED=n CHECKPOINT_SEEDS=1 repeats one seed.

import t from 'tap'
import { scrubFile } from '../../wal/checkpoint/scrub.ts'
import type { JournalError } from '../../wal/errors.ts'
import { sizeOf, sizes, timeoutMs } from '../depth.ts'
import { type Folding, type Row, startFolding } from './fold.ts'
import { closeByHand, dir, turn } from './helpers.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { seededRandom } from './simulated-inode.ts'

const firstSeed = Number(process.env.WAL_SEED ?? 1)
const seeds = sizeOf('CHECKPOINT_SEEDS')
const livesPerSeed = 6

t.setTimeout(timeoutMs)

type Met = 'from' | 'dropped' | 'cut' | 'taken' | 'failed' | 'rotten' | 'mended' | 'newParity'

interface World {
  random: () => number
  disk: SimulatedDisk
  log: Row[]
  /** The number of records that the next start must have. */
  promised: number
  /**
   * The number of occurrences of each outcome, such as a life that began with a checkpoint, dropped
   * segments, or was interrupted in its start.
   */
  met: Record<Met, number>
  /** The fault of this seed, until it has been caused. */
  fault: 'rot' | 'no parity' | null
}

t.test('C1 C2 C4: power lost or process dead at any time: durable records remain', async (t) => {
  const met: Record<Met, number> = {
    ...{ from: 0, dropped: 0, cut: 0, taken: 0, failed: 0 },
    ...{ rotten: 0, mended: 0, newParity: 0 },
  }
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const disk = new SimulatedDisk(seed)
    disk.manual = true
    const random = seededRandom(seed * 7919)
    const fault = random() < 0.5 ? 'rot' : 'no parity'
    const world: World = { random, disk, log: [], promised: 0, met, fault }
    try {
      for (let life = 0; life < livesPerSeed; life++) await live(world)
    } catch (error) {
      t.fail(`seed ${seed}: ${error instanceof Error ? error.stack : error}`)
      return
    }
  }
  t.pass(`${seeds} seeds from ${firstSeed}: ${JSON.stringify(met)}`)
  if (seeds < sizes.CHECKPOINT_SEEDS.check) return // too few to reach every outcome
  for (const [what, times] of Object.entries(met))
    t.ok(times > seeds / 50, `${what}: ${times} times`)
})

async function live(world: World): Promise<void> {
  const { random, disk } = world
  if (random() < 0.3) disk.freezeAfter(Math.floor(random() * 60))
  const folding = await start(world)
  if (folding === null) {
    world.met.cut += 1
    return crash(world)
  }
  const { fold, journal, notices, from } = folding
  if (from > 0) world.met.from += 1
  // C1: after a loss of power the checkpoint is complete or absent.
  for (const { name, why } of folding.checkpoints.bad) throw new Error(`${name} is bad: ${why}`)
  if (fold.position < world.promised) throw new Error(`${world.promised} were promised`)
  world.log.length = fold.position
  fold.compare(world.log)
  let failed = false
  journal.onFailed = () => {
    failed = true
  }
  if (folding.checkpoints.rebuilt.length > 0) world.met.rotten += 1
  let isScrubbing = false
  if (random() < 0.15) disk.failSync(1 + Math.floor(random() * 30))
  let taking = false
  const isHasty = random() < 0.3
  for (let step = Math.floor(random() * 60); step > 0 && !failed; step--) {
    appendSome(world, folding)
    if (!taking && random() < 0.2) {
      taking = true
      take(world, folding).finally(() => {
        taking = false
      })
    }
    if (!isScrubbing && random() < 0.3) {
      isScrubbing = true
      scrub(world, folding).finally(() => {
        isScrubbing = false
      })
    }
    await turn()
    for (let n = Math.floor(random() * 4); n > 0 && disk.pending > 0; n--) {
      // At times the newest operation completes first, before earlier ones.
      if (isHasty) disk.complete(disk.pending - 1)
      else disk.completeOne()
      await turn()
    }
    await turn()
  }
  world.promised = Math.max(world.promised, journal.durable)
  if (random() < 0.2 && !failed && !taking) {
    await closeByHand(disk, journal)
    if (journal.health !== 'storage_failed') world.promised = world.log.length
  }
  if (notices.some(({ event }) => event === 'segments_dropped')) world.met.dropped += 1
  crash(world)
}

/** Returns null if the disk froze before the start was complete. */
async function start({ disk }: World): Promise<Folding | null> {
  let started: Folding | null | undefined
  let error: unknown
  startFolding(disk).then(
    (folding) => {
      started = folding
    },
    (cause: JournalError) => {
      started = null
      if (!/frozen/.test(cause.message)) error = cause
    },
  )
  while (started === undefined) {
    if (disk.pending > 0) disk.completeOne()
    await turn()
  }
  if (error !== undefined) throw error
  return started
}

function appendSome({ random, log }: World, { journal, append }: Folding): void {
  for (let n = Math.floor(random() * 5); n > 0 && journal.health === 'ok'; n--) {
    const value = random()
    const length = Math.floor(random() ** 3 * 900)
    log.push({ value, text: '' })
    append(value, length)
  }
}

async function take({ random, met }: World, { take }: Folding): Promise<void> {
  try {
    await take(() => (random() < 0.3 ? turn() : null))
    met.taken += 1
  } catch (error) {
    if ((error as JournalError).exitCode !== 74) throw error
    met.failed += 1
  }
}

async function scrub({ random, disk, met }: World, { checkpoints }: Folding): Promise<void> {
  const { kept } = checkpoints
  const files = kept.flatMap(({ files }) => [...files.keys()])
  const file = files[Math.floor(random() * files.length)]
  if (file === undefined) return
  const manifests = kept.filter(({ files }) => files.has(file))
  try {
    const options = { pause: () => null, pace: turn }
    const { mended, newParity, lost } = await scrubFile({ disk, dir }, manifests, file, options)
    met.mended += mended.length
    if (newParity) met.newParity += 1
    const isKept = checkpoints.kept.some(({ files }) => files.has(file))
    if (isKept && lost.length > 0) throw new Error(`${file}: ${lost.length} pages are lost`)
  } catch (error) {
    if (!/ENOENT|EIO|frozen|gone/.test((error as Error).message)) throw error
  }
}

/** Flips one byte of a page file, or removes the parity of one. */
function spoil(world: World): void {
  const { random, disk, fault } = world
  const names = disk.list(dir).filter((name) => /\.checkpoint$/.test(name)).length
  const pages = disk.list(dir).filter((name) => /\.pages$/.test(name))
  if (names === 0 || pages.length === 0 || random() < 0.4) return
  const name = `${dir}/${pages[Math.floor(random() * pages.length)]}`
  const bytes = Buffer.from(disk.bytesOf(name))
  if (bytes.length === 0) return
  world.fault = null
  if (fault === 'no parity') return disk.erase(name.replace('pages', 'parity'))
  bytes[Math.floor(random() * bytes.length)]! ^= 4
  disk.overwrite(name, bytes)
}

function crash(world: World): void {
  const { random, disk } = world
  world.disk = random() < 0.5 ? disk.losePower() : disk.dieAlone()
  world.disk.manual = true
  if (world.fault !== null) spoil(world)
}
