import t from 'tap'
import { webhook } from '../../../src/forum/webhooks/machine.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

type WebhookEvent = EventIn<typeof webhook>

const registered: WebhookEvent = { type: 'registered', at: 1000, lapsesAt: 2000 }

t.test('W2: webhook: pending: failed, then verified: active, the error is gone', async (t) => {
  const failed: WebhookEvent = { type: 'verifyFailed', error: 'webhook_timeout' }
  t.match(runEvents(webhook, [registered, failed]), {
    state: 'pending',
    context: { lastError: 'webhook_timeout', verifiedAt: 0 },
  })
  t.match(runEvents(webhook, [registered, failed, { type: 'verified', at: 1500 }]), {
    state: 'active',
    context: { lastError: '', verifiedAt: 1500, createdAt: 1000 },
  })
})

t.test('W2: webhook: active: a verification fails: it stays active', async (t) => {
  const { state, context } = runEvents(webhook, [
    registered,
    { type: 'verified', at: 1500 },
    { type: 'verifyFailed', error: 'webhook_timeout' },
  ])
  t.equal(state, 'active')
  t.match(context, { lastError: 'webhook_timeout', verifiedAt: 1500 })
})

t.test('W3: webhook: lapses early, in time, or when active: only in time', async (t) => {
  t.equal(runEvents(webhook, [registered, { type: 'lapsed', at: 1999 }]).state, 'pending')
  t.equal(runEvents(webhook, [registered, { type: 'lapsed', at: 2000 }]).state, 'lapsed')
  const verified: WebhookEvent = { type: 'verified', at: 1500 }
  t.equal(runEvents(webhook, [registered, verified, { type: 'lapsed', at: 9e15 }]).state, 'active')
})

t.test('W4: webhook: gone: any event: refused', async (t) => {
  const verified: WebhookEvent = { type: 'verified', at: 1500 }
  for (const end of [{ type: 'replaced' }, { type: 'removed' }] as const) {
    for (const before of [[registered], [registered, verified]]) {
      const { taken, state } = runEvents(webhook, [...before, end, verified, registered])
      t.equal(state, end.type)
      t.same(taken.slice(-2), [false, false])
    }
  }
})
