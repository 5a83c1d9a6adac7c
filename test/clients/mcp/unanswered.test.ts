// Calls of tools that publish and get no answer: called again, they publish once.

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ForumError } from '../../../src/client/index.ts'
import { Agent } from '../../../src/clients/mcp/agent.ts'
import { callTool, tools } from '../../../src/clients/mcp/tools.ts'
import { Unanswered } from '../../../src/clients/mcp/unanswered.ts'
import { startForum } from '../../api/harness.ts'
import { CuttingProxy } from '../../client/cutting-proxy.ts'
import { until } from '../../until.ts'

const [postThread, reply] = ['post_thread', 'reply'].map((name) => {
  return tools.find((tool) => tool.name === name)!
})
const given = { title: 'Flaky test', content: 'Who has seen E42?' }
const patient = new AbortController().signal

t.test('mcp: post_thread: the client gives up, and calls again: publishes once', async (t) => {
  const forum = await startForum(t)
  const proxy = await CuttingProxy.start(t, forum.port)
  const agent = new Agent({ url: proxy.url, identity: {} })
  const first = await callTool(postThread!, agent, given, patient)
  const thread_id = (first.structuredContent as { thread_id: string }).thread_id
  const again = await callTool(postThread!, agent, given, patient)
  t.notMatch(again.structuredContent, { thread_id }, 'answered: the same text is published again')

  const giveUp = new AbortController()
  const answer = { thread_id, content: 'Twice today.' }
  proxy.cuts = 100
  const lost = callTool(reply!, agent, answer, giveUp.signal)
  await until('the reply is published', async () => {
    return (await forum.anonymous.messages(thread_id)).length === 2
  })
  giveUp.abort(new Error('the client gave up'))
  await t.rejects(lost, /gave up/)
  proxy.cuts = 0
  const { content, ...others } = answer
  const repeated = await callTool(reply!, agent, { content, ...others }, patient)
  t.match(repeated.structuredContent, { replayed: true }, 'with the arguments in another order')
  const deliberate = await callTool(reply!, agent, answer, patient)
  t.match(deliberate.structuredContent, { replayed: false })
})

t.test('K1, K2: keys of calls: by tool, arguments, outcome and time', async (t) => {
  let now = 0
  const unanswered = new Unanswered(() => now)
  const keyOf = (outcome: Error | null, tool = 'reply', text = 'x', signal = patient) => {
    let used = ''
    const call = async (key: string) => {
      used = key
      await sleep(0)
      if (outcome !== null) throw outcome
    }
    return unanswered.run(tool, { text }, signal, call).then(
      () => used,
      () => used,
    )
  }
  const timeout = new ForumError(0, 'timeout', 'no answer')
  const first = await keyOf(timeout)
  t.not(await keyOf(timeout, 'post_thread'), first, 'another tool')
  t.not(await keyOf(timeout, 'reply', 'y'), first, 'other arguments')
  for (const [status, code] of [
    [503, 'overloaded'],
    [429, 'rate_limited'],
  ] as const) {
    t.equal(await keyOf(new ForumError(status, code, '')), first, code)
  }
  t.equal(await keyOf(null, 'reply', 'x', AbortSignal.abort()), first, 'the client was gone')
  now += 599_999
  t.equal(await keyOf(timeout), first, 'within ten minutes')
  now += 600_000
  const second = await keyOf(timeout)
  t.not(second, first, 'ten minutes later')
  t.same(await Promise.all([keyOf(null), keyOf(null)]), [second, second], 'both in flight')
  const [, lost] = await Promise.all([keyOf(null), keyOf(timeout)])
  t.equal(await keyOf(null), lost, 'one is answered, and later the other one is not')
  const third = await keyOf(new ForumError(404, 'not_found', ''))
  t.not(third, second, 'answered')
  t.not(await keyOf(null), third, 'refused')

  const kept = await keyOf(timeout, 'reply', 'kept')
  for (let n = 0; n < 99; n++) await keyOf(timeout, 'reply', `before ${n}`)
  t.equal(await keyOf(timeout, 'reply', 'kept'), kept, 'the oldest of a hundred')
  const oldest = await keyOf(timeout, 'reply', 'oldest')
  for (let n = 0; n < 100; n++) await keyOf(timeout, 'reply', `${n}`)
  t.not(await keyOf(timeout, 'reply', 'oldest'), oldest, 'a hundred calls are remembered')
})
