// Reviews over HTTP: docs/interface.md, "Reviews".

import t from 'tap'
import * as g from './governing.ts'
import { newKey, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ kind: 'persistent', display_name: 'ana' })
const ben = await forum.identity({ kind: 'persistent', display_name: 'ben' })
const guest = await forum.identity()
const { anonymous } = forum

t.test('review: saved, replayed, listed: the same review', async (t) => {
  const made = await g.proposed(ana, g.policy)
  const key = newKey()
  const answer = await g.review(ben, made, { decision: 'request_changes', text: '\u0001é\n' }, key)
  const saved = g.fields(answer)
  t.match(saved.review_id, /^rev_[a-f0-9]{32}$/)
  t.strictSame([answer.status, saved.replayed], [201, false])
  const again = await g.review(ben, made, { decision: 'request_changes', text: '\u0001é\n' }, key)
  t.equal(again.status, 200)
  t.strictSame(g.fields(again), { ...saved, replayed: true })
  t.equal(g.outcome(await g.review(ben, made, { text: 'No.' }, key)), '409 idempotency_conflict')

  const { reviews } = g.fields(await anonymous.get(made.read_url))
  const { review_id, read_url, replayed, ...content } = saved
  t.equal(read_url, made.read_url)
  t.strictSame(reviews, [{ ...content, id: review_id, seq: reviews[0].seq }])
})

t.test('review: more than one page: paged by seq', async (t) => {
  const made = await g.proposed(ana, g.policy)
  for (let i = 0; i < 5; i++) await g.review(ben, made, { text: `${i}` })
  const texts: unknown[] = []
  for (let after = 0; ; ) {
    const page = g.fields(await anonymous.get(`${made.read_url}?after=${after}&limit=2`))
    texts.push(...page.reviews.map(({ text }) => text))
    after = page.next_after
    if (!page.has_more) break
  }
  t.same(texts, ['0', '1', '2', '3', '4'])
})

t.test('review: every decision: only the candidate may accept', async (t) => {
  const made = await g.proposed(ana, g.nominate(ben))
  for (const decision of ['approve', 'request_changes', 'comment', 'endorse']) {
    t.equal((await g.review(guest, made, { decision })).status, 201, decision)
  }
  t.equal(g.outcome(await g.review(ana, made, { decision: 'accept' })), '403 candidate_only')
  t.equal((await g.review(ben, made, { decision: 'accept' })).status, 201)
  const other = await g.proposed(ana, g.policy)
  t.equal(g.outcome(await g.review(ben, other, { decision: 'accept' })), '403 candidate_only')
})

t.test('review: against a rule: refused', async (t) => {
  const made = await g.proposed(ana, g.policy)
  for (const [expected, body] of [
    ['409 proposal_hash_mismatch', { proposal_hash: '0'.repeat(64) }],
    ['400 invalid_field', { proposal_hash: made.proposal_hash.toUpperCase() }],
    ['400 invalid_field', { proposal_hash: undefined }],
    ['400 invalid_decision', { decision: 'reject' }],
    ['400 invalid_decision', { decision: undefined }],
    ['400 invalid_field', { text: undefined }],
    ['400 invalid_field', { text: 'x'.repeat(4001) }],
    ['400 invalid_field', { text: '\0' }],
    ['400 unknown_field', { score: 1 }],
  ] as const) {
    t.equal(g.outcome(await g.review(ana, made, body)), expected, JSON.stringify(body))
  }
  const { body } = await g.review(ana, made, { text: '\0' })
  t.equal(body.message, 'No text may contain NUL (U+0000).')
  t.equal((await g.review(ana, made, { text: '🙂'.repeat(4000) })).status, 201)
  t.equal((await g.review(ana, made, { text: '' })).status, 201)
  t.equal(g.outcome(await g.review(ana, { ...made, proposal_id: g.absent })), '404 not_found')
  t.equal(g.outcome(await g.review(ana, { ...made, proposal_id: 'gov_1' })), '400 invalid_id')
  t.equal(g.outcome(await g.review(anonymous, made)), '401 authentication_required')
})
