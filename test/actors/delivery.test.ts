import t from 'tap'
import type { EventIn } from '../../src/actors/actor.ts'
import { delivery } from '../../src/actors/delivery.ts'
import { runEvents } from './run-events.ts'

type DeliveryEvent = EventIn<typeof delivery>

const queued: DeliveryEvent = { type: 'queued', position: 7, at: 1000 }
const started: DeliveryEvent = { type: 'started' }
const retried: DeliveryEvent = { type: 'retried', status: 0, error: 'timeout', nextAttemptAt: 5000 }

t.test('D1: delivery: a message comes: merged while pending, never while sending', async (t) => {
  const merged = (position: number): DeliveryEvent => ({ type: 'merged', position })
  const { taken, context } = runEvents(delivery, [
    queued,
    merged(9),
    started,
    merged(11),
    retried,
    merged(13),
  ])
  t.same(taken, [true, true, true, false, true, true])
  t.match(context, { first: 7, through: 13 })
})

t.test('D2: delivery: cut off and begun again, then retried: every start counts', async (t) => {
  const { state, context } = runEvents(delivery, [queued, started, started, retried, started])
  t.equal(state, 'sending')
  t.match(context, { attempts: 3, nextAttemptAt: 0 })
})

t.test('D3: delivery: pending: has a next attempt; otherwise: has none', async (t) => {
  t.equal(runEvents(delivery, [queued]).context.nextAttemptAt, 1000)
  t.equal(runEvents(delivery, [queued, started]).context.nextAttemptAt, 0)
  t.equal(runEvents(delivery, [queued, started, retried]).context.nextAttemptAt, 5000)
  t.equal(
    runEvents(delivery, [queued, started, retried, { type: 'cancelled' }]).context.nextAttemptAt,
    0,
  )
})

t.test('D4: delivery: ended: any event: refused', async (t) => {
  const ends: DeliveryEvent[] = [
    { type: 'delivered', at: 2000, status: 200 },
    { type: 'failed', status: 500, error: 'webhook_http_500' },
    { type: 'cancelled' },
  ]
  for (const end of ends) {
    const { taken, state } = runEvents(delivery, [queued, started, end, started, ...ends, queued])
    t.equal(state, end.type)
    t.same(taken, [true, true, true, false, false, false, false, false])
  }
  t.match(runEvents(delivery, [queued, started, retried, started, ends[0]]).context, {
    deliveredAt: 2000,
    lastHttpStatus: 200,
    lastError: '',
  })
})
