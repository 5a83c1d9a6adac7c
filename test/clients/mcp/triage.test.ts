// Goal:   agents complete a realistic task with few calls and little to read. Three of them triage
//         an incident through the MCP tools alone, among irrelevant threads.
// Counts: the tool calls, and the characters of their results, which a model has to read.

import t from 'tap'
import { AgentForum } from '../../../src/client/index.ts'
import { indexed, searchedForum } from '../../forum/search/forum.ts'
import { type Connected, connected, stdio } from './connected.ts'

const callsMax = 15
const charactersMax = 15_000
const threads = Number(process.env.TRIAGE_THREADS ?? 200)
const updates = 60

/** Fills the forum before the incident: a cause found earlier, other threads, and an old alert. */
async function filled(url: string): Promise<void> {
  const [ops, dev] = [1, 2].map(() => new AgentForum({ url }))
  await ops.register({ displayName: 'ops', kind: 'persistent' })
  await dev.register({ displayName: 'dev', kind: 'persistent' })
  const before = await ops.createThread({
    title: 'Payments: pool exhausted after the upgrade',
    content: 'Requests to payments time out with E4711 since the upgrade of the driver.',
  })
  const cause = 'E4711 is the new default of the pool: 10 connections. Set POOL_MAX to 50.'
  await dev.reply(before.thread_id, { content: cause })
  for (let n = 0; n < threads; n++) {
    const content = `Notes on release ${n}: nothing unusual, all checks are green. `.repeat(5)
    await dev.createThread({ title: `Release notes ${n}`, content })
  }
  const { thread_id } = await ops.createThread({
    title: 'Alert: checkout answers 502',
    content: 'The gateway reports 502 for 3 % of the requests to checkout.',
  })
  for (let n = 0; n < updates; n++) {
    const content = `Update ${n}: still ${3 + (n % 4)} % of the requests, in both regions.`
    await ops.reply(thread_id, { content })
  }
}

t.test('mcp: three agents triage an incident: in few calls that are soon read', async (t) => {
  const forum = await searchedForum(t)
  await filled(forum.url)
  await indexed(forum)
  const args = (name: string) => ['--url', forum.url, '--name', name]
  const agents = await Promise.all(['ana', 'ben', 'cleo'].map((n) => connected(t, stdio, args(n))))
  const [ana, ben, cleo] = agents as [Connected, Connected, Connected]
  let [calls, characters] = [0, 0]
  const use = async (agent: Connected, tool: string, given: object = {}) => {
    const { isError, texts, body } = await agent.call(tool, { ...given })
    if (isError) throw new Error(texts.join('\n'))
    calls += 1
    characters += texts.join('').length
    return body
  }
  const news = (agent: Connected) => use(agent, 'wait_for_news', { seconds: 30 })

  // Ben and Cleo wait. Ana finds the alert, reads the end of it, and mentions both.
  const others = await Promise.all([ben, cleo].map(async (agent) => (await agent.get('whoami')).id))
  const waiting = [news(ben), news(cleo)]
  const { results } = await use(ana, 'search_messages', { q: 'alert checkout 502', limit: 3 })
  const { thread_id } = results.at(-1)
  await use(ana, 'read_thread', { thread_id, last: 5 })
  const asked = 'Checkout fails. Ben, what do the logs say? Cleo, did we have that before?'
  await use(ana, 'reply', { thread_id, content: asked, mention_ids: others })
  const [toBen, toCleo] = await Promise.all(waiting)
  for (const { notifications } of [toBen, toCleo]) {
    t.match(notifications, [{ thread_id, content: asked, mentioned: true, display_name: 'ana' }])
  }
  const mention_ids = [toBen.notifications[0].author_id]

  // Ben knows the logs. Cleo finds the cause of the earlier incident.
  const logs = 'The gateway waits for payments, which answers E4711.'
  await use(ben, 'reply', { thread_id, content: logs, mention_ids: [...mention_ids, others[1]] })
  t.match(await news(cleo), { notifications: [{ content: logs }] })
  const before = await use(cleo, 'search_messages', { q: 'E4711 pool', limit: 3 })
  const last = await use(cleo, 'read_thread', { thread_id: before.results[0].thread_id, last: 2 })
  t.match(last.messages.at(-1).content, /POOL_MAX to 50/)
  const content = 'E4711 is the pool of payments. POOL_MAX=50 helped the last time.'
  await use(cleo, 'reply', { thread_id, content, mention_ids })

  // Ana reads both replies, and sums up for all who follow.
  t.match(await news(ana), { notifications: [{ content: logs }, { content }] })
  const summary = 'Cause: pool of payments, E4711. Done: POOL_MAX=50. 502 are gone. Thank you.'
  await use(ana, 'reply', { thread_id, content: summary, mention_ids: others })
  t.match((await news(ben)).notifications.at(-1), { content: summary })
  t.match((await news(cleo)).notifications.at(-1), { content: summary })

  t.comment(`${calls} calls, ${characters} characters among ${threads} threads`)
  t.ok(calls <= callsMax, `${calls} calls`)
  t.ok(characters <= charactersMax, `${characters} characters`)
})
