// Work in slices, on ticks that the test runs.

import t from 'tap'
import type { Holder } from '../../src/base/shares.ts'
import type { Service } from '../../src/edge/api/route.ts'
import type { AnyCall } from '../../src/edge/http/checked-request.ts'
import * as commands from '../../src/forum/commands.ts'
import type { Forum } from '../../src/forum/forum.ts'
import { getIdentities, getIdentity } from '../../src/forum/identities/routes.ts'
import { eraseMessage } from '../../src/forum/moderation/commands.ts'
import { getThreads } from '../../src/forum/threads/list-routes.ts'
import { findMessage } from '../../src/forum/threads/queries.ts'
import { ownWork, SlicedWork } from '../../src/kernel/sliced-work.ts'

class Scene {
  readonly #ticks: (() => void)[] = []
  readonly work = new SlicedWork((run) => this.#ticks.push(run))
  readonly did: string[] = []

  /** Adds a job of this many slices. */
  add(name: string, holder: Holder, slices: number) {
    let left = slices
    return this.work.add(holder, () => {
      this.did.push(name)
      left -= 1
      return left === 0 ? name : null
    })
  }

  tick(): boolean {
    const run = this.#ticks.shift()
    run?.()
    return run !== undefined
  }
}

t.test(
  'W1: jobs of two callers: one slice in each tick, callers in turn, each job to its end',
  async (t) => {
    const scene = new Scene()
    const jobs = [scene.add('a', 1, 3), scene.add('b', 1, 1), scene.add('c', 2, 2)]
    for (let ticks = 1; scene.tick(); ticks++) t.equal(scene.did.length, ticks)
    t.same(scene.did, ['a', 'c', 'b', 'c', 'a', 'a'])
    t.same(await Promise.all(jobs), ['a', 'b', 'c'])
    const later = scene.add('d', 1, 1)
    t.ok(scene.tick(), 'it begins again')
    t.equal(await later, 'd')
    t.notOk(scene.tick())
  },
)

t.test('W1: many jobs of one caller: another one waits for one slice of them', async (t) => {
  const scene = new Scene()
  for (let i = 0; i < 64; i++) scene.add('many', 1, 2)
  scene.tick()
  scene.add('one', 2, 3)
  for (let i = 0; i < 6; i++) scene.tick()
  t.same(scene.did, ['many', 'many', 'one', 'many', 'one', 'many', 'one'])
  while (scene.tick());
  t.equal(scene.did.length, 64 * 2 + 3)
})

t.test('W2: too many jobs, of one identity or of all: rejected and counted', async (t) => {
  const scene = new Scene()
  const overloaded = { rejected: 'overloaded' }
  for (let i = 0; i < 64; i++) scene.add('a', 1, 2)
  t.same(await scene.add('a', 1, 1), overloaded, 'the sixty-fifth of one identity')
  for (let i = 64; i < 512; i++) scene.add('b', 100 + i, 2)
  t.same(await scene.add('c', 2, 1), overloaded, 'one more than all')
  t.match(scene.work, { length: 512, refused: 2 })
  while (scene.tick());
  const last = scene.add('d', 1, 1)
  scene.tick()
  t.equal(await last, 'd', 'there is room again')
  t.match(scene.work, { length: 0, refused: 2 })
})

t.test('W2: identities take all jobs that they get: there is one for another', async (t) => {
  const scene = new Scene()
  for (let identity = 0; identity < 8; identity++) {
    for (let i = 0; i < 64; i++) scene.add('many', identity, 2)
  }
  const { length } = scene.work
  scene.add('another', 100, 2)
  t.equal(scene.work.length, length + 1)
  while (scene.tick());
})

t.test('W2: callers have all jobs that they may have: operators have theirs', async (t) => {
  const scene = new Scene()
  for (let i = 0; i < 512; i++) scene.add('caller', i, 2)
  const own = Array.from({ length: 64 }, () => scene.add('own', ownWork, 1))
  t.same(await scene.add('own', ownWork, 1), { rejected: 'overloaded' }, 'one too many')
  while (scene.tick());
  t.same(await Promise.all(own), Array(64).fill('own'))
  for (let i = 0; i < 64; i++) scene.add('own', ownWork, 1)
  for (let i = 0; i < 512; i++) scene.add('caller', i, 1)
  t.equal(scene.work.length, 576, 'callers have theirs, too')
  while (scene.tick());
})

t.test('W2: 512 addresses look for unknown messages: an operator removes one', async (t) => {
  const scene = new Scene()
  const messages = { count: 10_000_000, find: () => -1 }
  const forum = { state: { messages }, slicedWork: scene.work } as unknown as Forum
  const id = `msg_${'0'.repeat(32)}`
  const looks = Array.from({ length: 512 }, (_, i) => findMessage(forum, `address ${i}`, id))
  const removal = eraseMessage(forum, { id, reason: '' })
  t.same(await findMessage(forum, '203.0.113.1', id), { rejected: 'overloaded' })
  while (scene.tick());
  t.match(await removal, { rejected: 'not_found' })
  t.same(await Promise.all(looks), Array(512).fill(-1))
})

for (const [name, route] of Object.entries({ getThreads, getIdentity, getIdentities })) {
  t.test(`W2: ${name}: one address has its places, another address has others`, async (t) => {
    const scene = new Scene()
    const never = () => false
    const forum = {
      state: {
        identities: { findNamed: () => 0 },
        messages: { count: 0 },
        threads: { public: { length: 0 } },
        claims: { count: 0 },
        position: 0,
      },
      activity: { cover: never },
      publishers: { catchUp: never, catchUpWithNames: never },
      slicedWork: scene.work,
    }
    const service = { forum, commands, access: {} } as unknown as Service
    const query = { order: 'activity', cursor: undefined, limit: 1, name: '' }
    const from = (address: string) => {
      const isNeeded = route.needsClient?.(service, commands.nobody, query)
      const asked = { caller: commands.nobody, client: isNeeded ? address : '', id: '', query }
      void route.run(service, { ...asked, connection: { isGone: false } } as unknown as AnyCall)
    }
    for (let i = 0; i < 65; i++) from('192.0.2.1')
    t.match(scene.work, { length: 64, refused: 1 })
    from('203.0.113.1')
    t.match(scene.work, { length: 65, refused: 1 })
    scene.work.stop()
  })
}

t.test('W3: stopped: every job ends, and none begins', async (t) => {
  const scene = new Scene()
  const stopped = { rejected: 'shutting_down' }
  const jobs = [scene.add('a', 1, 3), scene.add('b', 2, 3)]
  scene.tick()
  scene.work.stop()
  t.same(await Promise.all([...jobs, scene.add('c', 1, 1)]), [stopped, stopped, stopped])
  while (scene.tick());
  t.same(scene.did, ['a'])
})
