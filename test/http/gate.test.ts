// The gate: G1 answers leave in the order they came, G2 each leaves once.

import fc from 'fast-check'
import t from 'tap'
import type { Answer } from '../../src/api/route.ts'
import { Gate } from '../../src/http/gate.ts'

function answer(position: number, body: string | Uint8Array = 'body'): Answer {
  return { status: 200, body, position }
}

t.test('gate: what is durable: leaves at once, and is not kept', async (t) => {
  const gate = new Gate({ durable: 5 })
  const sent: (Answer | null)[] = []
  const given = answer(5)
  gate.pass(given, (answer) => sent.push(answer))
  t.equal(sent[0], given)
  t.equal(gate.length, 0)
})

t.test('G1: positions in any order: leave in the order they came', async (t) => {
  const journal = { durable: 0 }
  const gate = new Gate(journal)
  const left: number[] = []
  for (const [i, position] of [3, 1, 2, 5, 4].entries())
    gate.pass(answer(position), () => left.push(i))
  gate.open(2)
  t.strictSame(left, [], 'the first waits for 3')
  gate.open(3)
  t.strictSame(left, [0, 1, 2])
  gate.open(4)
  t.strictSame([left.length, gate.length], [3, 2])
  gate.open(5)
  t.strictSame(left, [0, 1, 2, 3, 4])
})

t.test('gate: a page that waits: copied, as its memory is used again', async (t) => {
  for (const page of [Buffer.from('before'), new Uint8Array(Buffer.from('before'))]) {
    const gate = new Gate({ durable: 0 })
    const sent: string[] = []
    gate.pass(answer(1, page), (answer) => sent.push(Buffer.from(answer!.body).toString()))
    page.fill(0)
    gate.open(1)
    t.strictSame(sent, ['before'])
  }
})

t.test('gate: a refusal that waits: leaves whole, with its time to ask again', async (t) => {
  const gate = new Gate({ durable: 0 })
  const sent: (Answer | null)[] = []
  gate.pass({ ...answer(1), status: 503, retryAfter: 9 }, (answer) => sent.push(answer))
  gate.open(1)
  t.match(sent, [{ status: 503, body: 'body', retryAfter: 9 }])
})

t.test('G2: failed: all that wait hear null once, and nothing follows', async (t) => {
  const gate = new Gate({ durable: 0 })
  const sent: unknown[] = []
  gate.pass(answer(1), () => sent.push('sent'))
  gate.pass(answer(2), (answer) => sent.push(answer))
  gate.pass(answer(3), (answer) => sent.push(answer))
  gate.open(1)
  gate.fail()
  gate.fail()
  gate.open(9)
  t.strictSame(sent, ['sent', null, null])
  t.equal(gate.length, 0)
})

t.test('G2: failed: an answer that adds another while it leaves: that one waits', async (t) => {
  const gate = new Gate({ durable: 0 })
  let sent = 0
  gate.pass(answer(1), () => {
    gate.pass(answer(2), () => {
      sent += 1
    })
  })
  gate.fail()
  t.strictSame([gate.length, sent], [1, 0])
  gate.fail()
  t.strictSame([gate.length, sent], [0, 1])
})

t.test(
  'G1, G2: any arrivals and syncs, some nested: each once, in order, when durable',
  async (t) => {
    const step = fc.oneof(
      fc.record({ ahead: fc.nat(4), nested: fc.boolean() }),
      fc.record({ synced: fc.nat(3) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const journal = { durable: 0 }
        const gate = new Gate(journal)
        const waited: number[] = []
        let [count, direct] = [0, 0]
        const pass = (ahead: number, nested: boolean) => {
          const [number, position] = [count++, journal.durable + ahead]
          if (ahead === 0) direct += 1
          gate.pass(answer(position), () => {
            if (position > journal.durable) throw new Error('left before it was durable')
            if (ahead > 0) waited.push(number)
            if (nested) pass(ahead, false)
          })
        }
        for (const step of steps) {
          if ('ahead' in step) pass(step.ahead, step.nested)
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
        return (
          waited.length + direct === count && waited.every((n, i) => i === 0 || n > waited[i - 1])
        )
      }),
    )
    t.pass('held')
  },
)
