import t from 'tap'
import { noMessage, ticket } from '../../../src/forum/tickets/machine.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

type TicketEvent = EventIn<typeof ticket>

const issued: TicketEvent = { type: 'issued', expiresAt: 1000 }

t.test('T1: ticket: used: published again: the first message stays', async (t) => {
  const outcome = runEvents(ticket, [
    issued,
    { type: 'published', message: 7, at: 998 },
    { type: 'published', message: 8, at: 999 },
  ])
  t.match(outcome, { taken: [true, true, false], state: 'used', context: { message: 7 } })
})

t.test('T2: ticket: expired: published: nothing happens', async (t) => {
  const outcome = runEvents(ticket, [issued, { type: 'published', message: 7, at: 1000 }])
  t.match(outcome, { taken: [true, false], state: 'issued', context: { message: noMessage } })
})

t.test('T2: ticket: issued or used: expired early, then in time: expires once', async (t) => {
  const expiry: TicketEvent[] = [999, 1000, 1001].map((at) => ({ type: 'expired', at }))
  t.same(runEvents(ticket, [issued, ...expiry]).taken, [true, false, true, false])
  const used = runEvents(ticket, [issued, { type: 'published', message: 7, at: 1 }, ...expiry])
  t.match(used, {
    taken: [true, true, false, true, false],
    state: 'expired',
    context: { message: 7 },
  })
})
