// A tick: T1 everything runs once and in order, T2 all work precedes the answers, T3 memory is
// bounded, T4 paced work yields, T5 heavy work rests (H1 to H3).

import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { Tick } from '../../../src/edge/http/tick.ts'

const mb = 1 << 20

/** Returns a tick, and a list that records in order what was done in it. */
function newTick(): { tick: Tick; done: string[] } {
  const done: string[] = []
  const tick = new Tick(() => done.push('afterWork'))
  return { tick, done }
}

t.test('T2: work and answers of one tick: all work, then afterWork, then answers', async (t) => {
  const { tick, done } = newTick()
  for (const name of ['a', 'b', 'c']) {
    tick.addWork(() => {
      done.push(name)
      tick.addAnswer(() => done.push(name.toUpperCase()))
    }, 1)
  }
  t.strictSame(done, [])
  await nextIteration()
  t.strictSame(done, ['a', 'b', 'c', 'afterWork', 'A', 'B', 'C'])
  await nextIteration()
  t.equal(done.length, 7)
})

t.test('T1: added by work, by answers and between ticks: done once', async (t) => {
  const { tick, done } = newTick()
  tick.addWork(() => tick.addWork(() => done.push('work of work'), 0), 0)
  await nextIteration()
  await nextIteration()
  t.strictSame(done, ['afterWork', 'work of work', 'afterWork'])
  tick.addAnswer(() => {
    tick.addAnswer(() => done.push('answer of an answer'))
    tick.addWork(() => done.push('work of an answer'), 0)
  })
  await nextIteration()
  await nextIteration()
  t.strictSame(done.slice(3), [
    'afterWork',
    'work of an answer',
    'afterWork',
    'answer of an answer',
  ])
})

t.test(
  'T2: more than 256 in one tick: the first are answered before the last are done',
  async (t) => {
    const { tick, done } = newTick()
    for (let i = 1; i <= 600; i++) {
      tick.addWork(() => tick.addAnswer(() => done.push(`${i}`)), 0)
    }
    await nextIteration()
    const rounds = [done.indexOf('afterWork', 1), done.lastIndexOf('afterWork'), done.length]
    t.strictSame(rounds, [257, 514, 603])
    t.strictSame(
      done.filter((what) => what !== 'afterWork'),
      Array.from({ length: 600 }, (_, i) => `${i + 1}`),
    )
  },
)

for (const [what, count, bytes] of [
  ['4 MiB of bodies', 4, mb],
  ['16,384 requests', 16_384, 0],
] as const) {
  t.test(`T3: more than ${what}: the tick ends before, and all is done in order`, async (t) => {
    const { tick, done } = newTick()
    const add = (name: string) => {
      tick.addWork(() => {
        done.push(name)
        tick.addAnswer(() => done.push(`${name} answered`))
      }, bytes)
    }
    for (let i = 1; i <= count; i++) add(`${i}`)
    t.strictSame(done, [])
    add('one more')
    t.equal(done.filter((name) => name.endsWith('answered')).length, count)
    t.notOk(done.includes('one more'))
    await nextIteration()
    const all = done.filter((name) => name !== 'afterWork')
    t.strictSame(all.slice(-2), ['one more', 'one more answered'])
    t.equal(new Set(all).size, all.length)
  })
}

t.test('T4: much paced work: a third of the requests, at least 4, to its end', async (t) => {
  const { tick, done } = newTick()
  let left = 20
  tick.setPaced((count) => {
    for (let i = 0; i < count && left > 0; i++, left--) done.push('paced')
    return left > 0
  })
  const countIn = async (requests: number) => {
    done.length = 0
    for (let i = 0; i < requests; i++) tick.addWork(() => done.push('request'), 0)
    await nextIteration()
    return [done.lastIndexOf('request'), done.filter((what) => what === 'paced').length]
  }
  tick.plan()
  t.strictSame(await countIn(2), [1, 4], 'behind the requests')
  t.strictSame(await countIn(17), [16, 6])
  t.strictSame(await countIn(0), [-1, 4])
  t.strictSame(await countIn(0), [-1, 4])
  t.strictSame(await countIn(0), [-1, 2])
  t.strictSame(await countIn(0), [-1, 0], 'and then there is no tick')
  t.strictSame(done, [])
})

/** Ticks that end when the test says so, and time that advances as the test says. */
class Scene {
  readonly did: string[] = []
  readonly tick: Tick
  #nowMs = 1000
  #end: (() => void) | null = null
  readonly #timers: { atMs: number; wake: () => void }[] = []

  constructor() {
    this.tick = new Tick(() => {}, {
      atEnd: (end) => {
        this.#end = end
      },
      now: () => this.#nowMs,
      after: (ms, wake) => this.#timers.push({ atMs: this.#nowMs + ms, wake }),
    })
  }

  /** Adds pieces of heavy work, each of which takes this long. */
  addHeavy(ms: number, ...names: string[]): void {
    for (const name of names) {
      this.tick.addColdRead(() => {
        this.#nowMs += ms
        this.did.push(name)
      })
    }
  }

  /** Adds slices, each of which takes this long. */
  addSlices(ms: number, slice: () => boolean): void {
    this.tick.addSlices(() => {
      this.#nowMs += ms
      return slice()
    })
  }

  addRequest(): void {
    this.tick.addWork(() => this.did.push('request'), 0)
  }

  /** Adds a request that reads text from disk. */
  addParked(): void {
    this.tick.addWork(() => this.tick.noteParked(), 0)
  }

  /** Lets time pass, then ends the planned tick. Returns what was done. */
  end(afterMs = 0): string[] {
    this.#nowMs += afterMs
    for (const timer of this.#timers.splice(0)) {
      if (timer.atMs <= this.#nowMs) timer.wake()
      else this.#timers.push(timer)
    }
    const end = this.#end
    this.#end = null
    end?.()
    return this.did.splice(0)
  }

  get isPlanned(): boolean {
    return this.#end !== null
  }
}

t.test('T5 H1: heavy work: one piece in a tick, behind the work of others', async (t) => {
  const scene = new Scene()
  scene.addHeavy(0, 'h1', 'h2', 'h3')
  scene.addRequest()
  t.same(scene.end(), ['request', 'h1'])
  t.same(scene.end(), ['h2'], 'a tick without other work')
  t.same(scene.end(), ['h3'])
  t.notOk(scene.isPlanned)
})

t.test('H2 H3: other requests come: a piece of 0.1 ms, then 3.6 ms of rest', async (t) => {
  const scene = new Scene()
  scene.addHeavy(0.1, 'h1', 'h2', 'h3')
  scene.addRequest()
  t.same(scene.end(), ['request', 'h1'])
  t.ok(scene.isPlanned, 'the next tick finds out whether it rests')
  t.same(scene.end(), [])
  t.notOk(scene.isPlanned, 'nothing spins')
  for (let n = 0; n < 3; n++) {
    scene.addRequest()
    t.same(scene.end(1), ['request'])
    t.notOk(scene.isPlanned)
  }
  scene.addRequest()
  t.same(scene.end(0.7), ['request', 'h2'], '3.7 ms after the first')
  t.same(scene.end(), [])
  t.same(scene.end(2.1), ['h3'], 'no other request for 2 ms: the rest is over')
})

t.test('H2: only requests that read from disk come: no rests', async (t) => {
  const scene = new Scene()
  for (let n = 0; n < 3; n++) {
    scene.addParked()
    scene.addHeavy(1, `h${n}`)
    t.same(scene.end(), [`h${n}`])
  }
})

t.test('H2: a piece took very long: the rest does not', async (t) => {
  const scene = new Scene()
  scene.addHeavy(5_000, 'h1', 'h2')
  scene.addRequest()
  t.same(scene.end(), ['request', 'h1'])
  for (let ms = 1; ms <= 10; ms++) {
    scene.addRequest()
    t.same(scene.end(1), ms < 10 ? ['request'] : ['request', 'h2'])
  }
})

t.test(
  'T5 H2: slices beside requests: a third of the time, each in a tick of its own',
  async (t) => {
    const scene = new Scene()
    let slices = 0
    scene.addSlices(1, () => {
      slices += 1
      return true
    })
    const ticks = 300
    for (let i = 0; i < ticks; i++) {
      scene.addRequest()
      const before = slices
      scene.end(1)
      t.ok(slices - before <= 1)
    }
    // Each iteration takes a millisecond, and another one if it contains a slice.
    t.ok(slices > ticks / 5, `${slices}`)
    t.ok(slices / (ticks + slices) <= 1 / 3, `${slices}`)
  },
)

t.test('T5 H2: slices that nobody else waits for: one in every tick, until they end', async (t) => {
  const scene = new Scene()
  let left = 5
  scene.addSlices(1, () => {
    left -= 1
    return left > 0
  })
  for (let tick = 1; tick <= 5; tick++) {
    t.ok(scene.isPlanned)
    scene.end()
    t.equal(left, 5 - tick)
  }
  t.notOk(scene.isPlanned)
})
