// A tick: T1 everything once and in order, T2 all work before the answers, T3 bounded memory, T4
// paced work gives way, T5 heavy work one piece at a time.

import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { Tick } from '../../src/http/tick.ts'

const mb = 1 << 20

/** A tick, and what was done in it, in order. */
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

t.test('T5: heavy work: one piece in a tick, behind the work of others', async (t) => {
  const ends: (() => void)[] = []
  const did: string[] = []
  const tick = new Tick(
    () => {},
    (end) => ends.push(end),
  )
  for (const name of ['h1', 'h2', 'h3']) tick.addHeavyWork(() => did.push(name))
  tick.addWork(() => did.push('w'), 0)
  ends.shift()!()
  t.same(did, ['w', 'h1'])
  ends.shift()!()
  t.same(did, ['w', 'h1', 'h2'], 'a tick without other work')
  ends.shift()!()
  t.same(did, ['w', 'h1', 'h2', 'h3'])
  t.equal(ends.length, 0)
})
