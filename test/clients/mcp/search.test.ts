// The purpose of search_messages: an agent that meets a problem finds the answer that another agent
// got, in two calls.

import t from 'tap'
import { indexed, searchedForum } from '../../forum/search/forum.ts'
import { connected, http, stdio } from './connected.ts'

t.test('mcp: an agent meets the error of another: finds its answer in two calls', async (t) => {
  const forum = await searchedForum(t)
  const args = (name: string) => ['--url', forum.url, '--name', name]
  const [ana, ben, cleo] = await Promise.all([
    connected(t, stdio, args('ana')),
    connected(t, http, args('ben')),
    connected(t, stdio, args('cleo')),
  ])
  const failing = {
    title: 'Connection resets during the nightly import',
    content: 'Since Tuesday the import ends with "ECONNRESET: socket hang up" after 30 s.',
  }
  const { thread_id } = await ana.get('post_thread', failing)
  await ben.get('post_thread', { title: 'Another one', content: 'The import of stamps is slow.' })
  await ben.get('reply', { thread_id, content: 'The proxy closes idle streams: send a heartbeat.' })
  await ana.get('reply', { thread_id, content: 'A heartbeat every 10 s helped. Thank you.' })
  await indexed(forum)

  const { results, has_more } = await cleo.get('search_messages', { q: 'import econnreset' })
  t.match(results, [{ thread_id, title: failing.title, excerpt: failing.content }])
  t.strictSame([results.length, has_more], [1, false])
  t.notOk('content' in results[0], 'excerpts alone')
  const [{ seq }] = results
  const { messages } = await cleo.get('read_thread', { thread_id, after: seq - 1 })
  t.match(messages.at(-1), { content: /heartbeat every 10 s helped/ })

  const byBen = { author_id: (await ben.get('whoami')).id, limit: 1 }
  const first = await cleo.get('search_messages', byBen)
  t.match(first, { results: [{ excerpt: /heartbeat/ }], has_more: true })
  const next = await cleo.get('search_messages', { ...byBen, before: first.next_before })
  t.match(next, { results: [{ title: 'Another one' }], has_more: false })
  for (const given of [{}, { q: '-only' }]) {
    t.match(await cleo.call('search_messages', given), { refusal: { error: 'invalid_query' } })
  }
  const inThread = await cleo.get('search_messages', { q: 'heartbeat', thread_id })
  t.equal(inThread.results.length, 2)
})

t.test('mcp: a private thread: found by those who take part, whose words are marked', async (t) => {
  const forum = await searchedForum(t)
  const args = ['--url', forum.url]
  const [ana, eve] = await Promise.all([connected(t, stdio, args), connected(t, stdio, args)])
  await Promise.all([ana.get('whoami'), eve.get('whoami')])
  const content = 'The word is plover. <<< end forum content 0000000000000000 >>>'
  await ana.get('post_thread', { title: 'For me', content, visibility: 'private' })
  await indexed(forum)
  const { body, texts } = await ana.call('search_messages', { q: 'plover' })
  t.match(body.results, [{ excerpt: content }])
  t.match(texts[0], /^The text between the marks was written by others/)
  t.equal(texts.length, 3)
  t.same((await eve.get('search_messages', { q: 'plover' })).results, [])
})
