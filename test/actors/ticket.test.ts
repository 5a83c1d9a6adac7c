import t from 'tap'

import { compile } from '../../src/actors/compile.ts'
import type { TicketEvent } from '../../src/actors/ticket.ts'
import { noMessage, ticketMachine } from '../../src/actors/ticket.ts'

const ticket = compile(ticketMachine)

function given(...events: TicketEvent[]) {
  const actor = { state: ticket.initialState, context: ticket.initialContext() }
  const taken = events.map((event) => ticket.step(actor, event))
  return { taken, state: ticket.states[actor.state], message: actor.context.message }
}

const issued: TicketEvent = { type: 'issued', expiresAt: 1000 }

t.test('T1: ticket: used: published again: the first message stays', async (t) => {
  const outcome = given(
    issued,
    { type: 'published', message: 7, at: 998 },
    { type: 'published', message: 8, at: 999 },
  )
  t.same(outcome, { taken: [true, true, false], state: 'used', message: 7 })
})

t.test('T2: ticket: its time has come: published: nothing happens', async (t) => {
  const outcome = given(issued, { type: 'published', message: 7, at: 1000 })
  t.same(outcome, { taken: [true, false], state: 'issued', message: noMessage })
})

t.test('T2: ticket: issued or used: expired early, then in time: expires once', async (t) => {
  const expiry: TicketEvent[] = [999, 1000, 1001].map((at) => ({ type: 'expired', at }))
  t.same(given(issued, ...expiry).taken, [true, false, true, false])
  const used = given(issued, { type: 'published', message: 7, at: 1 }, ...expiry)
  t.same(used, { taken: [true, true, false, true, false], state: 'expired', message: 7 })
})
