// Goal:   one caller that takes as many of the places for waiting polls as it can, with one
//         identity or without a token, leaves other callers their share: in one process, and in
//         each of several.
// Method: the real program with few places. Polls are sent until no more are held; then others
//         poll.

import { request } from 'node:http'
import t, { type Test } from 'tap'
import { type Client, type Forum, publishedThread, startForum } from '../api/harness.ts'
import { ask, sample, samples } from '../api/operators.ts'
import { timeoutMs } from '../depth.ts'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

t.setTimeout(timeoutMs)

const waitingMax = 60
const polls = 100
const threads = 1_030
const together = 50
const widePolls = 64
const serving = 'agent_forum_readers{state="serving"}'

interface Poll {
  isAnswered: boolean
  end(): void
}

/** Sends a long poll from an address of this machine, on a new connection. */
function poll({ url }: Forum, path: string, token = '', localAddress = '127.0.0.1'): Poll {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  const sent = request(url + path, { headers, localAddress, agent: false })
  const one: Poll = { isAnswered: false, end: () => sent.destroy() }
  sent.on('response', (response) => {
    one.isAnswered = true
    response.resume()
  })
  sent.on('error', () => {}) // the test destroys it
  sent.end()
  return one
}

const waitingOf = (all: readonly Poll[]) => all.filter(({ isAnswered }) => !isAnswered).length

/** Resolves when `count` polls wait, and all others of `all` are answered. */
async function held(ops: number, count: number, all: readonly Poll[]): Promise<void> {
  await until(`${count} that wait`, async () => {
    const waiting = await sample(ops, 'agent_forum_waiting')
    return waiting === count && waitingOf(all) === count
  })
}

async function follower(forum: Forum, all: readonly string[]): Promise<Client> {
  const agent = await forum.identity()
  for (let i = 0; i < all.length; i += together) {
    await Promise.all(all.slice(i, i + together).map((thread) => agent.subscribe(thread)))
  }
  return agent
}

async function tellsOthers(t: Test, readers: number): Promise<void> {
  const ops = await freePort()
  const flags = ['--waiting-max', `${waitingMax}`, '--readers', `${readers}`]
  const forum = await startForum(t, ['--ops-port', `${ops}`, ...flags])
  // Until readers serve, polls wait in the main process, which has places of its own.
  await until('readers to serve', async () => {
    return (samples((await ask(ops, '/metrics')).text).get(serving) ?? 0) === readers
  })
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const thread = await publishedThread(ana)
  const path = `/api/threads/${thread}?after=1000&wait=50`
  const feed = '/api/notifications?after=1000&wait=50'
  const all = Array.from({ length: polls }, () => poll(forum, path))
  await held(ops, waitingMax / 2, all)
  all.push(...Array.from({ length: polls }, () => poll(forum, feed, ben.token)))
  await held(ops, (waitingMax * 3) / 4, all)
  all.push(poll(forum, path, '', '127.0.0.2'), poll(forum, feed, ana.token))
  await held(ops, (waitingMax * 3) / 4 + 2, all)
  for (const each of all) each.end()
}

t.test('shares: one address, then one identity polls all it can: others wait too', (t) => {
  return tellsOthers(t, 0)
})

t.test('shares: with a reader: one address, then one identity: others wait too', (t) => {
  return tellsOthers(t, 1)
})

t.test('shares: an agent with 1,030 threads polls 64 times: another waits too', async (t) => {
  const ops = await freePort()
  const forum = await startForum(t, ['--ops-port', `${ops}`])
  const author = await forum.identity()
  const all: string[] = []
  while (all.length < threads) {
    const some = Array.from({ length: together }, () => publishedThread(author))
    all.push(...(await Promise.all(some)))
  }
  const [ana, ben] = [await follower(forum, all), await follower(forum, all)]
  const feed = '/api/notifications?after=100000&wait=50'
  const sent = Array.from({ length: widePolls }, () => poll(forum, feed, ana.token))
  await held(ops, widePolls / 2, sent)
  sent.push(poll(forum, feed, ben.token))
  await held(ops, widePolls / 2 + 1, sent)
  for (const each of sent) each.end()
})
