// Making pages in steps: fairness, limits and endings. A step takes one unit of the clock.

import t from 'tap'
import type { JobRejection } from '../../src/kernel/sliced-work.ts'
import { type MadePage, PageMaking } from '../../src/people/page-making.ts'

class Scene {
  readonly making = new PageMaking()
  /** What was done, in order: a page's name for each of its steps, in capitals when it ended. */
  readonly did: string[] = []
  readonly outcomes: (Uint8Array | JobRejection | null)[] = []
  #nowMs = 0
  works = 0

  constructor() {
    this.making.onWork = () => {
      this.works += 1
    }
  }

  /** Adds a page of this many steps. Returns the refusal if there is no room. */
  add(name: string, client: string, steps: number, more = {}): JobRejection | null {
    const refusal = this.making.refuse(client)
    if (refusal !== null) return refusal
    const { bytes = 1, connection = { isGone: false } } = more as Partial<{
      bytes: number
      connection: { isGone: boolean }
    }>
    const making = { bytes, steps: this.#steps(name, steps) }
    this.making.add({ client, connection }, making, (outcome) => {
      this.outcomes.push(outcome !== null && 'body' in outcome ? outcome.body : outcome)
      this.did.push(name.toUpperCase())
    })
    return null
  }

  *#steps(name: string, count: number): Generator<void, MadePage> {
    for (let step = 1; step <= count; step++) {
      this.did.push(name)
      this.#nowMs += 1
      if (step < count) yield
    }
    return { body: Buffer.from(name) }
  }

  /** Runs one slice, and returns what was done. */
  slice(): string {
    this.making.doSlice(() => this.#nowMs)
    return this.did.splice(0).join(' ')
  }

  finish(): string {
    while (this.making.doSlice(() => this.#nowMs));
    return this.did.splice(0).join(' ')
  }
}

const [ana, ben] = ['192.0.2.1', '192.0.2.2']

t.test('M1: two callers, one with three pages: they take turns by steps', async (t) => {
  const scene = new Scene()
  for (const name of ['a', 'b', 'c']) scene.add(name, ana, 2)
  scene.add('d', ben, 2)
  t.equal(scene.finish(), 'a d a A d D b b B c c C')
  t.same(scene.outcomes.map(String), ['a', 'd', 'b', 'c'])
  t.equal(scene.works, 1)
  scene.add('e', ana, 1)
  t.equal(scene.works, 2, 'it is told again')
})

t.test('M1: addresses of one network: count as one caller', async (t) => {
  const scene = new Scene()
  scene.add('a', '2001:db8::1', 2)
  scene.add('b', '2001:db8::2', 1)
  scene.add('c', '2001:db8:0:1::1', 1)
  t.equal(scene.finish(), 'a c C a A b B')
})

t.test('M2: a slice: a millisecond, and at least one step', async (t) => {
  const scene = new Scene()
  scene.add('a', ana, 5)
  t.equal(scene.slice(), 'a a')
  t.equal(scene.slice(), 'a a')
  t.equal(scene.slice(), 'a A')
  t.equal(scene.making.length, 0)
})

t.test('M3: too many pages, of one caller or of all: rejected and counted', async (t) => {
  const scene = new Scene()
  const overloaded = { rejected: 'overloaded' }
  for (let i = 0; i < 256; i++) t.equal(scene.add('a', ana, 1), null)
  t.same(scene.add('a', ana, 1), overloaded, 'half of the room')
  for (let i = 0; i < 256; i++) t.equal(scene.add('b', `198.51.100.${i}`, 1), null)
  t.same(scene.add('c', ben, 1), overloaded, 'all of it')
  t.match(scene.making, { length: 512, refused: 2 })
  scene.finish()
  t.equal(scene.add('d', ana, 1), null, 'there is room again')
})

t.test('M3: two callers with all that they may have: a third one still has room', async (t) => {
  const scene = new Scene()
  while (scene.add('a', ana, 1) === null);
  while (scene.add('b', ben, 1) === null);
  t.ok(scene.making.length > 256, 'both have pages')
  t.equal(scene.add('c', '198.51.100.1', 1), null)
})

t.test('M3: too much text, of one caller or of all: rejected; one page always fits', async (t) => {
  const scene = new Scene()
  const large = { bytes: 64 << 20 }
  t.equal(scene.add('a', ana, 1, large), null)
  t.match(scene.add('b', ben, 1), { rejected: 'overloaded' })
  scene.finish()
  t.equal(scene.add('c', ana, 1, { bytes: 16 << 20 }), null)
  t.match(scene.add('d', ana, 1), { rejected: 'overloaded' }, 'half of the room')
  t.equal(scene.add('e', ben, 1, large), null)
})

t.test('M4: hung up, or stopped: nothing more is made', async (t) => {
  const scene = new Scene()
  const connection = { isGone: false }
  scene.add('a', ana, 3, { connection })
  scene.slice()
  connection.isGone = true
  t.equal(scene.slice(), 'A')
  scene.add('b', ana, 3)
  scene.add('c', ben, 3)
  scene.making.stop()
  const stopped = { rejected: 'shutting_down' }
  t.same(scene.outcomes.slice(1), [stopped, stopped])
  t.same([scene.add('d', ana, 1), scene.making.length], [stopped, 0])
})
