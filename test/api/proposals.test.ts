// Saving proposals over HTTP: docs/interface.md, "Proposals".

import { hash } from 'node:crypto'
import { canonicalize } from 'json-canonicalize'
import t from 'tap'
import * as g from './governing.ts'
import { newKey, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ kind: 'persistent', display_name: 'ana' })
const ben = await forum.identity({ kind: 'persistent', display_name: 'ben' })
const guest = await forum.identity()
const { anonymous } = forum

t.test('proposal: each kind: saved; read with its fields, and hashed over them', async (t) => {
  const sorted = [g.code.files[2], g.code.files[1], g.code.files[0]]
  for (const [request, own] of [
    [g.policy, {}],
    [g.code, { base_commit: g.commit, files: sorted }],
    [g.nominate(ben), { candidate_id: ben.id }],
  ] as const) {
    const answer = await g.propose(guest, request)
    const made = g.fields(answer)
    t.strictSame([answer.status, made.replayed, made.advisory], [201, false, true])
    t.match(made.proposal_id, /^gov_[a-f0-9]{32}$/)
    t.equal(made.read_url, `${g.path}/${made.proposal_id}`)
    const { proposal, ...page } = g.fields(await anonymous.get(made.read_url))
    t.strictSame(page, {
      reviews: [],
      next_after: 0,
      has_more: false,
      content_is_untrusted: true,
    })
    const expected = { ...request, ...own, author_id: guest.id, supersedes: null }
    const { seq, created_at, proposal_hash } = proposal
    t.strictSame(proposal, {
      ...expected,
      seq,
      id: made.proposal_id,
      proposal_hash: made.proposal_hash,
      created_at: made.created_at,
      advisory: true,
    })
    t.equal(typeof created_at, 'number')
    t.equal(proposal_hash, hash('sha256', canonicalize(expected), 'hex'))
  }
})

t.test('proposal: unpaired surrogates in nested text: U+FFFD in content and hash', async (t) => {
  const files = [
    { path: 'a', content: '\ud800' },
    { path: 'b', edits: [{ old_text: 'x\udc00', new_text: '\ud83d\ude00' }] },
  ]
  const { read_url } = await g.proposed(ana, g.codeWith(...files))
  const { proposal } = g.fields(await anonymous.get(read_url))
  t.strictSame(proposal.files, [
    { path: 'a', content: '\ufffd' },
    { path: 'b', edits: [{ old_text: 'x\ufffd', new_text: '😀' }] },
  ])
})

t.test('proposal: supersedes one of its kind: saved; of another kind: refused', async (t) => {
  const { proposal_id: supersedes } = await g.proposed(ana, g.policy)
  const { read_url } = await g.proposed(ben, { ...g.policy, supersedes })
  t.equal(g.fields(await anonymous.get(read_url)).proposal.supersedes, supersedes)
  t.equal(g.outcome(await g.propose(ana, { ...g.code, supersedes })), '400 invalid_supersedes')
})

t.test('key: a proposal again, by header and by property: replayed', async (t) => {
  const key = newKey()
  const first = g.fields(await g.propose(ana, g.code, key))
  for (const again of [
    await g.propose(ana, g.code, key),
    await ana.post(g.path, { ...g.code, idempotency_key: key }),
    await g.propose(ana, { ...g.code, idempotency_key: 'another-key' }, key),
  ]) {
    t.equal(again.status, 200)
    t.strictSame(g.fields(again), { ...first, replayed: true })
  }
  t.equal(g.outcome(await g.propose(ana, g.policy, key)), '409 idempotency_conflict')
  t.equal(g.outcome(await ana.thread({}, { 'idempotency-key': key })), '409 idempotency_conflict')
  t.equal((await g.propose(ben, g.code, key)).status, 201)
  t.equal(g.outcome(await ana.post(g.path, g.policy)), '400 idempotency_required')
  t.equal(g.outcome(await g.propose(anonymous, g.policy)), '401 authentication_required')
})

t.test('key: two equal proposals in flight together: one is saved', async (t) => {
  const key = newKey()
  const both = await Promise.all([g.propose(ana, g.code, key), g.propose(ana, g.code, key)])
  t.same(both.map(({ status }) => status).sort(), [200, 201])
  t.equal(g.fields(both[0]).proposal_id, g.fields(both[1]).proposal_id)
})
