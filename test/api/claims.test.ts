// Claims of threads: docs/interface.md, "Claims".

import t from 'tap'
import { until } from '../until.ts'
import { type Answer, type Client, newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ display_name: 'ana', kind: 'persistent' })
const ben = await forum.identity({ display_name: 'ben', kind: 'persistent' })
const eve = await forum.identity({ display_name: 'eve', kind: 'persistent' })

function claim(by: Client, id: string, seconds: unknown = 60, key = newKey()): Promise<Answer> {
  return by.post(`/api/threads/${id}/claim`, { seconds }, { 'idempotency-key': key })
}

const release = (by: Client, id: string) => by.del(`/api/threads/${id}/claim`)

function reply(by: Client, id: string, fields: object, key = newKey()): Promise<Answer> {
  const body = { content: 'a reply', ...fields }
  return by.post(`/api/threads/${id}/replies`, body, { 'idempotency-key': key })
}

/** Resolves to what each read shows of the thread's claim, which may expire between two reads. */
async function shown(id: string, by = eve): Promise<unknown> {
  const whole = (await by.read(id)).body.thread
  const claims = [whole]
  for (const query of ['', '&order=activity', '&order=activity&include=excerpt']) {
    const { body } = await by.get(`/api/threads?limit=50${query}`)
    claims.push(body.threads.find((thread) => thread.id === id)!)
  }
  const after = (await by.read(id)).body.thread
  if (JSON.stringify(after) !== JSON.stringify(whole)) return shown(id, by)
  const [first, ...others] = claims.map((thread) => (thread as { claim?: object }).claim)
  for (const other of others) t.strictSame(other, first, 'lists show the same')
  return first
}

async function newest(id: string): Promise<number> {
  return (await ana.messages(id)).at(-1)!.seq
}

t.test('claim: a thread: held by the caller, and shown to everybody', async (t) => {
  const id = await publishedThread(ana)
  t.equal(await shown(id), undefined)
  const before = Date.now()
  const { status, text, body } = await claim(ben, id, 60)
  const { expires_at, fence } = body
  t.equal(status, 201)
  t.strictSame(JSON.parse(text), { thread_id: id, holder_id: ben.id, expires_at, fence })
  t.ok(expires_at! >= before + 60_000 && expires_at! <= Date.now() + 60_000)
  t.ok(fence > 0)
  t.strictSame(await shown(id), { holder_id: ben.id, expires_at, fence })
})

t.test('claim: held by another: 409 with the holder and the time, nothing changes', async (t) => {
  const id = await publishedThread(ana)
  const { body: held } = await claim(ben, id)
  const key = newKey()
  const { status, body } = await claim(ana, id, 60, key)
  t.equal(status, 409)
  t.match(body, { error: 'claimed', holder_id: ben.id, expires_at: held.expires_at })
  t.match(await shown(id), { holder_id: ben.id, expires_at: held.expires_at })
  await release(ben, id)
  t.equal((await claim(ana, id, 60, key)).status, 201, 'the key was not used')
})

t.test('claim: by its holder again: renewed, with the same fence', async (t) => {
  const id = await publishedThread(ana)
  const { body: first } = await claim(ben, id, 60)
  const { status, body } = await claim(ben, id, 600)
  t.equal(status, 201)
  t.equal(body.fence, first.fence)
  t.ok(body.expires_at! >= first.expires_at! + 500_000)
  t.match(await shown(id), { expires_at: body.expires_at, fence: first.fence })
  const shorter = await claim(ben, id, 30)
  t.ok(shorter.body.expires_at! < first.expires_at!, 'it can become shorter')
})

t.test('claim: the same key: the first answer, whatever has become of the claim', async (t) => {
  const id = await publishedThread(ana)
  const key = newKey()
  const first = await claim(ben, id, 60, key)
  const replay = { ...JSON.parse(first.text), replayed: true }
  const again = await claim(ben, id, 60, key)
  t.equal(again.status, 200)
  t.strictSame(JSON.parse(again.text), replay)
  await claim(ben, id, 600)
  t.strictSame(JSON.parse((await claim(ben, id, 60, key)).text), replay)
  await release(ben, id)
  const { body: other } = await claim(ana, id, 60)
  t.strictSame(JSON.parse((await claim(ben, id, 60, key)).text), replay)
  t.match(await shown(id), { holder_id: ana.id, fence: other.fence })
})

t.test('claim: the key of another request: a conflict', async (t) => {
  const [id, other] = [await publishedThread(ana), await publishedThread(ana)]
  const [key, replied] = [newKey(), newKey()]
  await claim(ben, id, 60, key)
  await reply(ben, id, {}, replied)
  const conflicts = [
    await claim(ben, id, 61, key),
    await claim(ben, other, 60, key),
    await claim(ben, id, 60, replied),
    await reply(ben, id, {}, key),
  ]
  for (const { status, body } of conflicts) {
    t.equal(`${status} ${body.error}`, '409 idempotency_conflict')
  }
})

t.test('claim: seconds out of range, no key, no token: refused', async (t) => {
  const id = await publishedThread(ana)
  for (const seconds of [0, 86_401, -1, 1.5, '60', null]) {
    const { status, body } = await claim(ben, id, seconds)
    t.equal(`${status} ${body.error}`, '400 invalid_field', `${seconds}`)
  }
  const none = await ben.post(`/api/threads/${id}/claim`, {}, { 'idempotency-key': newKey() })
  t.equal(none.body.error, 'invalid_field')
  t.equal((await claim(ben, id, 60, '')).body.error, 'idempotency_required')
  t.equal((await claim(forum.anonymous, id)).body.error, 'authentication_required')
  t.equal((await claim(ben, id, 86_400)).status, 201)
})

t.test('release: by the holder: free for others, who get a greater fence', async (t) => {
  const id = await publishedThread(ana)
  const { body: first } = await claim(ben, id)
  const { status, text } = await release(ben, id)
  t.equal(status, 200)
  t.strictSame(JSON.parse(text), { thread_id: id, claimed: false })
  t.equal(await shown(id), undefined)
  const { body: second } = await claim(ana, id)
  t.ok(second.fence! > first.fence!)
  await release(ana, id)
  const { body: third } = await claim(ben, id)
  t.ok(third.fence! > second.fence!, 'its own old fence does not come back')
})

t.test('release: by somebody else: not_holder; of no claim: nothing happens', async (t) => {
  const id = await publishedThread(ana)
  await claim(ben, id)
  for (const other of [ana, eve]) {
    const { status, body } = await release(other, id)
    t.equal(`${status} ${body.error}`, '403 not_holder')
  }
  t.match(await shown(id), { holder_id: ben.id })
  await release(ben, id)
  for (const by of [ben, ana]) t.equal((await release(by, id)).status, 200)
  t.equal((await release(forum.anonymous, id)).status, 401)
})

t.test('claim: its time is over: free, gone from every read, and a later fence', async (t) => {
  const id = await publishedThread(ana)
  const { body: first } = await claim(ben, id, 1)
  t.match(await shown(id), { fence: first.fence })
  await until('the claim to expire', async () => (await shown(id)) === undefined)
  t.ok(Date.now() >= first.expires_at!, 'and not before')
  t.equal((await reply(ben, id, { fence: first.fence })).body.error, 'claim_lost')
  const { status, body } = await claim(ana, id)
  t.equal(status, 201)
  t.ok(body.fence! > first.fence!)
  t.equal((await release(ben, id)).body.error, 'not_holder')
})

t.test('claim: of a guest: ends with the guest at the latest', async (t) => {
  const guest = await forum.identity({ display_name: 'guest' })
  const id = await publishedThread(ana)
  const { body } = await claim(guest, id, 86_400)
  t.ok(body.expires_at! < Date.now() + 86_401_000)
})

t.test('fence: of the claim that the caller holds: published; any other: 412', async (t) => {
  const id = await publishedThread(ana)
  const { body: first } = await claim(ben, id)
  const { fence } = first
  t.equal((await reply(ben, id, { fence })).status, 201)
  const count = (await ana.messages(id)).length
  const lost = [
    await reply(ben, id, { fence: fence! + 1 }),
    await reply(ben, id, { fence: fence! - 1 }),
    await reply(ana, id, { fence }),
  ]
  await release(ben, id)
  lost.push(await reply(ben, id, { fence }))
  await claim(ana, id)
  lost.push(await reply(ben, id, { fence }))
  for (const { status, body } of lost) t.equal(`${status} ${body.error}`, '412 claim_lost')
  t.equal((await ana.messages(id)).length, count, 'nothing was written')
})

t.test('fence: the claim was lost since: a replay is answered all the same', async (t) => {
  const id = await publishedThread(ana)
  const { body: first } = await claim(ben, id)
  const [key, fields] = [newKey(), { fence: first.fence }]
  t.equal((await reply(ben, id, fields, key)).status, 201)
  await release(ben, id)
  t.equal((await reply(ben, id, fields, key)).status, 200)
  for (const other of [{}, { fence: first.fence! + 1 }, { seen_seq: first.fence }]) {
    t.equal((await reply(ben, id, other, key)).body.error, 'idempotency_conflict')
  }
})

t.test('fence and expect_seq: the claim is decided first', async (t) => {
  const id = await publishedThread(ana)
  t.equal((await reply(ben, id, { fence: 1, expect_seq: 0 })).body.error, 'claim_lost')
})

t.test('claim: a reply without a fence, by whomever: published', async (t) => {
  const id = await publishedThread(ana)
  await claim(ben, id)
  for (const by of [ana, ben, eve]) t.equal((await reply(by, id, {})).status, 201)
})

t.test('claimed: lists only the threads that are claimed, or those that are not', async (t) => {
  const author = await forum.identity({ display_name: 'author' })
  const ids: string[] = []
  for (let i = 0; i < 6; i++) ids.push(await publishedThread(author))
  const claimed = [ids[4]!, ids[2]!, ids[1]!]
  for (const id of claimed.toReversed()) await claim(ben, id)
  await reply(ana, ids[1]!, {})
  const mine = async (query: string) => {
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const place = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await ana.get(`/api/threads?limit=2&${query}${place}`)
      found.push(...body.threads.map(({ id }) => id))
      cursor = body.next_cursor
    }
    return found.filter((id) => ids.includes(id))
  }
  t.strictSame(await mine('claimed=true'), claimed)
  t.strictSame(await mine('claimed=false'), [ids[5], ids[3], ids[0]])
  t.strictSame(await mine('claimed=true&order=activity'), [ids[1], ids[4], ids[2]])
  t.strictSame(await mine('claimed=false&order=activity'), [ids[5], ids[3], ids[0]])
  for (const id of claimed) await release(ben, id)
  t.strictSame(await mine('claimed=true'), [])
  t.equal((await ana.get('/api/threads?claimed=maybe')).body.error, 'invalid_query')
})

t.test('claim: of a private thread: for strangers as if it were absent', async (t) => {
  const id = await publishedThread(ana, { visibility: 'private', participant_ids: [ben.id] })
  await claim(ben, id)
  const absent = `thr_${'0'.repeat(32)}`
  for (const [on, at] of [
    [await claim(eve, id), await claim(eve, absent)],
    [await release(eve, id), await release(eve, absent)],
  ] as const) {
    t.equal(on.status, 404)
    t.equal(on.text, at.text)
  }
  for (const [by, sees] of [
    [ana, true],
    [eve, false],
    [forum.anonymous, false],
  ] as const) {
    const { body } = await by.get('/api/threads?claimed=true&limit=50')
    t.equal(
      body.threads.some((thread) => thread.id === id),
      sees,
    )
  }
  t.match(await shown(id, ana), { holder_id: ben.id })
})

t.test('claim: after a restart: still held, and its fence still counts', async (t) => {
  const [id, other] = [await publishedThread(ana), await publishedThread(ana)]
  const key = newKey()
  const first = await claim(ben, id, 600, key)
  await claim(ben, other, 1)
  const { fence } = first.body
  await forum.stop('SIGKILL')
  await forum.start()
  t.match(await shown(id), { holder_id: ben.id, expires_at: first.body.expires_at, fence })
  t.equal((await claim(ana, id)).body.error, 'claimed')
  t.equal((await claim(ben, id, 600, key)).status, 200)
  t.equal((await reply(ben, id, { fence })).status, 201)
  await until('the claim to expire', async () => (await shown(other)) === undefined)
  const { body } = await claim(ana, other)
  t.ok(body.fence! > fence!)
})

t.test('claim: the seq of the newest message is the same before and after', async (t) => {
  const id = await publishedThread(ana)
  const seq = await newest(id)
  await claim(ben, id)
  t.equal((await reply(ana, id, { expect_seq: seq })).status, 201, 'a claim is no message')
})

t.test('claims: the status says that the node has them', async (t) => {
  const { text } = await ana.get('/api/status')
  t.match(JSON.parse(text).capabilities, { claims: true })
})

t.test('claims: many in one batch: each is granted or refused, with all fields', async (t) => {
  const [id, other] = [await publishedThread(ana), await publishedThread(ana)]
  await claim(ana, other)
  const wanted = (path: string, body: object) => ({ method: 'POST', path, key: newKey(), body })
  const { status, text } = await ben.post('/api/batch', {
    requests: [
      wanted(`/api/threads/${id}/claim`, { seconds: 60 }),
      wanted(`/api/threads/${other}/claim`, { seconds: 60 }),
      wanted(`/api/threads/${id}/replies`, { content: 'a', expect_seq: 0 }),
    ],
  })
  t.equal(status, 200)
  t.match(JSON.parse(text).responses, [
    { status: 201, body: { holder_id: ben.id } },
    { status: 409, body: { error: 'claimed', holder_id: ana.id } },
    { status: 412, body: { error: 'thread_changed', newest_seq: await newest(id) } },
  ])
})
