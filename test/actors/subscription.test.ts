import t from 'tap'

import { compile } from '../../src/actors/compile.ts'
import type { SubscriptionEvent } from '../../src/actors/subscription.ts'
import { subscriptionMachine } from '../../src/actors/subscription.ts'

const subscription = compile(subscriptionMachine)

function given(...events: SubscriptionEvent[]) {
  const actor = { state: subscription.initialState, context: subscription.initialContext() }
  const taken = events.map((event) => subscription.step(actor, event))
  return { taken, state: subscription.states[actor.state], since: actor.context.since }
}

t.test('S1: subscription: subscribed: subscribed again: nothing changes', async (t) => {
  const outcome = given({ type: 'subscribed', position: 3 }, { type: 'subscribed', position: 4 })
  t.same(outcome, { taken: [true, false], state: 'subscribed', since: 3 })
})

t.test('S1: subscription: none: unsubscribed: nothing changes', async (t) => {
  const outcome = given({ type: 'unsubscribed', position: 3 })
  t.same(outcome, { taken: [false], state: 'none', since: 0 })
})

t.test('S2: subscription: left and joined again: since is the last change', async (t) => {
  const outcome = given(
    { type: 'subscribed', position: 3 },
    { type: 'unsubscribed', position: 5 },
    { type: 'subscribed', position: 8 },
  )
  t.same(outcome, { taken: [true, true, true], state: 'subscribed', since: 8 })
})
