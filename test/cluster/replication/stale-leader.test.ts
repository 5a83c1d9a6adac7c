// Goal:   a leader that another node has replaced, and that does not know it yet, never reports
//         anything as absent: objects that were created since exist for its own callers' next
//         request, too.
// Method: two nodes, each a process of its own, and three nats-servers. The leader is stopped
//         (SIGSTOP), or nothing passes between it and the servers, until the other node leads;
//         identities, threads and tickets are created there. Requests about them are sent to the
//         old leader; a stopped one receives them before it continues, so that the first iteration
//         of its event loop answers them.

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { type Cluster, nats, startCluster } from './nats-cluster.ts'
import { type ReplicatedNode, settled, startPair } from './replicated-nodes.ts'

t.setTimeout(timeoutMs)

interface Answer {
  status: number
  body: Record<string, string> & { messages?: { content: string }[] }
}

let keys = 0
let streams = 0
let cluster: Cluster

t.before(async () => {
  if (nats.skip === false) cluster = await startCluster(t)
})

async function ask(
  { url }: ReplicatedNode,
  path: string,
  { token = '', body, key = `a-key-of-a-test-${keys++}` }: Partial<Asked> = {},
): Promise<Answer> {
  const headers: Record<string, string> = { 'idempotency-key': key }
  if (token !== '') headers.authorization = `Bearer ${token}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  const method = body === undefined ? 'GET' : 'POST'
  const payload = body === undefined ? null : JSON.stringify(body)
  const answer = await request(url + path, { method, headers, body: payload, reset: true })
  return { status: answer.statusCode, body: (await answer.body.json()) as Answer['body'] }
}

interface Asked {
  token: string
  body: object
  key: string
}

/** Sends a request until the answer is not 503, and returns the answer. */
function insist(node: ReplicatedNode, path: string, asked: Partial<Asked> = {}): Promise<Answer> {
  const key = `a-key-of-a-test-${keys++}`
  return until(`an answer to ${path}`, async () => {
    const answer = await ask(node, path, { key, ...asked }).catch(() => null)
    return answer === null || answer.status === 503 ? null : answer
  })
}

/**
 * The objects created at a node: an identity (its token), a thread, and a ticket to reply to it.
 */
interface Made {
  token: string
  path: string
  publish: string
}

async function made(node: ReplicatedNode, title: string): Promise<Made> {
  const { token } = (await insist(node, '/api/identities', { body: { kind: 'guest' } })).body
  const body = { title, content: `the beginning of ${title}` }
  const { thread_id } = (await insist(node, '/api/threads', { token: token!, body })).body
  const { ticket } = (await insist(node, '/api/compat/ticket')).body
  const query = `ticket=${ticket}&ack=publish&content=c&thread_id=${thread_id}`
  const publish = `/api/compat/publish?${query}`
  return { token: token!, path: `/api/threads/${thread_id}`, publish }
}

/** Sends requests about existing objects; each must be answered accordingly, or refused for now. */
function requestsAbout(node: ReplicatedNode, { token, path, publish }: Made) {
  const reply = { token, body: { content: 'a reply' } }
  return [
    ask(node, path),
    ask(node, publish),
    ask(node, `${path}/replies`, reply),
    ask(node, `${path}/subscribe`, { token, body: {} }),
    ask(node, '/api/notifications', { token }),
    ask(node, '/api/threads', { token, body: { title: 'another', content: 'one' } }),
  ]
}

/** Returns the answers that deny existence. If a connection ends, there is no answer. */
async function denials(requests: Promise<Answer>[]): Promise<string[]> {
  const found: string[] = []
  for (const outcome of await Promise.allSettled(requests)) {
    if (outcome.status === 'rejected') continue
    const { status, body } = outcome.value
    if (status >= 400 && status !== 503) found.push(`${status} ${body.error}`)
  }
  return found
}

async function pair(t: Test, flags: readonly string[] = []) {
  streams += 1
  return startPair(t, cluster, { stream: `stale-${streams}`, takeoverSeconds: 2, flags })
}

function leads(node: ReplicatedNode): Promise<true> {
  return until('the other node to lead', async () => (await node.status())?.role === 'leader')
}

const leaders = [
  ['a leader', []],
  ['a leader with readers', ['--readers', '1']],
] as const

for (const [who, flags] of leaders) {
  t.test(`${who}: stopped, replaced, goes on: takes nothing for absent`, nats, async (t) => {
    const [old, next] = await pair(t, flags)
    const before = await made(old, 'before')
    old.pause()
    await leads(next)
    const since = await made(next, 'since')
    await insist(next, `${before.path}/replies`, { token: before.token, body: { content: 'new' } })
    const waiting = [1, 2, 3].flatMap(() => requestsAbout(old, since))
    const pages = [1, 2, 3].map(() => ask(old, before.path))
    await sleep(200) // in transit by now; a late one is answered later, and must hold as well
    old.resume()
    t.same(await denials(waiting), [])
    for (const outcome of await Promise.allSettled(pages)) {
      if (outcome.status === 'rejected' || outcome.value.status === 503) continue
      const contents = outcome.value.body.messages!.map(({ content }) => content)
      t.same(contents, ['the beginning of before', 'new'], 'no page is older than one shown before')
    }
    // Repeats them until the old leader follows.
    await until('the old leader to follow', async () => {
      t.same(await denials(requestsAbout(old, since)), [])
      return (await old.status())?.role === 'follower'
    })
    await settled([old, next])
    t.equal((await insist(old, since.path)).status, 200)
  })
}

for (const [who, flags] of leaders) {
  t.test(`${who} is cut off: refuses for now; what it has, it shows`, nats, async (t) => {
    const [old, next] = await pair(t, flags)
    const before = await made(old, 'before')
    const written = await made(old, 'written to while it is cut off')
    const missing = '/api/threads/thr_00000000000000000000000000000000'
    t.equal((await insist(old, missing)).status, 404, 'while it leads')
    old.links.set('silent')
    const alone = ask(old, `${written.path}/replies`, {
      token: written.token,
      body: { content: 'x' },
    })
    await sleep(200) // the reply is in the state by now
    const page = ask(old, written.path)
    t.same((await alone).body.error, 'no_leader', 'a write does not wait until it is back')
    t.same((await page).body.error, 'no_leader', 'nor does a page that shows it')
    await leads(next)
    const since = await made(next, 'since')
    for (let n = 0; n < 3; n++) t.same(await denials(requestsAbout(old, since)), [])
    const { status, body } = await ask(old, missing)
    t.same([status, body.error], [503, 'no_leader'])
    t.equal((await insist(old, before.path)).status, 200, 'reading goes on')
    t.same(await denials(requestsAbout(old, since)), [])
    old.links.set('open')
    await until('the old leader to follow', async () => {
      t.same(await denials(requestsAbout(old, since)), [])
      return (await old.status())?.role === 'follower'
    })
    await settled([old, next])
    t.equal((await insist(old, since.path)).status, 200)
  })
}
