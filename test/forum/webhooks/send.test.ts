// Sending to a real HTTPS receiver. Each test specifies how names resolve.

import { createServer } from 'node:net'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import type { Resolve } from '../../../src/forum/webhooks/address.ts'
import { Challenger } from '../../../src/forum/webhooks/challenge.ts'
import { createSender, timeoutMs } from '../../../src/forum/webhooks/send.ts'
import { type Behave, makeCertificates, Receiver } from './receiver.ts'

const certificates = makeCertificates()
const receiver = new Receiver(certificates)
await receiver.listen()
t.teardown(async () => {
  await receiver.close()
  certificates.remove()
})

const local: Resolve = async () => ['127.0.0.1']
const secret = `whsec_${'5'.repeat(64)}`
const eventId = `evt_${'e'.repeat(32)}`

function sender(
  resolve: Resolve = local,
  allowPrivate = true,
  ca: string | null = certificates.ca,
) {
  const rules = { allowPrivate, ownHost: 'forum.example' }
  return createSender({ rules, resolve, ca, clock: Date.now })
}

function post(endpoint = `https://hooks.example:${receiver.port}/hook`) {
  return { endpoint, secret, eventId, body: '{"type":"x"}' }
}

/** Sends to a receiver with this behavior, and resolves to the outcome. */
function sendTo(behave: Behave) {
  receiver.received.length = 0
  receiver.behave = behave
  return sender()(post())
}

t.test('send: the receiver answers 2xx: it got the body, signature and own name', async (t) => {
  const sent = await sendTo((_, response) => response.writeHead(202).end('yes'))
  t.same(sent, { status: 202, error: null, body: 'yes' })
  t.equal(receiver.received.length, 1)
  const [{ headers, path, text, servername }] = receiver.received
  t.equal(path, '/hook')
  t.equal(servername, 'hooks.example', 'the name, not the address that was checked')
  t.equal(headers.host, `hooks.example:${receiver.port}`)
  t.equal(headers['content-type'], 'application/json')
  t.same(new Webhook(secret).verify(text, headers as Record<string, string>), { type: 'x' })
})

t.test('send: the receiver refuses or redirects: an error that names the status', async (t) => {
  for (const status of [301, 302, 307, 308, 400, 404, 410, 500, 503]) {
    const sent = await sendTo((_, response) => {
      response.writeHead(status, { location: `https://hooks.example:${receiver.port}/next` }).end()
    })
    t.match(sent, { status, error: `webhook_http_${status}` })
    t.equal(receiver.received.length, 1, 'redirects are not followed')
  }
})

t.test('send: an answer of 4 KiB: read; of one byte more: not read', async (t) => {
  const whole = await sendTo((_, response) => response.end('x'.repeat(4096)))
  t.same(whole, { status: 200, error: null, body: 'x'.repeat(4096) })
  const larger = await sendTo((_, response) => response.end('x'.repeat(4097)))
  t.same(larger, { status: 200, error: null, body: null })
  const endless = await sendTo((_, response) => {
    const more = () => response.writable && response.write('x'.repeat(1000), more)
    more()
  })
  t.same(endless, { status: 200, error: null, body: null }, 'reading stops at the limit')
})

t.test('send: a certificate of an unknown authority or another name: unreachable', async (t) => {
  t.match(await sender(local, true, null)(post()), { status: 0, error: 'webhook_unreachable' })
  const otherName = post(`https://other.example:${receiver.port}/`)
  t.match(await sender()(otherName), { status: 0, error: 'webhook_unreachable' })
})

t.test('send: nobody listens, or it hangs up: unreachable', async (t) => {
  t.match(await sender()(post('https://hooks.example:1/')), { error: 'webhook_unreachable' })
  const sent = await sendTo((_, response) => response.socket?.destroy())
  t.match(sent, { status: 0, error: 'webhook_unreachable' })
})

t.test('send: an answer that is not HTTP: invalid', async (t) => {
  const sent = await sendTo((_, response) => {
    response.socket?.end('no HTTP at all\r\n\r\n')
  })
  t.match(sent, { status: 0, error: 'webhook_invalid_response' })
})

t.test('send: every way of never answering: abandoned after the timeout', async (t) => {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address() as { port: number }
  receiver.behave = (_, response) => void response.write('{')
  const neverResolves: Resolve = () => new Promise(() => {})
  const begun = performance.now()
  const sent = await Promise.all([
    sender()(post(`https://hooks.example:${port}/`)),
    sender()(post()),
    sender(neverResolves)(post()),
  ])
  t.same(sent, Array(3).fill({ status: 0, error: 'webhook_timeout', body: '' }))
  // Node counts a timer from the beginning of the event-loop iteration that sets it.
  t.ok(performance.now() - begun >= timeoutMs / 2, 'but not at once')
})

t.test(
  'A3: send: a name whose addresses change: resolved once, the checked one is used',
  async (t) => {
    receiver.received.length = 0
    receiver.behave = (_, response) => void response.end()
    const answers = [['127.0.0.1'], ['127.0.0.99']]
    let lookups = 0
    const resolve: Resolve = async () => answers[lookups++]
    t.match(await sender(resolve)(post()), { error: null })
    t.equal(lookups, 1)
    t.match(
      await sender(resolve)(post()),
      { error: 'webhook_unreachable' },
      'each attempt resolves again',
    )
    t.equal(receiver.received.length, 1)
  },
)

t.test('A2: send: a name with a private address: nothing is sent', async (t) => {
  receiver.received.length = 0
  const endpoint = 'https://hooks.example.com/'
  const mixed: Resolve = async () => ['93.184.216.34', '127.0.0.1']
  const sent = await sender(mixed, false)(post(endpoint))
  t.same(sent, { status: 0, error: 'nonpublic_webhook_address', body: '' })
  const unknown: Resolve = async () => []
  t.match(await sender(unknown, false)(post(endpoint)), { error: 'dns_lookup_failed' })
  t.match(await sender(local, false)(post()), { error: 'nonpublic_webhook_address' }, 'A1')
  t.equal(receiver.received.length, 0)
})

t.test('challenge: every kind of answer: verified, or the reason', async (t) => {
  const challenger = new Challenger(sender())
  const challenge = 'c'.repeat(48)
  const verify = (behave: Behave) => {
    receiver.behave = behave
    return challenger.verify({ ...post(), webhook: 1, challenge })!
  }
  const say = (value: unknown, status = 200): Behave => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return (_, response) => response.writeHead(status).end(text)
  }
  t.same(await verify(say({ challenge })), { error: null })
  const { body } = receiver.received.at(-1)!
  t.same(body, { type: 'webhook.challenge', event_id: eventId, challenge })
  t.same(await verify(say({ challenge, more: 1 }, 201)), { error: null })
  for (const other of [{ challenge: `${challenge}c` }, { challenge: [challenge] }, {}, []]) {
    t.same(await verify(say(other)), { error: 'webhook_challenge_mismatch' })
  }
  for (const other of ['', challenge, '"c"', '1', 'null', '{']) {
    t.same(await verify(say(other)), { error: 'webhook_invalid_response' }, other)
  }
  t.same(await verify(say({ challenge }, 500)), { error: 'webhook_http_500' })
  t.same(await verify(say({ challenge, more: 'x'.repeat(4096) })), {
    error: 'webhook_response_too_large',
  })
})

t.test('challenge: too many at once, or the same twice: refused, and later not', async (t) => {
  const release: (() => void)[] = []
  const slow = () =>
    new Promise<{ status: number; error: string; body: string }>((resolve) => {
      release.push(() => resolve({ status: 0, error: 'webhook_timeout', body: '' }))
    })
  const challenger = new Challenger(slow)
  const verify = (webhook: number) => challenger.verify({ ...post(), webhook, challenge: '' })
  const verifications = Array.from({ length: 64 }, (_, webhook) => verify(webhook))
  t.notOk(verifications.includes(null))
  t.equal(verify(64), null)
  release[0]()
  await verifications[0]
  t.not(verify(64), null)
  release[1]()
  await verifications[1]
  t.equal(verify(2), null, 'is being verified already')
  t.not(verify(1), null)
  for (const resolve of release) resolve()
  await challenger.settled()
})
