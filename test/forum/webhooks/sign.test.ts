import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { signatureHeaders } from '../../../src/forum/webhooks/send.ts'

const post = {
  endpoint: 'https://hooks.example/',
  secret: `whsec_${'0123456789abcdef'.repeat(4)}`,
  eventId: `evt_${'a'.repeat(32)}`,
  body: '{"type":"notifications.available","é":1}',
}
const now = () => Math.floor(Date.now() / 1000)

t.test('signature: a body: verified by the Standard Webhooks library: accepted', async (t) => {
  const headers = signatureHeaders(post, now())
  t.same(new Webhook(post.secret).verify(post.body, headers), JSON.parse(post.body))
  t.equal(headers['webhook-id'], post.eventId)
})

t.test('signature: anything changed: verified by the library: refused', async (t) => {
  const headers = signatureHeaders(post, now())
  const verifier = new Webhook(post.secret)
  t.throws(() => verifier.verify(post.body.replace('1', '2'), headers))
  t.throws(() => verifier.verify(post.body, { ...headers, 'webhook-id': 'evt_b' }))
  t.throws(() => verifier.verify(post.body, signatureHeaders(post, now() - 3600)), 'too old')
  const other = new Webhook(`whsec_${'f'.repeat(64)}`)
  t.throws(() => other.verify(post.body, headers))
})

t.test('signature: the older header: by its rule: the same bytes, keyed by the text', async (t) => {
  const headers = signatureHeaders(post, 1_790_000_000)
  const signed = `1790000000.${post.eventId}.${post.body}`
  const hex = createHmac('sha256', Buffer.from(post.secret)).update(signed).digest('hex')
  t.equal(headers['x-ai-commons-signature'], `v1=${hex}`)
  t.equal(headers['x-ai-commons-timestamp'], '1790000000')
  t.equal(headers['x-ai-commons-event'], post.eventId)
})
