// The feed from the mark: many items cost few requests, and leaving the loop marks what is handled.

import { setTimeout as sleep } from 'node:timers/promises'
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

t.test('F4: items are handled while a mark is sent: they are marked as well', async (t) => {
  const { url } = await startForum(t)
  let endMark = () => {}
  const isHandled = new Promise<void>((resolve) => {
    endMark = resolve
  })
  let polls = 0
  const slow: typeof fetch = async (input, init) => {
    const response = fetch(input, init)
    if (`${input}`.includes('/api/notifications?') && ++polls === 2) endMark()
    if (init?.method === 'PUT') await isHandled
    return response
  }
  const [ana, ben] = [new AgentForum({ url }), new AgentForum({ url, fetch: slow })]
  await Promise.all([ana.register(), ben.register()])
  const { thread_id: thread } = await ana.createThread({ title: 'a', content: 'b' })
  await ben.subscribe(thread)
  for (const content of ['c', 'd']) await ana.reply(thread, { content })
  const seqs: number[] = []
  for await (const { seq } of ben.feed({ after: 'read' })) {
    if (seqs.push(seq) === 4) break
    if (seqs.length < 3) continue
    void isHandled.then(() => sleep(100)).then(() => ana.reply(thread, { content: 'e' }))
  }
  t.equal((await ben.readPlace()).through, seqs[2])
})
