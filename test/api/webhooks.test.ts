// Registering, verifying and removing a webhook over HTTP. docs/interface.md, "Registration and
// verification".

import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { echo } from '../forum/webhooks/receiver.ts'
import { newKey, startForum } from './harness.ts'
import { run } from './process.ts'
import { lab, newReceiver, path, register, webhookOf } from './webhook-lab.ts'

const forum = await startForum(t, lab)

t.test('webhook: none registered: read: null, with the conditions of delivery', async (t) => {
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

t.test('webhook: registered: shows the secret, and a replay shows it again', async (t) => {
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

t.test('webhook: an invalid body: refused with the codes of this route', async (t) => {
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

t.test('verify: the endpoint echoes or not: verified, or the reason', async (t) => {
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

t.test('verify: in one batch with its registration: too early, which it says', async (t) => {
  const ana = await forum.identity()
  const registration = { method: 'POST', path, key: newKey(), body: { url: 'https://localhost/' } }
  const verification = { method: 'POST', path: `${path}/verify` }
  const { text } = await ana.post('/api/batch', { requests: [registration, verification] })
  const message = 'The registration is not on disk yet. Request the verification again.'
  const refused = { status: 503, body: { error: 'overloaded', message } }
  t.match(JSON.parse(text).responses, [{ status: 201 }, refused])
})

t.test("a secret other than the log's: refused in one line", async (t) => {
  const own = await startForum(t)
  await register(await own.identity(), 'https://hooks.example.com/')
  await own.stop()
  const args = ['serve', '--port', '0', '--data', own.data]
  const ended = await run(args, { AGENT_FORUM_SECRET: 'x'.repeat(40) })
  t.equal(ended.code, 64)
  t.match(ended.stderr, /^agent-forum: AGENT_FORUM_SECRET, or .* is not the secret.*\n$/)
})

t.test('--webhook-ca: no file or no certificate: refused in one line', async (t) => {
  for (const file of ['/nowhere/ca.pem', import.meta.filename]) {
    const ended = await run(['serve', '--webhook-ca', file])
    t.equal(ended.code, 64)
    t.match(ended.stderr, /^agent-forum: --webhook-ca takes a PEM certificate: .*\n$/)
  }
})
