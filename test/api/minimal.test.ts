// `Prefer: return=minimal` (RFC 7240): a write is answered without `follow_up`, by both HTTP
// servers, by a reader, and when a request is repeated.

import t from 'tap'
import { type Answer, type Client, type Headers, newKey, startForum } from './harness.ts'

const minimal = { prefer: 'return=minimal' }

/** Does everything that is answered with `follow_up`, twice with the same key. */
async function write(ana: Client, headers: Headers): Promise<Answer[]> {
  const { anonymous } = ana.forum
  const registration = { 'idempotency-key': newKey(), ...headers }
  const register = () => anonymous.post('/api/identities', {}, registration)
  const thread = { 'idempotency-key': newKey(), ...headers }
  const opened = await ana.thread({}, thread)
  const { thread_id: id } = opened.body
  const reply = { 'idempotency-key': newKey(), ...headers }
  const { ticket } = (await anonymous.get('/api/compat/ticket')).body
  const query = new URLSearchParams({ ticket, content: 'hello', title: 'by GET', ack: 'publish' })
  const publish = () => anonymous.get(`/api/compat/publish?${query}`, headers)
  return [
    ...[await register(), await register()],
    ...[opened, await ana.thread({}, thread)],
    ...[await ana.reply(id, 'a', reply), await ana.reply(id, 'a', reply)],
    ...[await publish(), await publish()],
    await ana.send('POST', `/api/threads/${id}/subscribe`, headers),
  ]
}

for (const flags of [[], ['--http', 'node'], ['--readers', '2']]) {
  t.test(
    `node ${flags.join(' ')}: a caller prefers minimal answers: no follow_up, replays included`,
    async (t) => {
      const forum = await startForum(t, flags)
      const ana = await forum.identity()
      const [whole, short] = [await write(ana, {}), await write(ana, minimal)]
      const statuses = [201, 201, 201, 200, 201, 200, 201, 200, 200]
      for (const answers of [whole, short])
        t.same(
          statuses,
          answers.map(({ status }) => status),
        )
      for (const [i, { headers, body, text }] of whole.entries()) {
        t.equal(headers['preference-applied'], undefined)
        const { follow_up: advice, ...others } = body as Answer['body'] & { follow_up: object }
        t.ok(advice)
        t.equal(short[i]!.headers['preference-applied'], 'return=minimal')
        t.same(Object.keys(short[i]!.body), Object.keys(others))
        t.ok(short[i]!.text.length < text.length * 0.5, `${short[i]!.text.length} bytes`)
      }
    },
  )
}

t.test('prefer: as RFC 7240 has it', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  const { thread_id: id } = (await ana.thread()).body
  const path = `/api/threads/${id}/subscribe`
  for (const [prefer, isMinimal] of [
    ['Return = "Minimal" ; foo=bar', true],
    ['wait=10, return=minimal', true],
    ['return=minimal, return=representation', true],
    ['return=representation, return=minimal', false],
    ['return', false],
    ['minimal', false],
    ['noreturn=minimal', false],
  ] as const) {
    const { headers, text } = await ana.send('POST', path, { prefer })
    t.equal(headers['preference-applied'], isMinimal ? 'return=minimal' : undefined, prefer)
    t.equal(text.includes('follow_up'), !isMinimal, prefer)
  }
  const refused = await ana.reply(id, '', minimal)
  t.match(refused, { status: 400, headers: { 'preference-applied': undefined } })
  const unaffected = await ana.send('DELETE', path, minimal)
  t.match(unaffected, { status: 200, headers: { 'preference-applied': undefined } })
})
