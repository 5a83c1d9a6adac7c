// Goal:   a checkpoint and the log after it give exactly the state to which the whole log folds,
//         whatever happened while the checkpoint was written.
// Method: random programs of commands. Checkpoints begin at random steps, and are written to a disk
//         in memory, a random number of slices at a time, between the commands. The stores and
//         facts of both states are compared by their hashes.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { apply } from '../../src/forum/apply.ts'
import { claimThread, releaseClaim } from '../../src/forum/claims/commands.ts'
import { State } from '../../src/forum/state.ts'
import { readWebhook, sweepWebhooks } from '../../src/forum/webhooks/commands.ts'
import { DueWebhooks } from '../../src/forum/webhooks/due-webhooks.ts'
import { checkpointSource, checkpointTarget, stateVersion } from '../../src/kernel/saved.ts'
import { Checkpoints } from '../../wal/checkpoint/checkpoints.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'
import { anyProgram } from './commands.ts'
import { dayMs, restart, type World } from './doubles.ts'
import { Run } from './program.ts'
import { hashesOf } from './state-hash.ts'
import { agents, Scene, seen, threads } from './webhooks/webhook-scene.ts'
import { run, step } from './webhooks/webhook-steps.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const quiet = { stateVersion, onNotice: () => {} }

/** Takes checkpoints of a world's state. Each slice of the work waits for `go`. */
class Taker {
  readonly disk = new SimulatedDisk(1)
  readonly #checkpoints: Checkpoints
  readonly #world: World
  #waiting: (() => void)[] = []
  #taking: Promise<unknown> | null = null

  constructor(world: World) {
    this.#world = world
    this.disk.makeDirectory('/data')
    this.#checkpoints = new Checkpoints({ disk: this.disk, dir: '/data', ...quiet })
  }

  begin(): void {
    if (this.#taking !== null) return
    const { state } = this.#world.forum
    const journal = {
      storeId: 'ab',
      get position() {
        return state.position
      },
      sync: turn,
      dropBefore: turn,
    }
    const pause = () => new Promise<void>((resolve) => this.#waiting.push(resolve))
    const taking = this.#checkpoints.take({ journal, ...checkpointSource(state), pause })
    this.#taking = taking.finally(() => {
      this.#taking = null
    })
  }

  /** Runs one slice. */
  async go(): Promise<void> {
    for (const resolve of this.#waiting.splice(0)) resolve()
    await turn()
  }

  async finish(): Promise<void> {
    while (this.#taking !== null) await this.go()
  }
}

function newState(): State {
  return new State({ retentionMs: dayMs, seed: 7 })
}

/** Returns what a start recovers: the state after the whole log, and the checkpoint's position. */
async function recovered(disk: SimulatedDisk, { rows }: World): Promise<[State, number]> {
  const checkpoints = new Checkpoints({ disk, dir: '/data', ...quiet })
  let state = newState()
  const position = await checkpoints.load('ab', () => {
    state = newState()
    return checkpointTarget(state)
  })
  assert.equal(state.position, position)
  const records = rows.records()
  for (let i = position; i < records.length; i++) apply(state, i + 1, records[i])
  return [state, position]
}

function folded({ rows }: World): State {
  const state = newState()
  for (const [i, record] of rows.records().entries()) apply(state, i + 1, record)
  return state
}

t.test(
  'checkpoints: taken during any program: with the log behind it: the state of the whole log',
  async () => {
    const slices = fc.array(fc.nat(6), { minLength: 40, maxLength: 40 })
    const begins = fc.uniqueArray(fc.nat(60), { minLength: 1, maxLength: 4 })
    const property = fc.asyncProperty(
      anyProgram,
      slices,
      begins,
      async (program, slices, begins) => {
        const restartless = program.filter(({ does }) => does !== 'restart')
        const forum = new Run(new Set())
        const taker = new Taker(forum.world)
        for (const [i, command] of restartless.entries()) {
          if (begins.includes(i)) taker.begin()
          forum.step(command)
          for (let n = slices[i % slices.length]; n > 0; n--) await taker.go()
        }
        await taker.finish()
        const [state] = await recovered(taker.disk, forum.world)
        const wanted = hashesOf(folded(forum.world))
        assert.deepEqual(hashesOf(forum.world.forum.state), wanted, 'live')
        assert.deepEqual(hashesOf(state), wanted, 'from a checkpoint')
      },
    )
    await fc.assert(property, { numRuns: 10, endOnFailure: true })
  },
)

t.test('R1: webhooks, taken during any program: as they were at its position', async () => {
  const slices = fc.array(fc.nat(9), { minLength: 20, maxLength: 20 })
  const begins = fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 4 })
  const program = fc.array(step, { minLength: 20, maxLength: 60 })
  const property = fc.asyncProperty(program, slices, begins, async (program, slices, begins) => {
    const scene = new Scene()
    for (let n = 1; n < agents; n++) scene.woken(n)
    const taker = new Taker(scene.world)
    for (const [i, command] of program.filter(({ does }) => does !== 'restart').entries()) {
      if (begins.includes(i)) taker.begin()
      run(scene, command)
      for (let n = slices[i % slices.length]; n > 0; n--) await taker.go()
    }
    await taker.finish()
    const [state] = await recovered(taker.disk, scene.world)
    const wanted = folded(scene.world)
    assert.deepEqual(hashesOf(state), hashesOf(wanted))
    const { changed: _, ...all } = seen(wanted)
    assert.deepEqual({ ...seen(state), changed: undefined }, { ...all, changed: undefined })
    const dueOf = ({ webhooks }: State) => {
      const due = new DueWebhooks(webhooks)
      due.resume()
      return due.size
    }
    assert.equal(dueOf(state), dueOf(wanted))
    // The index that finds whom a message wakes is restored, too.
    const wakingIn = ({ webhooks }: State) =>
      Array.from({ length: threads }, (_, n) => [...webhooks.followersOf(n)].sort())
    assert.deepEqual(wakingIn(state), wakingIn(wanted))
  })
  await fc.assert(property, { numRuns: 10, endOnFailure: true })
})

/** Continues the scene with a state from a checkpoint of it. */
async function restartFromCheckpoint(scene: Scene): Promise<void> {
  const taker = new Taker(scene.world)
  taker.begin()
  await taker.finish()
  const [state] = await recovered(taker.disk, scene.world)
  restart(scene.forum, state)
}

t.test('checkpoint: a webhook that nobody has verified: lapses after a start, too', async (t) => {
  const scene = new Scene()
  scene.register(1)
  await restartFromCheckpoint(scene)
  scene.world.clock.now += dayMs
  sweepWebhooks(scene.forum)
  t.equal(readWebhook(scene.forum, 1).webhook, null)
})

t.test(
  'checkpoint: claims end while it is taken: it has them, and the log ends them',
  async (t) => {
    for (let slices = 0; slices < 8; slices++) {
      const scene = new Scene()
      const claimed = (n: number) => ({ caller: 1, threadId: scene.threadIds[n]!, seconds: 60 })
      for (let n = 0; n < 3; n++) claimThread(scene.forum, { ...claimed(n), key: scene.key() })
      const taker = new Taker(scene.world)
      taker.begin()
      for (let n = 0; n < slices; n++) await taker.go()
      for (let n = 0; n < 2; n++) releaseClaim(scene.forum, claimed(n))
      claimThread(scene.forum, { ...claimed(0), key: scene.key() })
      await taker.finish()
      const [state] = await recovered(taker.disk, scene.world)
      t.same(hashesOf(state), hashesOf(folded(scene.world)), `after ${slices} slices`)
    }
  },
)

t.test('checkpoint: the newest claim has been released: fences go on after it', async (t) => {
  const scene = new Scene()
  const claimed = { caller: 1, threadId: scene.threadIds[0], seconds: 60 }
  t.match(claimThread(scene.forum, { ...claimed, key: scene.key() }), { fence: 1 })
  releaseClaim(scene.forum, claimed)
  await restartFromCheckpoint(scene)
  t.match(claimThread(scene.forum, { ...claimed, key: scene.key() }), { fence: 2 })
})
