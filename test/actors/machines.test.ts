// Goal:   every machine of the forum runs compiled exactly as xstate would run it.
// Method: random sequences of the machine's own events, small numbers so that guards meet their
//         edges, through every way of running it; states, contexts and "taken" compared each time.

import fc from 'fast-check'
import t from 'tap'
import type { EventObject } from 'xstate'

import type { Layout } from '../../src/actors/actor-table.ts'
import { identityLayout } from '../../src/actors/identity.ts'
import { machines } from '../../src/actors/machines.ts'
import { decisions, proposalKinds, proposalLayout } from '../../src/actors/proposal.ts'
import { subscriptionLayout } from '../../src/actors/subscription.ts'
import { threadLayout } from '../../src/actors/thread.ts'
import { ticketLayout } from '../../src/actors/ticket.ts'
import { runEveryWay } from './every-way.ts'

const position = fc.integer({ min: 1, max: 2 ** 40 })
const at = fc.integer({ min: 0, max: 8 })
const status = fc.integer({ min: 0, max: 599 })

function event(type: string, fields: Record<string, fc.Arbitrary<unknown>>) {
  return fc.record({ type: fc.constant(type), ...fields }, { noNullPrototype: true })
}

// A layout of null: the context holds more than numbers.
interface Sample {
  layout: Layout<Record<string, number>> | null
  events: fc.Arbitrary<EventObject>
}

const samples: Record<string, Sample> = {
  thread: {
    layout: threadLayout,
    events: fc.oneof(
      event('created', {
        at,
        position,
        author: fc.nat(2 ** 32 - 1),
        visibility: fc.constantFrom('public', 'private'),
      }),
      event('replied', { position }),
    ),
  },
  identity: {
    layout: identityLayout,
    events: fc.oneof(
      event('created', {
        kind: fc.constantFrom('guest', 'persistent', 'compat'),
        at,
        expiresAt: at,
        position,
      }),
      event('expired', { at }),
      event('followed', { position }),
      event('unfollowed', { position }),
    ),
  },
  subscription: {
    layout: subscriptionLayout,
    events: fc.oneof(event('subscribed', { position }), event('unsubscribed', { position })),
  },
  webhook: {
    layout: null,
    events: fc.oneof(
      event('registered', { at, lapsesAt: at }),
      event('verified', { at }),
      event('verifyFailed', { error: fc.string() }),
      event('lapsed', { at }),
      event('replaced', {}),
      event('removed', {}),
    ),
  },
  delivery: {
    layout: null,
    events: fc.oneof(
      event('queued', { position, at }),
      event('merged', { position }),
      event('started', {}),
      event('delivered', { at, status }),
      event('retried', { status, error: fc.string(), nextAttemptAt: at }),
      event('failed', { status, error: fc.string() }),
      event('cancelled', {}),
    ),
  },
  ticket: {
    layout: ticketLayout,
    events: fc.oneof(
      event('issued', { expiresAt: at }),
      event('published', { message: fc.nat(2 ** 32 - 1), at }),
      event('expired', { at }),
    ),
  },
  proposal: {
    layout: proposalLayout,
    events: fc.oneof(
      event('saved', {
        kind: fc.constantFrom(...proposalKinds),
        candidate: fc.integer({ min: -1, max: 2 }),
        at,
        position,
      }),
      event('reviewed', { by: fc.nat(2), decision: fc.constantFrom(...decisions), position }),
    ),
  },
}

for (const machine of machines) {
  const { id } = machine
  t.test(`${id}: any state: random events: every way of running it agrees`, async (t) => {
    const { layout, events } = samples[id]
    const visited = new Set<string>()
    fc.assert(
      fc.property(fc.array(events, { maxLength: 30 }), (sequence) => {
        for (const state of runEveryWay(machine, layout, sequence)) visited.add(state)
      }),
      { numRuns: 500 },
    )
    t.same([...visited].sort(), Object.keys(machine.states).sort(), 'every state was reached')
  })
}
