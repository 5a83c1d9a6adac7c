import t from 'tap'
import { delivery } from '../../../src/forum/webhooks/delivery.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

type DeliveryEvent = EventIn<typeof delivery>

const started: DeliveryEvent = { type: 'started', first: 7, through: 9, at: 1000 }
const retried: DeliveryEvent = { type: 'retried', status: 0, error: 'timeout', nextAttemptAt: 5000 }

t.test('D1: delivery: more has come: merged while pending, never while sending', async (t) => {
  const merged: DeliveryEvent = { type: 'started', first: 7, through: 13, at: 2000 }
  t.match(runEvents(delivery, [started, merged]).context, { first: 7, through: 9 })
  const { taken, context } = runEvents(delivery, [started, retried, merged])
  t.same(taken, [true, true, true])
  t.match(context, { first: 7, through: 13, createdAt: 1000 })
})

t.test('D2: delivery: cut off and begun again, then retried: every start counts', async (t) => {
  const { state, context } = runEvents(delivery, [started, started, retried, started])
  t.equal(state, 'sending')
  t.match(context, { attempts: 3, nextAttemptAt: 0 })
})

t.test('D3: delivery: pending: has a next attempt; otherwise: has none', async (t) => {
  t.equal(runEvents(delivery, [started]).context.nextAttemptAt, 0)
  t.equal(runEvents(delivery, [started, retried]).context.nextAttemptAt, 5000)
  t.equal(runEvents(delivery, [started, retried, { type: 'cancelled' }]).context.nextAttemptAt, 0)
})

t.test('D4: delivery: ended: any event: refused', async (t) => {
  const ends: DeliveryEvent[] = [
    { type: 'delivered', at: 2000, status: 200 },
    { type: 'failed', status: 500, error: 'webhook_http_500' },
    { type: 'cancelled' },
  ]
  for (const end of ends) {
    const { taken, state } = runEvents(delivery, [started, end, started, ...ends])
    t.equal(state, end.type)
    t.same(taken, [true, true, false, false, false, false])
  }
  t.match(runEvents(delivery, [started, retried, started, ends[0]]).context, {
    deliveredAt: 2000,
    lastHttpStatus: 200,
    lastError: '',
  })
})
