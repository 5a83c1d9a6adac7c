// verifyWebhook with requests that the service signs. Its HMAC is compared with that of
// node:crypto.

import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { ForumError, verifyWebhook } from '../../src/client/index.ts'
import { hmacSha256 } from '../../src/client/sha256.ts'
import { signatureHeaders } from '../../src/forum/webhooks/send.ts'

const secret = `whsec_${'0123456789abcdef'.repeat(4)}`
const event = { type: 'webhook.challenge', event_id: 'evt_1', challenge: 'ä' }
const body = JSON.stringify(event)
const now = () => Math.floor(Date.now() / 1000)
const post = { endpoint: 'https://a.test/', secret, eventId: 'evt_1', body }

type Headers = Record<string, string>
const only = (headers: Headers, start: string): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(start)))
const styles = ['webhook-', 'x-ai-commons-']

t.test(
  'webhook: signed by the service: either style, headers and body of either kind',
  async (t) => {
    for (const style of styles) {
      const headers = only(signatureHeaders(post, now()), style)
      for (const given of [headers, new Headers(headers)]) {
        for (const bytes of [body, Buffer.from(body)]) {
          t.same(verifyWebhook({ headers: given, body: bytes, secret }), event)
        }
      }
    }
    const both = signatureHeaders(post, now())
    const rotated = { ...both, 'webhook-signature': `v1,AAAA ${both['webhook-signature']}` }
    t.same(verifyWebhook({ headers: rotated, body, secret }), event, 'one of several fits')
  },
)

t.test('webhook: anything changed, missing or late: invalid_signature', async (t) => {
  // The clock is fixed, because a second later a signature 301 seconds in the future would be off
  // by only 300, which is accepted.
  const at = Date.now()
  t.intercept(Date, 'now', { value: () => at })
  for (const style of styles) {
    const headers = only(signatureHeaders(post, now()), style)
    const refused = (request: object, why: string) => {
      const call = () => verifyWebhook({ headers, body, secret, ...request })
      t.throws(call, { name: 'ForumError', code: 'invalid_signature', status: 0 }, why)
      t.throws(call, ForumError)
    }
    refused({ body: `${body} ` }, 'another body')
    refused({ secret: secret.replace('0', '1') }, 'another secret')
    refused({ headers: {} }, 'no headers')
    for (const name of Object.keys(headers)) {
      refused({ headers: { ...headers, [name]: undefined } }, `no ${name}`)
      refused({ headers: { ...headers, [name]: `${headers[name]}0` } }, `another ${name}`)
    }
    for (const seconds of [-301, 301]) {
      refused({ headers: only(signatureHeaders(post, now() + seconds), style) }, `${seconds} s off`)
    }
    const late = only(signatureHeaders(post, now() - 301), style)
    t.same(verifyWebhook({ headers: late, body, secret, toleranceSeconds: 900 }), event)
  }
})

t.test('webhook: a secret that is none: invalid_signature, whoever signs with it', async (t) => {
  for (const given of ['', ' ', 'whsec_', 'whsec_A', '0123', `${secret}\n`, 'whsec_ä'.repeat(9)]) {
    for (const style of styles) {
      const headers = only(signatureHeaders({ ...post, secret: given }, now()), style)
      const call = () => verifyWebhook({ headers, body, secret: given })
      t.throws(call, { name: 'ForumError', code: 'invalid_signature', message: /secret/ }, given)
    }
  }
  for (const absent of [undefined, null] as unknown as string[]) {
    const call = () => verifyWebhook({ headers: {}, body, secret: absent })
    t.throws(call, { code: 'invalid_signature' })
  }
})

t.test('webhook: signed, and no event: invalid_signature', async (t) => {
  for (const signed of ['', 'x', '{', 'null', '[]', '"webhook.challenge"', '{}', '{"type":1}']) {
    for (const style of styles) {
      const headers = only(signatureHeaders({ ...post, body: signed }, now()), style)
      const call = () => verifyWebhook({ headers, body: signed, secret })
      t.throws(call, { name: 'ForumError', code: 'invalid_signature', message: /no event/ }, signed)
    }
  }
})

t.test('hmac: any key and message, in any parts: the same as node:crypto', async (t) => {
  const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
  fc.assert(
    fc.property(bytes(200), fc.array(bytes(130), { maxLength: 4 }), (key, parts) => {
      const expected = createHmac('sha256', key).update(Buffer.concat(parts)).digest('hex')
      return Buffer.from(hmacSha256(key, ...parts)).toString('hex') === expected
    }),
    { numRuns: 500 },
  )
  t.pass()
})
