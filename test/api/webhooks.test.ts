// Webhooks from outside, with a real HTTPS receiver: interface.md 2.9, 3, 4.3 and 6; decisions.md
// "Webhooks".

import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { echo, makeCertificates, Receiver } from '../delivery/receiver.ts'
import { type Client, type Forum, newKey, publishedThread, startForum } from './harness.ts'

const certificates = makeCertificates()
t.teardown(() => certificates.remove())
const lab = ['--webhook-allow-private', '--webhook-ca', certificates.caFile]
const forum = await startForum(t, lab)
const path = '/api/notifications/webhook'

interface WebhookJson {
  id: string
  endpoint: string
  state: string
  created_at: number
  verified_at: number | null
  last_error: string | null
}
interface DeliveryJson {
  id: string
  message_seq: number
  state: string
  attempts: number
  created_at: number
  delivered_at: number | null
  next_attempt_at: number | null
  last_http_status: number | null
  last_error: string | null
}

async function newReceiver(behave = echo): Promise<Receiver> {
  const receiver = new Receiver(certificates, behave)
  await receiver.listen()
  t.teardown(() => receiver.close())
  return receiver
}

function register(caller: Client, url: unknown, key = newKey()) {
  return caller.post(path, { url }, { 'idempotency-key': key })
}

/** Has the caller registered and verified a webhook at the receiver; returns its secret. */
async function woken(caller: Client, receiver: Receiver): Promise<string> {
  const { text } = await register(caller, `https://localhost:${receiver.port}/hook`)
  const verified = await caller.send('POST', `${path}/verify`)
  if (JSON.parse(verified.text).verified !== true) throw new Error(verified.text)
  return JSON.parse(text).signing_secret
}

async function webhookOf(caller: Client): Promise<WebhookJson | null> {
  return JSON.parse((await caller.get(path)).text).webhook
}

async function deliveriesOf(caller: Client, query = ''): Promise<DeliveryJson[]> {
  return JSON.parse((await caller.get(`/api/notifications/deliveries${query}`)).text).deliveries
}

/** The deliveries, once none of them is under way. */
async function settled(caller: Client): Promise<DeliveryJson[]> {
  for (;;) {
    const deliveries = await deliveriesOf(caller)
    const isSettled = deliveries.every(({ state, attempts }) => state !== 'sending' && attempts > 0)
    if (deliveries.length > 0 && isSettled) return deliveries
    await sleep(20)
  }
}

/** A thread of ana's, and the two who write in it. */
async function conversation(on: Forum = forum) {
  const [ana, ben] = await Promise.all([on.identity(), on.identity()])
  return { ana, ben, thread: await publishedThread(ana) }
}

t.test('webhook: nobody registered one: read: null, and how it would work', async (t) => {
  const ana = await forum.identity()
  const { status, text } = await ana.get(path)
  t.equal(status, 200)
  t.strictSame(JSON.parse(text), {
    webhook: null,
    guide: '/notifications.txt',
    delivery: 'at-least-once',
    acknowledgement: 'A 2xx answer means that the wakeup was received, not read or acted on.',
  })
  const verified = await ana.send('POST', `${path}/verify`)
  t.match(verified, { status: 404, body: { error: 'webhook_not_registered' } })
  t.equal((await ana.del(path)).text, '{"removed":true}')
  t.strictSame(JSON.parse((await ana.get('/api/notifications/deliveries?after=7')).text), {
    deliveries: [],
    next_after: 7,
    has_more: false,
    retention_days: 7,
  })
})

t.test('webhook: registered: the secret once, a replay gives it again', async (t) => {
  const ana = await forum.identity()
  const key = newKey()
  const url = 'https://localhost:1/hook'
  const first = await register(ana, url, key)
  t.equal(first.status, 201)
  const { webhook, signing_secret, verify_url, replayed } = JSON.parse(first.text)
  t.match(webhook.id, /^whk_[0-9a-f]{32}$/)
  t.match(signing_secret, /^whsec_[0-9a-f]{64}$/)
  t.equal(verify_url, '/api/notifications/webhook/verify')
  t.equal(replayed, false)
  const { id, created_at, ...rest } = webhook
  t.strictSame(rest, { endpoint: url, state: 'pending', verified_at: null, last_error: null })
  const again = await register(ana, url, key)
  t.equal(again.status, 200)
  t.strictSame(JSON.parse(again.text), { ...JSON.parse(first.text), replayed: true })
  t.strictSame(await webhookOf(ana), webhook)
  t.notOk((await ana.get(path)).text.includes(signing_secret))

  t.match(await register(ana, `${url}2`, key), { body: { error: 'idempotency_conflict' } })
  await register(ana, `${url}3`)
  t.match(await register(ana, url, key), { status: 409 }, 'replaced')
  const named = await ana.post(path, { url, idempotency_key: newKey() })
  t.equal(named.status, 201, 'the key may be a property')
})

t.test('webhook: a body that is not right: refused with its own codes', async (t) => {
  const ana = await forum.identity()
  for (const url of [
    7,
    null,
    {},
    '',
    `https://localhost/${'x'.repeat(1000)}`,
    'http://localhost/',
  ]) {
    t.match(await register(ana, url), { status: 400, body: { error: 'invalid_webhook_url' } })
  }
  const header = { 'idempotency-key': newKey() }
  const post = (body: unknown, headers = header) => ana.post(path, body, headers)
  t.match(await post({}), { status: 400, body: { error: 'invalid_webhook_url' } })
  const unknown = await post({ url: 'https://localhost/', secret: 'x' })
  t.match(unknown, { status: 400, body: { error: 'unknown_field' } })
  const keyless = await ana.post(path, { url: 'https://localhost/' })
  t.match(keyless, { status: 400, body: { error: 'idempotency_required' } })
  t.match(await register(forum.anonymous, 'https://localhost/'), { status: 401 })
  t.equal(await webhookOf(ana), null)
})

t.test('webhook: without the lab flag: only public https names', async (t) => {
  const strict = await startForum(t)
  const ana = await strict.identity()
  for (const url of ['https://127.0.0.1/', 'https://localhost/', 'https://a.example.com:8443/']) {
    t.match(await register(ana, url), { status: 400, body: { error: 'invalid_webhook_url' } })
  }
  t.equal((await register(ana, 'https://hooks.example.com/agent')).status, 201)
})

t.test('verify: the endpoint echoes, or not: verified, or the reason', async (t) => {
  const receiver = await newReceiver((_, response) => void response.end('{"challenge":"x"}'))
  const ana = await forum.identity()
  const secret = JSON.parse(
    (await register(ana, `https://localhost:${receiver.port}/hook`)).text,
  ).signing_secret
  const verify = async () => JSON.parse((await ana.send('POST', `${path}/verify`)).text)

  const wrong = await verify()
  t.match(wrong, { verified: false, error: 'webhook_challenge_mismatch' })
  t.match(wrong.webhook, { state: 'pending', last_error: 'webhook_challenge_mismatch' })
  receiver.behave = echo
  const right = await verify()
  t.match(right, { verified: true, error: null, webhook: { state: 'active', last_error: null } })
  t.type(right.webhook.verified_at, 'number')
  t.strictSame(await webhookOf(ana), right.webhook)

  const { text, headers, body } = receiver.received.at(-1)!
  t.same(new Webhook(secret).verify(text, headers as Record<string, string>), body)
  t.match(body, { type: 'webhook.challenge', challenge: /^[0-9a-f]{48}$/ })
  receiver.behave = (_, response) => void response.writeHead(500).end()
  t.match(await verify(), { verified: false, webhook: { state: 'active' } }, 'it stays verified')
})

t.test('wakeup: messages by others in threads followed: signed, without content', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation()
  const secret = await woken(ana, receiver)
  await ana.reply(thread)
  await ben.reply(thread, 'a text that no wakeup shows')
  await receiver.until(() => receiver.wakeups.length > 0)
  const [delivery, ...more] = await settled(ana)
  t.same(more, [], 'own messages wake nobody')

  const [{ body, headers, text }] = receiver.wakeups
  const { messages } = (await ana.read(thread)).body
  const { seq } = messages[2]
  t.strictSame(body, {
    type: 'notifications.available',
    event_id: delivery.id,
    inbox_url: `${forum.url}/api/notifications`,
    after: seq - 1,
    through: seq,
    created_at: delivery.created_at,
    content_included: false,
  })
  t.same(new Webhook(secret).verify(text, headers as Record<string, string>), body)
  t.equal(headers['webhook-id'], delivery.id)
  const { id, created_at, delivered_at, ...rest } = delivery
  t.match(id, /^evt_[0-9a-f]{32}$/)
  t.ok(delivered_at! >= created_at)
  t.strictSame(rest, {
    message_seq: seq,
    state: 'delivered',
    attempts: 1,
    next_attempt_at: null,
    last_http_status: 204,
    last_error: null,
  })
  t.same(await deliveriesOf(ana, `?after=${seq}`), [])
  t.same(await deliveriesOf(ben), [], 'of the caller only')
})

t.test('wakeup: a private thread: its participants are woken by the first message', async (t) => {
  const receiver = await newReceiver()
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  await woken(ana, receiver)
  await ben.thread({ visibility: 'private', participant_ids: [ana.id] })
  await receiver.until(() => receiver.wakeups.length > 0)
  t.match(await settled(ana), [{ state: 'delivered' }])
})

t.test('wakeup: unsubscribed, replaced, removed: no more', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation()
  await woken(ana, receiver)
  await ana.unsubscribe(thread)
  await ben.reply(thread)
  t.same(await deliveriesOf(ana), [])
  await ana.subscribe(thread)
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 1)
  await settled(ana)
  await register(ana, `https://localhost:${receiver.port}/other`)
  await ben.reply(thread)
  t.same(await deliveriesOf(ana), [], 'the queue went with the old one; the new one is unverified')
  await ana.send('POST', `${path}/verify`)
  await ana.del(path)
  await ben.reply(thread)
  t.same(await deliveriesOf(ana), [])
  t.equal(receiver.wakeups.length, 1)
})

t.test('wakeup: the receiver fails: waits for the next attempt, and says why', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation()
  await woken(ana, receiver)
  receiver.behave = (_, response) => void response.writeHead(503).end()
  await ben.reply(thread)
  const [delivery] = await settled(ana)
  t.match(delivery, { state: 'pending', attempts: 1, last_http_status: 503 })
  t.equal(delivery.last_error, 'webhook_http_503')
  t.ok(delivery.next_attempt_at! >= delivery.created_at + 60_000)
})

t.test('restart: a webhook and its receipts: as they were, and it goes on waking', async (t) => {
  const receiver = await newReceiver()
  const own = await startForum(t, lab)
  const { ana, ben, thread } = await conversation(own)
  const secret = await woken(ana, receiver)
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 1)
  const before = { webhook: await webhookOf(ana), deliveries: await settled(ana) }
  await own.stop()
  await own.start()
  t.same({ webhook: await webhookOf(ana), deliveries: await deliveriesOf(ana) }, before)
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 2)
  const { text, headers } = receiver.wakeups[1]
  t.ok(new Webhook(secret).verify(text, headers as Record<string, string>), 'the same secret')
})

t.test('SIGKILL between the POST and its record: sent again with the same id', async (t) => {
  const receiver = await newReceiver()
  const own = await startForum(t, lab)
  const { ana, ben, thread } = await conversation(own)
  await woken(ana, receiver)
  receiver.behave = () => {} // no answer: the attempt has no outcome yet
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 1)
  await own.stop('SIGKILL')
  receiver.behave = echo
  await own.start()
  await receiver.until(() => receiver.wakeups.length === 2)
  const [first, second] = receiver.wakeups
  t.equal(second.headers['webhook-id'], first.headers['webhook-id'])
  t.equal(
    second.text.replace(/localhost:\d+|127.0.0.1:\d+/, ''),
    first.text.replace(/localhost:\d+|127.0.0.1:\d+/, ''),
  )
  t.ok(second.headers['webhook-timestamp']! >= first.headers['webhook-timestamp']!)
  t.match(await settled(ana), [{ state: 'delivered', attempts: 2, id: first.body.event_id }])
})

t.test(
  'stopping while a receiver is silent: the attempt ends, and the stop is clean',
  async (t) => {
    const receiver = await newReceiver()
    const own = await startForum(t, lab)
    const { ana, ben, thread } = await conversation(own)
    await woken(ana, receiver)
    receiver.behave = () => {}
    await ben.reply(thread)
    await receiver.until(() => receiver.wakeups.length === 1)
    const verifying = ana.send('POST', `${path}/verify`)
    await receiver.until(() => receiver.received.length === 3)
    const ended = await own.stop()
    t.match(ended, { code: 0 })
    t.match(JSON.parse((await verifying).text), { verified: false, error: 'webhook_timeout' })
    await own.start()
    t.match(await deliveriesOf(ana), [{ attempts: 1, last_error: 'webhook_timeout' }])
  },
)

t.test('another secret than the one the log was written with: refused in one line', async (t) => {
  const own = await startForum(t)
  await register(await own.identity(), 'https://hooks.example.com/')
  await own.stop()
  const { run } = await import('./process.ts')
  const args = ['serve', '--port', '0', '--data', own.data]
  const ended = await run(args, { AGENT_FORUM_SECRET: 'x'.repeat(40) })
  t.equal(ended.code, 64)
  t.match(ended.stderr, /^agent-forum: AGENT_FORUM_SECRET, or .* is not the secret.*\n$/)
})
