// Governance over HTTP: its phase, the list of proposals, and what is always refused.
// docs/interface.md, "Governance".

import t from 'tap'
import * as g from './governing.ts'
import { newKey, startForum } from './harness.ts'

const forum = await startForum(t)
const ana = await forum.identity({ kind: 'persistent', display_name: 'ana' })
const ben = await forum.identity({ kind: 'persistent', display_name: 'ben' })
const { anonymous } = forum

for (const request of [g.policy, g.code, g.policy, g.nominate(ben)]) await g.proposed(ana, request)

t.test('status: both paths: the same phase, no roles, the reasons', async (t) => {
  const { status, text } = await anonymous.get('/api/governance/status')
  t.equal(status, 200)
  t.equal((await anonymous.get('/api/governance')).text, text)
  t.match(JSON.parse(text), {
    status: 'bootstrap_pending',
    phase: 'bootstrap_pending',
    roles: [],
    automatic_deployment: false,
    governance_rule: null,
    electorate: null,
    reviews_are_advisory: true,
    proposals_url: g.path,
    blockers: [String],
  })
  t.match(JSON.parse((await anonymous.get('/api/status')).text).capabilities, {
    governance_proposals: true,
    code_submissions: true,
    maintainer_nominations: true,
    version_bound_reviews: true,
    community_authorization: false,
    autonomous_deployment: false,
  })
})

t.test('list: paged up and down: the same proposals, each once', async (t) => {
  const up: g.Proposal[] = []
  for (let after = 0; ; ) {
    const page = g.fields(await anonymous.get(`${g.path}?after=${after}&limit=3`))
    t.equal('next_before' in page, false)
    up.push(...page.proposals)
    after = page.next_after
    if (!page.has_more) break
  }
  const down: g.Proposal[] = []
  for (let before = g.last; ; ) {
    const page = g.fields(await anonymous.get(`${g.path}?before=${before}&limit=50`))
    t.equal('next_after' in page, false)
    down.push(...page.proposals)
    before = page.next_before
    if (!page.has_more) break
  }
  t.ok(up.length > 3)
  t.strictSame(down.reverse(), up)
  const seqs = up.map(({ seq }) => seq)
  t.same(
    seqs.toSorted((a, b) => a - b),
    seqs,
  )
  t.equal(g.fields(await anonymous.get(g.path)).proposals.length, Math.min(20, up.length))
})

t.test('list: beyond either end: empty, and the cursor stays', async (t) => {
  t.match(g.fields(await anonymous.get(`${g.path}?after=${g.last}`)), {
    proposals: [],
    next_after: g.last,
    has_more: false,
    content_is_untrusted: true,
  })
  const down = g.fields(await anonymous.get(`${g.path}?before=0`))
  t.match(down, { proposals: [], next_before: 0, has_more: false })
})

t.test('list and read: numbers out of range or both cursors: refused', async (t) => {
  const { read_url } = await g.proposed(ana, g.policy)
  for (const query of ['limit=0', 'limit=51', 'limit=x', 'after=-1', `before=${g.last}0`]) {
    t.equal(g.outcome(await anonymous.get(`${g.path}?${query}`)), '400 invalid_number', query)
  }
  for (const query of ['limit=0', 'limit=51', 'after=1.5']) {
    t.equal(g.outcome(await anonymous.get(`${read_url}?${query}`)), '400 invalid_number', query)
  }
  t.equal(g.outcome(await anonymous.get(`${g.path}?before=9&after=0`)), '400 invalid_cursor')
  t.equal(g.outcome(await anonymous.get(`${g.path}/${g.absent}`)), '404 not_found')
  t.equal(g.outcome(await anonymous.get(`${g.path}/gov_1`)), '400 invalid_id')
})

t.test('execute: known and unknown, with and without a token: refused', async (t) => {
  const { read_url } = await g.proposed(ana, g.policy)
  const refused = await ana.send('POST', `${read_url}/execute`)
  t.equal(g.outcome(refused), '503 bootstrap_pending')
  t.match(refused.headers['retry-after'], /^\d+$/)
  const { error, message, ...status } = g.fields(refused)
  t.equal(error, 'bootstrap_pending')
  t.type(message, 'string')
  t.strictSame(status, g.fields(await anonymous.get('/api/governance')))
  const unknown = `${g.path}/${g.absent}/execute`
  t.equal(g.outcome(await ana.send('POST', unknown)), '404 not_found')
  t.equal(g.outcome(await anonymous.send('POST', unknown)), '401 authentication_required')
  t.equal(g.outcome(await ana.get(`${read_url}/execute`)), '405 method_not_allowed')
})

t.test('restart: after SIGKILL: proposals, reviews and keys are kept', async (t) => {
  const key = newKey()
  const made = g.fields(await g.propose(ana, g.code, key))
  await g.review(ben, made)
  const pages = async () => [
    (await anonymous.get(`${g.path}?before=${g.last}&limit=50`)).text,
    (await anonymous.get(made.read_url)).text,
  ]
  const before = await pages()
  await forum.stop('SIGKILL')
  await forum.start()
  t.strictSame(await pages(), before)
  t.strictSame(g.fields(await g.propose(ana, g.code, key)), { ...made, replayed: true })
})

t.test('proposals: long ones: a page ends early, and the next ones have the rest', async (t) => {
  const forum = await startForum(t)
  const ana = await forum.identity()
  const files = [{ path: 'a.ts', content: '\u0001'.repeat(31_000) }]
  const ids: string[] = []
  for (let n = 0; n < 13; n++) {
    ids.push((await g.proposed(ana, { ...g.code, title: `title ${n}`, files })).proposal_id)
  }
  for (const [cursor, begin] of [['after', 0] as const, ['before', g.last] as const]) {
    const found: string[] = []
    let at = begin
    for (let hasMore = true; hasMore; ) {
      const answer = await forum.anonymous.get(`${g.path}?${cursor}=${at}&limit=50`)
      t.ok(answer.text.length <= 1 << 20, `${answer.text.length}`)
      const page = g.fields(answer)
      found.push(...page.proposals.map(({ id }) => id))
      at = page[`next_${cursor}`]
      hasMore = page.has_more
    }
    t.same(found, cursor === 'after' ? ids : ids.toReversed())
  }
})
