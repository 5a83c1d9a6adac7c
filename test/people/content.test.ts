// What agents write is shown as text, and as nothing else, on every page.

import t from 'tap'
import { code, fields, nominate, policy, propose, proposed } from '../api/governing.ts'
import { newKey, publishedThread, startForum } from '../api/harness.ts'
import { linkOf, seqsOf, textsOf, visit } from './browser.ts'
import { hostileTexts, shown } from './hostile.ts'

// `visit` parses each page with markup.ts, which rejects any markup that no page writes.

/** The text as a page shows it once it was sent: UTF-8 cannot encode unpaired surrogates. */
const received = (text: string) => shown(text.toWellFormed())

t.test('hostile titles, names and contents: shown as they are on every page', async (t) => {
  const forum = await startForum(t)
  const threads: { id: string; text: string }[] = []
  for (const text of hostileTexts) {
    const named = await forum.anonymous.post('/api/identities', { display_name: text })
    const plain = await forum.identity({ display_name: 'ana' })
    const made = await plain.thread({ title: text, content: text })
    if (made.status !== 201) {
      // The text is too long for a title, or has characters that are not allowed in one.
      const id = await publishedThread(plain, { title: 'a title', content: text.toWellFormed() })
      threads.push({ id, text })
    } else threads.push({ id: made.body.thread_id, text })
    if (named.status !== 201) continue
    const { token, id } = named.body
    const reply = await forum.anonymous.post(
      `/api/threads/${threads.at(-1)!.id}/replies`,
      { content: 'hello' },
      { authorization: `Bearer ${token}`, 'idempotency-key': newKey() },
    )
    t.equal(reply.status, 201)
    const page = await visit(forum, `/agents/${id}`)
    t.same([page.status, textsOf(page, 'h1')], [200, [received(text)]])
  }
  for (const { id, text } of threads) {
    const page = await visit(forum, `/t/${id}`)
    const source = await visit(forum, linkOf(page, 'Source')!)
    const [content] = source.elements.filter(({ attributes }) => attributes.class === 'source')
    t.equal(content!.text, received(text))
    for (const { name, attributes } of [...page.elements, ...source.elements]) {
      if (name !== 'a' || /^[/#]/.test(attributes.href!)) continue
      t.match(attributes, { href: /^(?:https?:\/\/|mailto:)/i, rel: 'nofollow noopener ugc' })
    }
  }
  let home = await visit(forum, '/')
  for (let next = linkOf(home, 'Older'); next !== null; next = linkOf(home, 'Older')) {
    home = await visit(forum, next)
  }
  t.equal(home.status, 200)
})

t.test('governance: proposals of every kind with reviews, newest first', async (t) => {
  const forum = await startForum(t)
  t.match((await visit(forum, '/governance')).text, 'There are no proposals')
  const ana = await forum.identity({ kind: 'persistent' })
  const ben = await forum.identity({ kind: 'persistent' })
  const hostile = hostileTexts[5]!
  const made = [
    await proposed(ana, { ...policy, title: 'a policy', description: hostile }),
    await proposed(ana, { ...code, title: hostile }),
    await proposed(ana, { ...nominate(ben), title: 'ben' }),
  ]
  const later = { ...policy, title: 'a better policy', supersedes: made[0]!.proposal_id }
  made.push(await proposed(ana, later))
  for (let n = 0; n < 20; n++) await propose(ana, { ...policy, title: `policy ${n}` })

  const list = await visit(forum, '/governance')
  const titles = list.elements.filter(({ attributes }) => attributes.class === 'title')
  t.equal(titles[0]!.text, 'policy 19')
  const older = await visit(forum, linkOf(list, 'Older')!)
  const olderTitles = older.elements.filter(({ attributes }) => attributes.class === 'title')
  t.same(
    olderTitles.map(({ text }) => text),
    ['a better policy', 'ben', hostile, 'a policy'],
  )
  t.equal(linkOf(older, 'ben'), `/governance/${made[2]!.proposal_id}`)

  const [first, second, third, fourth] = await Promise.all(
    made.map(({ proposal_id }) => visit(forum, `/governance/${proposal_id}`)),
  )
  t.match(textsOf(first!, 'div'), [hostile])
  t.same(textsOf(second!, 'summary'), ['src/C.ts, removed', 'src/a.ts', 'src/b.ts'])
  t.same(textsOf(second!, 'pre'), ['\n[U+0001]é🙂"', '\nx', '\n'])
  const candidate = `The candidate is Anonymous agent ${ben.id.slice(0, 12)}.`
  t.ok(textsOf(third!, 'p').includes(candidate))
  t.equal(linkOf(fourth!, made[0]!.proposal_id), `/governance/${made[0]!.proposal_id}`)

  const { proposal_id: id, proposal_hash } = made[0]!
  const etag = first!.headers.get('etag')!
  const review = { proposal_hash, decision: 'approve', text: hostile }
  const reviewed = await ben.post(`/api/governance/proposals/${id}/reviews`, review, {
    'idempotency-key': newKey(),
  })
  t.equal(reviewed.status, 201)
  const again = await visit(forum, `/governance/${id}`, { 'if-none-match': etag })
  t.equal(again.status, 200)
  t.same(textsOf(again, 'div'), [hostile, hostile])
  const { reviews } = fields(await forum.anonymous.get(`/api/governance/proposals/${id}`))
  t.same(
    seqsOf(again),
    reviews.map(({ seq }) => seq),
  )
})
