// How far an agent has read its feed, over MCP: the node keeps this position, so that it outlives
// the server process. An agent's news begins when it first acts.

import t from 'tap'
import { Agent } from '../../../src/clients/mcp/agent.ts'
import { type Client, publishedThread, startForum } from '../../api/harness.ts'
import { connected, stdio } from './connected.ts'

const forum = await startForum(t)
const environmentOf = ({ token }: Client) => ({
  AGENT_FORUM_URL: forum.url,
  AGENT_FORUM_TOKEN: token,
})

t.test('mcp: news: of an agent without a place: what comes, not what was there', async (t) => {
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  const thread_id = await publishedThread(ana)
  for (let i = 0; i < 30; i++) await ana.reply(thread_id, `old ${i}`)
  const agent = await connected(t, stdio, [], environmentOf(ben))
  await agent.get('reply', { thread_id, content: 'ben joins', mention_ids: [ana.id] })
  t.match((await ana.feed('?only=mentions')).body.notifications, [{ author_id: ben.id }])
  await ana.reply(thread_id, 'an answer before ben waits')
  const { notifications } = await agent.get('wait_for_news', { seconds: 20 })
  t.match(notifications, [{ content: 'an answer before ben waits' }])
  t.equal(notifications.length, 1)
  const all = await agent.get('check_feed', { after: 0 })
  t.equal(all.notifications.length, 32, 'what was there can be read')
})

t.test('mcp: the process ends: what was returned last comes again, and nothing else', async (t) => {
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  const thread_id = await publishedThread(ana)
  await ben.subscribe(thread_id)
  /** Runs a new server process of ben's, and returns the contents of the pages that it gets. */
  const life = async (calls: readonly string[]) => {
    const agent = await connected(t, stdio, [], environmentOf(ben))
    const pages: string[][] = []
    for (const name of calls) {
      const { notifications } = await agent.get(name, name === 'check_feed' ? {} : { seconds: 1 })
      pages.push(notifications.map(({ content }: { content: string }) => content))
    }
    await agent.client.close()
    return pages
  }
  t.same(await life(['wait_for_news']), [[]], 'the news begin')
  await ana.reply(thread_id, 'one')
  t.same(await life(['wait_for_news']), [['one']])
  await ana.reply(thread_id, 'two')
  t.same(await life(['check_feed']), [['one', 'two']], 'nobody knows whether it was handled')
  t.same(await life(['wait_for_news', 'check_feed']), [['one', 'two'], []], 'the call marks it')
  t.same(await life(['check_feed']), [[]])
  t.match((await ben.get('/api/notifications/read')).body, { unread: 0 })
})

t.test('mcp: news of one type: the others before it then count as read', async (t) => {
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  const thread_id = await publishedThread(ana)
  await ben.subscribe(thread_id)
  const [writer, agent] = [
    await connected(t, stdio, [], environmentOf(ana)),
    await connected(t, stdio, [], environmentOf(ben)),
  ]
  await agent.get('wait_for_news', { seconds: 1 })
  for (const type of ['note', 'task', 'note']) {
    await writer.get('reply', { thread_id, content: `a ${type}`, type })
  }
  const { notifications } = await agent.get('wait_for_news', { seconds: 20, type: 'task' })
  t.match(notifications, [{ content: 'a task', type: 'task' }])
  t.equal(notifications.length, 1)
  t.same((await agent.get('check_feed')).notifications, [])
  const { messages } = await agent.get('read_thread', { thread_id, last: 2, type: 'note' })
  t.equal(messages.length, 2)
})

t.test('mcp: a backup is restored: the place that it has is used', async (t) => {
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  const thread_id = await publishedThread(ana)
  await ben.subscribe(thread_id)
  const agent = await connected(t, stdio, [], environmentOf(ben))
  await agent.get('wait_for_news', { seconds: 1 })
  await agent.get('check_feed', { after: 1e9 })
  await ana.reply(thread_id, 'after the restore')
  t.match((await agent.get('check_feed')).notifications, [{ content: 'after the restore' }])
})

t.test('mcp: two first calls at once: what comes after the first of them is news', async (t) => {
  let [position, place, looks] = [10, 0, 0]
  let letOn = () => {}
  const held = new Promise<void>((resolve) => {
    letOn = resolve
  })
  t.intercept(globalThis, 'fetch', {
    value: async (url: string, { method, body }: RequestInit) => {
      if (method === 'PUT') place = Math.max(place, JSON.parse(`${body}`).through)
      if (!url.endsWith('/api/status')) return Response.json({ through: place, unread: 0 })
      looks += 1
      if (looks === 2) await held
      return Response.json({ capabilities: {}, position })
    },
  })
  const agent = new Agent({ url: 'http://127.0.0.1:1', token: 'aic_0', identity: {} })
  const calls = [agent.forum(), agent.forum()]
  await calls[0]
  position = 12
  letOn()
  await calls[1]
  t.equal(place, 10)
})
