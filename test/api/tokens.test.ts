// Token rotation over HTTP, immediate or with a grace period: its effect on requests, waiting polls
// and restarts. docs/interface.md, "Identities".

import t from 'tap'
import { type Answer, Client, newKey, publishedThread, startForum } from './harness.ts'

const path = '/api/identities/me/token'
const forum = await startForum(t)

/** Replaces the caller's token, and resolves to a client with the new one. */
async function rotated(caller: Client, body?: object): Promise<Client> {
  const answer =
    body === undefined ? await caller.send('POST', path) : await caller.post(path, body)
  const { status, text } = answer
  if (status !== 200) throw new Error(text)
  return new Client(caller.forum, answer.body.token, caller.id)
}

function codeOf({ status, body }: Answer): string | number {
  return status < 400 ? status : body.error
}

const read = async (caller: Client) => codeOf(await caller.feed())

t.test(
  'token: replaced without a body, an empty one, or none of its fields: at once',
  async (t) => {
    let ana = await forum.identity({ kind: 'persistent' })
    const id = await publishedThread(ana, { visibility: 'private' })
    for (const body of [undefined, {}, { grace_seconds: 0 }, { later: true }]) {
      const old = ana
      ana = await rotated(old, body)
      t.match(ana.token, /^aic_[0-9a-f]{64}$/)
      t.not(ana.token, old.token)
      t.equal(await read(old), 'invalid_token')
      t.equal(await read(ana), 200)
      t.equal((await ana.read(id)).status, 200, 'it is the same identity')
      t.equal(codeOf(await old.reply(id)), 'invalid_token')
    }
  },
)

t.test('token: replaced: the answer says whose it is, and when the old one ends', async (t) => {
  const ana = await forum.identity()
  const before = Date.now()
  const { status, text } = await ana.post(path, { grace_seconds: 3600 })
  const answer = JSON.parse(text)
  t.equal(status, 200)
  t.match(answer, { id: ana.id, token: /^aic_/, token_shown_once: true })
  const endsAt = answer.old_token_expires_at
  t.ok(endsAt >= before + 3_600_000 && endsAt <= Date.now() + 3_600_000, `${endsAt}`)
})

t.test('token: a wrong grace, a wrong body: refused, and nothing is replaced', async (t) => {
  const ana = await forum.identity()
  for (const grace_seconds of [-1, 3601, 1.5, '60', null]) {
    t.equal(codeOf(await ana.post(path, { grace_seconds })), 'invalid_field', `${grace_seconds}`)
  }
  t.equal(codeOf(await ana.post(path, { graceSeconds: 60 })), 'unknown_field')
  t.equal(codeOf(await ana.send('POST', path, {}, '{"grace_seconds":-1}')), 'invalid_field')
  t.equal(codeOf(await ana.send('POST', path, { 'content-type': 'text/plain' })), 'json_required')
  const json = { 'content-type': 'application/json' }
  t.equal(codeOf(await ana.send('POST', path, json, '[]')), 'invalid_json')
  t.equal(codeOf(await forum.anonymous.post(path, {})), 'authentication_required')
  t.equal(await read(ana), 200)
})

t.test(
  'token: replaced with a grace: both are accepted, and only the new one replaces',
  async (t) => {
    const old = await forum.identity({ kind: 'persistent' })
    const next = await rotated(old, { grace_seconds: 600 })
    const id = await publishedThread(old, { visibility: 'private' })
    t.equal((await next.read(id)).status, 200)
    const refused = await old.post(path, {})
    t.match([refused.status, refused.body], [401, { error: 'invalid_token', message: /replaced/ }])
    t.equal(await read(old), 200, 'it is still accepted')
    const last = await rotated(next, { grace_seconds: 600 })
    t.same([await read(old), await read(next), await read(last)], ['invalid_token', 200, 200])
  },
)

t.test('token: a key used before: replayed with the new token', async (t) => {
  const old = await forum.identity()
  const key = { 'idempotency-key': newKey() }
  const first = await old.thread({}, key)
  const again = await (await rotated(old)).thread({}, key)
  t.same([first.status, again.status], [201, 200])
  t.equal(again.body.message_id, first.body.message_id)
})

async function waiting(caller: Client, query: string): Promise<Promise<Answer>> {
  const poll = caller.get(query)
  await forum.anonymous.get('/api/status') // the server has read the poll before this
  return poll
}

t.test(
  'token: replaced while its polls wait: they are refused, unless it has a grace',
  async (t) => {
    const [ana, ben] = [await forum.identity(), await forum.identity()]
    const id = await publishedThread(ben)
    await ana.subscribe(id)
    const after = (await ana.read(id)).body.next_after
    const queries = [
      `/api/notifications?after=${after}&wait=50`,
      `/api/threads/${id}?after=${after}&wait=50`,
    ]
    let caller = ana
    for (const query of queries) {
      const poll = waiting(caller, query)
      const next = await rotated(caller)
      t.equal(codeOf(await poll), 'invalid_token', query)
      caller = next
    }
    const polls = queries.map((query) => waiting(caller, query))
    await rotated(caller, { grace_seconds: 600 })
    await ben.reply(id)
    for (const poll of polls) t.equal((await poll).status, 200)
  },
)

t.test('token: replaced, the node is started again, and killed: it stays replaced', async (t) => {
  const [ana, ben] = [await forum.identity(), await forum.identity({ kind: 'persistent' })]
  const [newAna, newBen] = [await rotated(ana), await rotated(ben, { grace_seconds: 3600 })]
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await forum.stop(signal)
    await forum.start()
    const codes = await Promise.all([ana, newAna, ben, newBen].map(read))
    t.same(codes, ['invalid_token', 200, 200, 200], signal)
  }
})
