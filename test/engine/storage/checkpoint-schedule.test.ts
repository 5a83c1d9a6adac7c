// When checkpoints are taken (engine/storage/checkpoints.ts). The time is virtual and the disk is
// simulated; of the journal there is only what the schedule asks for.

import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Pause } from '../../../src/base/pauses.ts'
import { CheckpointSchedule } from '../../../src/engine/storage/checkpoints.ts'
import { State } from '../../../src/forum/state.ts'
import { eraseEntry } from '../../../src/kernel/text/erasing.ts'
import { textStoreName } from '../../../src/kernel/text/text.ts'
import { pagesName, parityName, placeOf } from '../../../wal/checkpoint/manifest.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { settled, VirtualTime } from '../../simulate/virtual-time.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'

const dir = '/data'
const dueBytes = 1 << 20

/** A schedule that takes a checkpoint after each MiB of log. */
class Scene {
  readonly disk = new SimulatedDisk(1)
  readonly schedule: CheckpointSchedule
  /** The bytes of the log, and how many more there are whenever a checkpoint syncs it. */
  logBytes = 0
  bytesDuring = 0
  /** What a checkpoint waits for when it syncs the log. */
  held: Promise<void> = Promise.resolve()
  state = new State({ retentionMs: 1, seed: 1 })
  readonly journal: Journal
  readonly #time = new VirtualTime(seededRandom(1), 1_790_000_000_000)

  constructor(t: Test) {
    this.#time.enter()
    t.teardown(() => this.#time.leave())
    this.disk.makeDirectory(dir)
    this.schedule = this.newSchedule(() => null)
    const journal = {
      storeId: 'ab',
      position: 0,
      stats: () => ({ bytes: this.logBytes, replayedBytes: 0 }),
      sync: async () => {
        this.logBytes += this.bytesDuring
        await this.held
      },
      dropBefore: async () => {},
    }
    this.journal = journal as unknown as Journal
    this.schedule.begin(this.journal, this.state)
  }

  newSchedule(pause: Pause): CheckpointSchedule {
    const limits = { nodeLimits: { textBytesMax: dueBytes } }
    const config = { data: dir, checkpointMb: 1, scrubHours: 0, ...limits }
    return new CheckpointSchedule(config, pino({ level: 'silent' }), { disk: this.disk, pause })
  }

  async pass(seconds: number): Promise<void> {
    for (let n = 0; n < seconds; n++) {
      await this.#time.advance(1_000)
      while (this.#time.isBusy) await this.#time.turn()
    }
  }

  /** The number of checkpoints that were taken, and of those that have failed. */
  get outcomes(): [taken: number, failed: number] {
    const { taken, failed } = this.schedule.stats
    return [taken, failed]
  }
}

t.test('checkpoint: the disk is full: tried again once a minute, and then taken', async (t) => {
  const scene = new Scene(t)
  scene.disk.refuse('create', 'ENOSPC')
  scene.logBytes = dueBytes
  await scene.pass(59)
  t.same(scene.outcomes, [0, 1])
  await scene.pass(60)
  t.same(scene.outcomes, [0, 2])
  scene.disk.refuse('create', null)
  await scene.pass(60)
  t.same(scene.outcomes, [1, 2])
})

t.test('checkpoint: a MiB of log is written meanwhile: the next one follows', async (t) => {
  const scene = new Scene(t)
  scene.bytesDuring = dueBytes
  scene.logBytes = dueBytes - 1
  await scene.pass(5)
  t.same(scene.outcomes, [0, 0])
  scene.logBytes = dueBytes
  await scene.pass(1)
  t.same(scene.outcomes, [1, 0])
  scene.bytesDuring = 0
  await scene.pass(5)
  t.same(scene.outcomes, [2, 0])
})

t.test('checkpoint: the node stops while one is taken: a last one has the rest', async (t) => {
  const scene = new Scene(t)
  scene.bytesDuring = dueBytes
  scene.logBytes = dueBytes
  void scene.schedule.take()
  let isStopped = false
  void scene.schedule.stop().then(() => {
    isStopped = true
  })
  await settled() // the first one has begun
  await scene.pass(1)
  t.ok(isStopped)
  t.same(scene.outcomes, [2, 0])
})

t.test('checkpoint: damage is found while one is taken: those after it repair it', async (t) => {
  const scene = new Scene(t)
  const { state, schedule, disk } = scene
  state.text.append('x'.repeat(3 * dueBytes))
  scene.logBytes = dueBytes
  await scene.pass(1)
  const placeNow = () => placeOf(textStoreName, schedule.latest!.tables.get(textStoreName)!, 0)
  const place = placeNow()
  disk.bytesOf(`${dir}/${pagesName(place.file)}`)[place.offset]! ^= 1
  disk.erase(`${dir}/${parityName(place.file)}`)
  let letOn = () => {}
  scene.held = new Promise((resolve) => {
    letOn = resolve
  })
  void schedule.take()
  await settled()
  await scene.pass(1)
  void schedule.scrub.report(place)
  await settled()
  await scene.pass(1)
  t.same(scene.outcomes, [1, 0], 'the second one waits for the log')
  t.match(schedule.warnings, [/not repaired yet/])
  letOn()
  await settled()
  await scene.pass(5)
  t.same(schedule.warnings, [])
  t.not(placeNow().file, place.file)
})

t.test('start: stopped while the text is read into memory: no further page is read', async (t) => {
  const scene = new Scene(t)
  scene.state.text.append('x'.repeat(5 * dueBytes))
  scene.logBytes = dueBytes
  await scene.pass(1)
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const next = scene.newSchedule(() => held)
  const textBytesMax = 64 * dueBytes
  let state = scene.state
  const fresh = () => {
    state = new State({ retentionMs: 1, seed: 1, textBytesMax })
    return state
  }
  void next.load('ab', fresh, () => {})
  await scene.pass(1)
  next.begin(scene.journal, state)
  await scene.pass(1)
  const { bytesInMemory } = state.text
  t.ok(bytesInMemory < 5 * dueBytes, 'it pauses after a page')
  void next.stop()
  goOn()
  await scene.pass(1)
  t.equal(state.text.bytesInMemory, bytesInMemory)
})

t.test('scrub: checkpoints remove its file meanwhile: no warning stays', async (t) => {
  const scene = new Scene(t)
  const { state } = scene
  let held: Promise<void> | null = null
  let goOn = () => {}
  const schedule = scene.newSchedule(() => held)
  schedule.begin(scene.journal, state)
  state.text.append('x'.repeat(3 * dueBytes))
  void schedule.take()
  await scene.pass(1)
  const place = placeOf(textStoreName, schedule.latest!.tables.get(textStoreName)!, 0)
  scene.disk.bytesOf(`${dir}/${pagesName(place.file)}`)[place.offset]! ^= 1
  held = new Promise((resolve) => {
    goOn = resolve
  })
  void schedule.scrub.report(place)
  await scene.pass(1)
  t.match(schedule.warnings, [/not repaired yet/])
  held = null
  for (let n = 0; n < 2; n++) {
    eraseEntry(state.text, 0, 8)
    void schedule.take()
    await scene.pass(2)
  }
  t.notOk(scene.disk.contents().has(`${dir}/${pagesName(place.file)}`))
  goOn()
  await scene.pass(1)
  t.same(schedule.warnings, [])
})
