// Webhooks: registration and its replay, verification, lapsing, and the secret.

import assert from 'node:assert/strict'
import t from 'tap'
import { expireGuests } from '../../../src/forum/identities/commands.ts'
import { reply } from '../../../src/forum/threads/commands.ts'
import {
  beginVerification,
  finishVerification,
  hasRightKey,
  open,
  readWebhook,
  removeWebhook,
  sealNew,
  seedBytes,
  sweepWebhooks,
} from '../../../src/forum/webhooks/commands.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { dayMs, hourMs, replayed, restart, webhookKey } from '../doubles.ts'
import { Scene } from './webhook-scene.ts'

t.test('webhook: registered again with its key: the same secret, until it is gone', async (t) => {
  const scene = new Scene()
  const first = scene.register(1, 'key-of-it')
  assert.ok(!isRejection(first))
  t.match(first.secret, /^whsec_[0-9a-f]{64}$/)
  t.notOk(Buffer.concat(scene.world.rows.packed).toString('latin1').includes(first.secret))
  restart(scene.forum, replayed(scene.world.rows))
  const again = scene.register(1, 'key-of-it')
  t.match(again, { replayed: true, secret: first.secret, position: first.position })
  const conflict = { rejected: 'idempotency_conflict' }
  t.match(scene.register(1, 'key-of-it', 'https://other.example.com/'), conflict)
  const second = scene.register(1)
  t.not((second as typeof first).secret, first.secret)
  t.match(scene.register(1, 'key-of-it'), conflict, 'replaced')
  t.match(scene.register(1, `key-${scene.keys}`), { replayed: true })
  removeWebhook(scene.forum, 1)
  t.match(scene.register(1, `key-${scene.keys}`), conflict, 'removed')
  const threadId = scene.threadIds[0]
  const post = { caller: 1, threadId, content: 'x', address: '', key: 'key-of-it' }
  t.match(reply(scene.forum, post), conflict, 'one key space')
})

t.test('webhook: over a quota: refused until the hour is over, replays never', async (t) => {
  const limits = { webhooks: { identity: 2 }, verifications: { identity: 1 } }
  const scene = new Scene('persistent', limits)
  t.match(scene.register(1, 'key-of-one'), { replayed: false })
  t.match(scene.verify(1, 'webhook_timeout'), { webhook: {} })
  t.match(scene.verify(1), { rejected: 'rate_limited', retryAfter: 3600 })
  t.match(scene.register(1), { replayed: false })
  t.match(scene.register(1, `key-${scene.keys}`), { replayed: true })
  t.match(scene.register(1), { rejected: 'rate_limited' })
  t.match(scene.register(2), { replayed: false }, 'others are not limited')
  restart(scene.forum, replayed(scene.world.rows, limits))
  t.match(scene.register(1), { rejected: 'rate_limited' }, 'a restart forgets nothing')
  scene.world.clock.now += hourMs
  t.match(scene.register(1), { replayed: false })
  t.match(scene.verify(1), { webhook: {} })
})

t.test('webhook: unverified for a day: lapsed; verified: stays', async (t) => {
  const scene = new Scene()
  scene.register(1) // and replaced
  scene.register(1)
  scene.register(2)
  scene.verify(2)
  scene.world.clock.now += dayMs - 1
  sweepWebhooks(scene.forum)
  t.ok(readWebhook(scene.forum, 1).webhook)
  scene.world.clock.now += 1
  sweepWebhooks(scene.forum)
  t.equal(readWebhook(scene.forum, 1).webhook, null)
  t.equal(readWebhook(scene.forum, 1).position, scene.world.rows.position)
  t.ok(readWebhook(scene.forum, 2).webhook)
  t.match(scene.verify(1), { rejected: 'webhook_not_registered' })
  const { length } = scene.world.rows.packed
  sweepWebhooks(scene.forum)
  t.equal(scene.world.rows.packed.length, length, 'no record is made when nothing lapses')
})

t.test('webhook: verified again: woken for what came before that, too', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  const first = scene.reply(2, 0)
  scene.verify(1)
  t.match(scene.begin(), { first })
})

t.test('webhook: removed during its verification: not registered', async (t) => {
  const scene = new Scene()
  scene.register(1)
  const begun = beginVerification(scene.forum, 1)
  assert.ok(!isRejection(begun))
  scene.register(1)
  t.match(finishVerification(scene.forum, begun, null), { rejected: 'webhook_not_registered' })
  const { webhook } = readWebhook(scene.forum, 1)
  t.equal(scene.state.webhooks.isActive(webhook!), false, 'the other one is not verified')
})

t.test('secret: sealed: opens only unchanged, for its webhook and with its key', async (t) => {
  const sealed = sealNew(webhookKey, 'a', Buffer.alloc(seedBytes, 9))
  t.equal(open(webhookKey, 'a', sealed), `whsec_${'09'.repeat(32)}`)
  t.equal(open(webhookKey, 'b', sealed), null)
  t.equal(open(Buffer.alloc(32, 6), 'a', sealed), null)
  for (let i = 0; i < sealed.length; i++) {
    const touched = Buffer.from(sealed)
    touched[i] ^= 1
    t.equal(open(webhookKey, 'a', touched), null)
  }
  const scene = new Scene()
  t.equal(hasRightKey(scene.forum), true)
  scene.register(1)
  t.equal(hasRightKey(scene.forum), true)
  t.equal(hasRightKey({ ...scene.forum, webhookKey: Buffer.alloc(32, 6) }), false)
})

t.test('webhook: of a persistent identity: the guests of its week expire: stays', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.world.clock.now += 7 * dayMs
  expireGuests(scene.forum)
  t.ok(scene.state.webhooks.of(1), 'its owner has not expired')
  scene.reply(2, 0)
  t.match(scene.begin(), { endpoint: 'https://hooks.example.com/' })
})

t.test('webhook: removed while it is verified: the refusal waits for the removal', async (t) => {
  const scene = new Scene()
  scene.register(1)
  const begun = beginVerification(scene.forum, 1)
  assert.ok(!isRejection(begun))
  removeWebhook(scene.forum, 1)
  const refused = { rejected: 'webhook_not_registered', position: scene.state.position }
  t.same(finishVerification(scene.forum, begun, null), refused)
})

t.test('webhook: not durable yet: verified: its endpoint is not contacted before', async (t) => {
  const scene = new Scene()
  const { rows } = scene.world
  const registered = scene.register(1)
  assert.ok(!isRejection(registered))
  const { position } = registered
  const append = (row: unknown) => rows.append(row)
  scene.forum.journal = {
    append,
    flush() {},
    separate: () => true,
    health: 'ok',
    durable: position - 1,
  }
  const detail = 'The registration is not on disk yet. Request the verification again.'
  t.same(beginVerification(scene.forum, 1), { rejected: 'overloaded', position, detail })
  scene.forum.journal = rows
  t.match(beginVerification(scene.forum, 1), { endpoint: 'https://hooks.example.com/' })
})
