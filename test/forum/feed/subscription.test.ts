import t from 'tap'
import { subscription } from '../../../src/forum/feed/subscription.ts'
import { runEvents } from '../../kernel/run-events.ts'

t.test('S1: subscription: subscribed: subscribed again: nothing changes', async (t) => {
  const outcome = runEvents(subscription, [
    { type: 'subscribed', position: 3 },
    { type: 'subscribed', position: 4 },
  ])
  t.same(outcome, { taken: [true, false], state: 'subscribed', context: { since: 3 } })
})

t.test('S1: subscription: none: unsubscribed: nothing changes', async (t) => {
  const outcome = runEvents(subscription, [{ type: 'unsubscribed', position: 3 }])
  t.same(outcome, { taken: [false], state: 'none', context: { since: 0 } })
})

t.test('S2: subscription: left and joined again: since is the last change', async (t) => {
  const outcome = runEvents(subscription, [
    { type: 'subscribed', position: 3 },
    { type: 'unsubscribed', position: 5 },
    { type: 'subscribed', position: 8 },
  ])
  t.same(outcome, { taken: [true, true, true], state: 'subscribed', context: { since: 8 } })
})
