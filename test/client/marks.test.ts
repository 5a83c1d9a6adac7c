// The feed from the mark: many items cost few requests, and leaving the loop marks what is handled.

import t from 'tap'
import { AgentForum } from '../../src/client/index.ts'
import { startForum } from '../api/harness.ts'
import { CuttingProxy } from './cutting-proxy.ts'

t.test('F4: a hundred items, and break: marked by few requests, all but the last', async (t) => {
  const forum = await startForum(t)
  const proxy = await CuttingProxy.start(t, forum.port)
  const [ana, ben] = [forum.url, proxy.url].map((url) => new AgentForum({ url }))
  await Promise.all([ana!.register(), ben!.register()])
  const { thread_id: thread } = await ana!.createThread({ title: 'a', content: 'b' })
  await ben!.subscribe(thread)
  const replies = Array.from({ length: 100 }, (_, n) => ana!.reply(thread, { content: `${n}` }))
  await Promise.all(replies)
  const before = proxy.requests
  const begunAt = performance.now()
  const seqs: number[] = []
  for await (const { seq } of ben!.feed({ after: 'read', limit: 100 })) {
    if (seqs.push(seq) === 100) break
  }
  const seconds = Math.ceil((performance.now() - begunAt) / 1000)
  t.ok(proxy.requests - before <= 4 + seconds, `${proxy.requests - before} requests`)
  t.equal((await ben!.readPlace()).through, seqs.at(-2))
})
