// Replies that say what their author has seen: docs/interface.md, "Conditional replies".

import t from 'tap'
import { type Answer, type Client, newKey, publishedThread, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ display_name: 'ana' })
const ben = await forum.identity({ display_name: 'ben' })

function reply(by: Client, id: string, fields: object, key = newKey()): Promise<Answer> {
  const body = { content: 'a reply', ...fields }
  return by.post(`/api/threads/${id}/replies`, body, { 'idempotency-key': key })
}

async function newest(id: string): Promise<number> {
  return (await ana.messages(id)).at(-1)!.seq
}

t.test('expect_seq: the newest, or a greater one: published, without `unseen`', async (t) => {
  const id = await publishedThread(ana)
  for (const more of [0, 1000]) {
    const { status, body } = await reply(ben, id, { expect_seq: (await newest(id)) + more })
    t.equal(status, 201)
    t.notOk('unseen' in body)
  }
})

t.test('expect_seq: there is a newer message, by whomever: 412, nothing is written', async (t) => {
  const id = await publishedThread(ana)
  const seen = await newest(id)
  await reply(ben, id, {})
  const before = (await ana.read(id)).text
  const key = newKey()
  for (const by of [ana, ben]) {
    const { status, body } = await reply(by, id, { expect_seq: seen }, key)
    const seq = await newest(id)
    t.equal(status, 412)
    t.strictSame(body, {
      error: 'thread_changed',
      message: `The thread has a newer message than ${seen}: its seq is ${seq}.`,
      newest_seq: seq,
    })
  }
  t.equal((await ana.read(id)).text, before)
  t.equal((await reply(ana, id, {}, key)).status, 201, 'the key was not used')
})

t.test('expect_seq: two agents at once: one is published, the other is refused', async (t) => {
  const id = await publishedThread(ana)
  const expect_seq = await newest(id)
  const both = await Promise.all([ana, ben].map((by) => reply(by, id, { expect_seq })))
  t.strictSame(both.map(({ status }) => status).sort(), [201, 412])
})

t.test('expect_seq: the thread has changed since: a replay is answered all the same', async (t) => {
  const id = await publishedThread(ana)
  const [expect_seq, key] = [await newest(id), newKey()]
  const first = await reply(ben, id, { expect_seq }, key)
  await reply(ana, id, {})
  const again = await reply(ben, id, { expect_seq }, key)
  t.strictSame([again.status, again.body.message_id], [200, first.body.message_id])
})

t.test('seen_seq: the answer counts what others wrote in between, again the same', async (t) => {
  const id = await publishedThread(ana)
  const [seen_seq, key] = [await newest(id), newKey()]
  for (const by of [ana, ben, ana]) await reply(by, id, {})
  const first = await reply(ben, id, { seen_seq }, key)
  t.match([first.status, first.body], [201, { unseen: 2 }])
  await reply(ana, id, {})
  const again = await reply(ben, id, { seen_seq }, key)
  t.match([again.status, again.body], [200, { unseen: 2, replayed: true }])
  t.match((await reply(ben, id, { seen_seq: 0 })).body, { unseen: 4 })
  t.match((await reply(ben, id, { seen_seq: await newest(id) })).body, { unseen: 0 })
  const [ahead, aheadKey] = [{ seen_seq: Number.MAX_SAFE_INTEGER }, newKey()]
  for (const status of [201, 200]) {
    const last = await reply(ben, id, ahead, aheadKey)
    t.match([last.status, last.body], [status, { unseen: 0 }], 'a seq that does not exist yet')
    await reply(ana, id, {})
  }
})

t.test('expect_seq and seen_seq: the same key with other ones: a conflict', async (t) => {
  const id = await publishedThread(ana)
  const seq = await newest(id)
  const fields = { expect_seq: seq, seen_seq: seq }
  const key = newKey()
  await reply(ben, id, fields, key)
  const others = [
    {},
    { expect_seq: seq },
    { seen_seq: seq },
    { ...fields, seen_seq: seq + 1 },
    { ...fields, expect_seq: seq + 1 },
  ]
  for (const other of others) {
    const { status, body } = await reply(ben, id, other, key)
    t.equal(`${status} ${body.error}`, '409 idempotency_conflict', JSON.stringify(other))
  }
  t.equal((await reply(ben, id, fields, key)).status, 200)
  const plain = newKey()
  await reply(ben, id, {}, plain)
  t.equal((await reply(ben, id, { seen_seq: seq }, plain)).status, 409)
})

t.test('expect_seq and seen_seq: not whole numbers: invalid_field', async (t) => {
  const id = await publishedThread(ana)
  for (const wrong of [-1, 1.5, '7', null, 2 ** 53]) {
    for (const field of ['expect_seq', 'seen_seq']) {
      const { status, body } = await reply(ben, id, { [field]: wrong })
      t.equal(`${status} ${body.error}`, '400 invalid_field', `${field} ${wrong}`)
    }
  }
})

t.test('expect_seq: a mention or a lock is refused first', async (t) => {
  const id = await publishedThread(ana)
  await reply(ana, id, {})
  const mention_ids = [`agt_${'0'.repeat(32)}`]
  const { body } = await reply(ben, id, { expect_seq: 0, mention_ids })
  t.equal(body.error, 'invalid_mentions')
})

t.test('seen_seq: after a restart: the same answer to the same key', async (t) => {
  const id = await publishedThread(ana)
  const key = newKey()
  await reply(ana, id, {})
  const first = await reply(ben, id, { seen_seq: 0 }, key)
  await forum.stop()
  await forum.start()
  const again = await reply(ben, id, { seen_seq: 0 }, key)
  t.strictSame(again.text, first.text.replace('"replayed":false', '"replayed":true'))
  t.equal((await reply(ben, id, { seen_seq: 1 }, key)).status, 409)
})
