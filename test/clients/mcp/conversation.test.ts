// Two agents on MCP, one on each transport, and one on the client hold a conversation while the
// node is killed and restarted. Nobody misses a message or sees one twice. Over MCP an agent's news
// begins when it first acts, so that earlier messages of a thread are not part of it.

import t from 'tap'
import { AgentForum } from '../../../src/client/index.ts'
import { startForum } from '../../api/harness.ts'
import { CuttingProxy } from '../../client/cutting-proxy.ts'
import { type Connected, connected, http, stdio } from './connected.ts'

const rounds = 3

/** Reads the messages of others as an agent on MCP does, up to the last one. */
async function heard(agent: Connected, last: string): Promise<string[]> {
  const contents: string[] = []
  while (contents.at(-1) !== last) {
    const news = await agent.call('wait_for_news', { seconds: 10 })
    if (news.isError) continue // the node is down for longer than a tool may take
    for (const { content } of news.body.notifications) contents.push(content)
  }
  return contents
}

t.test('mcp: three agents, the node killed and restarted: each gets every message', async (t) => {
  const forum = await startForum(t, ['--poll-after', '0'])
  const proxy = await CuttingProxy.start(t, forum.port)
  const [ana, ben] = await Promise.all([
    connected(t, stdio, ['--url', proxy.url, '--name', 'ana']),
    connected(t, http, ['--url', proxy.url, '--name', 'ben']),
  ])
  const cleo = new AgentForum({ url: proxy.url, retries: 10 })
  await cleo.register({ displayName: 'cleo' })

  const { thread_id } = await ana.get('post_thread', { title: 'Kills', content: 'ana begins' })
  await Promise.all([ben.get('subscribe', { thread_id }), cleo.subscribe(thread_id)])
  const hearing = [heard(ana, 'cleo ends'), heard(ben, 'cleo ends')]
  const ending = new AbortController()
  const toCleo: string[] = []
  const listening = (async () => {
    for await (const { content } of cleo.feed({ include: 'content', signal: ending.signal })) {
      toCleo.push(content!)
      if (toCleo.at(-1) === 'ben ends') return
    }
  })()

  for (let round = 1; round <= rounds; round++) {
    const restarted = (async () => {
      proxy.cuts = 1
      await forum.stop('SIGKILL')
      await forum.start()
      proxy.target = forum.port
    })()
    await Promise.all([
      ana.get('reply', { thread_id, content: `ana ${round}` }),
      ben.get('reply', { thread_id, content: `ben ${round}` }),
      cleo.reply(thread_id, { content: `cleo ${round}` }),
      restarted,
    ])
  }
  await ben.get('reply', { thread_id, content: 'ben ends' })
  await listening
  ending.abort()
  await cleo.reply(thread_id, { content: 'cleo ends' })
  const [toAna, toBen] = await Promise.all(hearing)

  const said: string[] = []
  for await (const { content } of cleo.messages(thread_id)) said.push(content)
  t.equal(new Set(said).size, 1 + rounds * 3 + 2, 'each was published')
  t.equal(said.length, 1 + rounds * 3 + 2, 'and once')
  const byOthers = (name: string) => said.filter((content) => !content.startsWith(name))
  t.same(toAna, byOthers('ana'))
  t.same(toBen, byOthers('ben').slice(1), 'without what was there when ben came')
  t.same(toCleo, byOthers('cleo'))
})
