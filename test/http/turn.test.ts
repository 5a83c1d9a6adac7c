// A turn: T1 everything once and in order, T2 all work before the answers, T3 only so much is held.

import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Turn } from '../../src/http/turn.ts'

const mb = 1 << 20

/** What was done, in order. */
function given(): { turn: Turn; done: string[] } {
  const done: string[] = []
  const turn = new Turn(() => done.push('afterWork'))
  return { turn, done }
}

t.test('T2: work and answers of one turn: all work, what comes after, answers', async (t) => {
  const { turn, done } = given()
  for (const name of ['a', 'b', 'c']) {
    turn.addWork(() => {
      done.push(name)
      turn.addAnswer(() => done.push(name.toUpperCase()))
    }, 1)
  }
  t.strictSame(done, [])
  await nextTurn()
  t.strictSame(done, ['a', 'b', 'c', 'afterWork', 'A', 'B', 'C'])
  await nextTurn()
  t.equal(done.length, 7)
})

t.test('T1: added by work, by answers and between turns: done once', async (t) => {
  const { turn, done } = given()
  turn.addWork(() => turn.addWork(() => done.push('work of work'), 0), 0)
  await nextTurn()
  await nextTurn()
  t.strictSame(done, ['afterWork', 'work of work', 'afterWork'])
  turn.addAnswer(() => {
    turn.addAnswer(() => done.push('answer of an answer'))
    turn.addWork(() => done.push('work of an answer'), 0)
  })
  await nextTurn()
  await nextTurn()
  t.strictSame(done.slice(3), [
    'afterWork',
    'work of an answer',
    'afterWork',
    'answer of an answer',
  ])
})

t.test(
  'T2: more than 256 in one turn: the first are answered before the last are done',
  async (t) => {
    const { turn, done } = given()
    for (let i = 1; i <= 600; i++) {
      turn.addWork(() => turn.addAnswer(() => done.push(`${i}`)), 0)
    }
    await nextTurn()
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
  t.test(`T3: more than ${what}: the turn ends before, and all is done in order`, async (t) => {
    const { turn, done } = given()
    const add = (name: string) => {
      turn.addWork(() => {
        done.push(name)
        turn.addAnswer(() => done.push(`${name} answered`))
      }, bytes)
    }
    for (let i = 1; i <= count; i++) add(`${i}`)
    t.strictSame(done, [])
    add('one more')
    t.equal(done.filter((name) => name.endsWith('answered')).length, count)
    t.notOk(done.includes('one more'))
    await nextTurn()
    const all = done.filter((name) => name !== 'afterWork')
    t.strictSame(all.slice(-2), ['one more', 'one more answered'])
    t.equal(new Set(all).size, all.length)
  })
}
