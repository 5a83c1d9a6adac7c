// The gate: G1 answers leave in the order of their arrival, G2 each leaves once, G3 answers that
// have left are released.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { Gate } from '../../../src/edge/http/gate.ts'
import { until } from '../../until.ts'

t.test('G1: positions in any order: leave in the order they came', async (t) => {
  const gate = new Gate()
  const left: number[] = []
  for (const [i, position] of [3, 1, 2, 5, 4].entries()) gate.keep(position, () => left.push(i))
  gate.open(2)
  t.strictSame(left, [], 'the first waits for 3')
  gate.open(3)
  t.strictSame(left, [0, 1, 2])
  gate.open(4)
  t.strictSame([left.length, gate.length], [3, 2])
  gate.open(5)
  t.strictSame(left, [0, 1, 2, 3, 4])
})

t.test('G3: something waits at all times: answers that left are released', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const gate = new Gate()
  const left = Array.from({ length: 1000 }, (_, i) => {
    const answer = { body: new Uint8Array(1024) }
    gate.keep(i, () => answer.body.length)
    gate.open(i - 1)
    return new WeakRef(answer)
  })
  t.equal(gate.length, 1)
  // A WeakRef's target is kept alive until the end of the iteration in which it was created or
  // read.
  await nextTurn()
  await until('all but two answers to be collected', () => {
    collect()
    return left.filter((answer) => answer.deref() !== undefined).length <= 2
  })
  gate.fail()
})

t.test('G2: given up: all that wait now are told once; what comes later waits', async (t) => {
  const gate = new Gate()
  const sent: (string | null)[] = []
  gate.keep(1, (failure) => {
    sent.push(failure)
    gate.keep(2, (later) => sent.push(later))
    gate.keep(3, (later) => sent.push(later))
  })
  gate.giveUp()
  t.strictSame(sent, ['no_leader'])
  gate.open(2)
  gate.fail()
  t.strictSame(sent, ['no_leader', null, 'storage_failed'])
})

t.test('G2: failed: all that wait are told once, and nothing follows', async (t) => {
  const gate = new Gate()
  const sent: (string | null)[] = []
  for (const position of [1, 2, 3]) gate.keep(position, (failure) => sent.push(failure))
  gate.open(1)
  gate.fail()
  gate.fail()
  gate.open(9)
  t.strictSame(sent, [null, 'storage_failed', 'storage_failed'])
  t.equal(gate.length, 0)
})

t.test('G2: failed: what comes later is refused at once, even while others leave', async (t) => {
  const gate = new Gate()
  const sent: [string, string | null][] = []
  gate.keep(1, (failure) => {
    sent.push(['first', failure])
    gate.keep(2, (failure) => sent.push(['added by it', failure]))
  })
  gate.fail()
  gate.keep(3, (failure) => sent.push(['later', failure]))
  t.strictSame(sent, [
    ['first', 'storage_failed'],
    ['added by it', 'storage_failed'],
    ['later', 'storage_failed'],
  ])
  t.equal(gate.length, 0)
})

t.test(
  'G1, G2: any arrivals and syncs, some nested: each once, in order, when durable',
  async (t) => {
    const step = fc.oneof(
      fc.record({ ahead: fc.integer({ min: 1, max: 4 }), nested: fc.boolean() }),
      fc.record({ synced: fc.nat(3) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const journal = { durable: 0 }
        const gate = new Gate()
        const left: number[] = []
        let count = 0
        const keep = (ahead: number, nested: boolean) => {
          const [number, position] = [count++, journal.durable + ahead]
          gate.keep(position, () => {
            if (position > journal.durable) throw new Error('left before it was durable')
            left.push(number)
            if (nested) keep(ahead, false)
          })
        }
        for (const step of steps) {
          if ('ahead' in step) keep(step.ahead, step.nested)
          else {
            journal.durable += step.synced
            gate.open(journal.durable)
          }
        }
        journal.durable += 100
        while (gate.length > 0) {
          journal.durable += 100
          gate.open(journal.durable)
        }
        return left.length === count && left.every((n, i) => i === 0 || n > left[i - 1])
      }),
    )
    t.pass('held')
  },
)
