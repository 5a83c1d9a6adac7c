// Many writers wait for one sync, which fails or takes a long time. docs/faults.md, rows 24 and 29.

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { request } from 'undici'
import type { JournalError } from '../../wal/errors.ts'
import { ask, sample, samples } from '../api/operators.ts'
import { requestText, type Wire, wire } from '../api/wire.ts'
import { until } from '../until.ts'
import { type Held, startHeld } from './held-disk.ts'

const waiters = 1_000

interface Positioned extends Held {
  token: string
  path: string
}

async function startPositioned(t: Test, ...flags: string[]): Promise<Positioned> {
  const held = await startHeld(t, flags)
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await request(held.node.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return (await answer.body.json()) as Record<string, string>
  }
  const { token } = await post('/api/identities', { kind: 'persistent' })
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'the-thread' }
  const { read_url } = await post('/api/threads', { title: 't', content: 'first' }, headers)
  return { ...held, token, path: read_url }
}

function replyText({ token, path }: Positioned, n: number): string {
  const headers = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${token}`,
    'Idempotency-Key': `reply-key-${n}`,
  }
  return requestText('POST', `${path}/replies`, headers, JSON.stringify({ content: `reply ${n}` }))
}

/** Opens `count` connections and posts one reply on each, which then waits for the log. */
async function waiting(t: Test, forum: Positioned, count: number): Promise<Wire[]> {
  const begun = Array.from({ length: count }, async (_, n) => {
    const connection = await wire(t, forum.port)
    await connection.write(replyText(forum, n))
    return connection
  })
  const wires = await Promise.all(begun)
  await until(`${count} waiting`, async () => {
    return (await sample(forum.operators, 'agent_forum_gate_waiting')) === count
  })
  return wires
}

for (const http of ['auto', 'node']) {
  const who = `1,000 writers over ${http}, half of them gone`
  t.test(`${who}: their sync fails: the others get 503 once, the node exits`, async (t) => {
    const forum = await startPositioned(t, '--http', http)
    forum.disk.manual = true
    const wires = await waiting(t, forum, waiters)
    const before = await sample(forum.operators, 'agent_forum_connections')
    for (const [n, { socket }] of wires.entries()) if (n % 2 === 1) socket.resetAndDestroy()
    await until('a quarter of the connections to be closed', async () => {
      const now = await sample(forum.operators, 'agent_forum_connections')
      return now <= before - waiters / 4
    })
    forum.disk.refuse('sync', 'EIO')
    forum.disk.completeOne()
    const error: JournalError = await forum.node.failed.catch((error) => error)
    t.equal(error.exitCode, 74)
    for (const connection of wires.filter((_, n) => n % 2 === 0)) {
      const { status, headers, text } = await connection.answer()
      if (status !== 503 || JSON.parse(text).error !== 'storage_failed') t.fail(`${status} ${text}`)
      if (headers['retry-after'] === undefined) t.fail('no Retry-After')
    }
    await sleep(50)
    const more = wires.filter(({ rest }) => rest !== '')
    t.equal(more.length, 0, 'each was answered once, and those that left not at all')
    t.equal(await sample(forum.operators, 'agent_forum_gate_waiting'), 0)
    t.equal(await sample(forum.operators, 'agent_forum_queue_bytes{what="answers"}'), 0)

    const again = await startHeld(t, [], forum.disk.copy().losePower())
    const page = await request(`${again.node.url}${forum.path}?limit=100`)
    const { messages } = (await page.body.json()) as { messages: { content: string }[] }
    t.equal(messages[0].content, 'first')
    t.equal(new Set(messages.map(({ content }) => content)).size, messages.length, 'none twice')
  })

  t.test(`slow disk: over ${http}: queues are bounded, readiness reports it`, async (t) => {
    const forum = await startPositioned(t, '--http', http, '--writes-max', '50')
    forum.disk.manual = true
    const wires = await waiting(t, forum, 50)
    const begun = performance.now() // the sync began before this
    const late = await wire(t, forum.port)
    for (let n = 100; n < 110; n++) {
      await late.write(replyText(forum, n))
      const { status, headers, text } = await late.answer()
      t.match(
        { status, headers, text },
        {
          status: 503,
          headers: { 'retry-after': '1' },
          text: '"error":"overloaded"',
        },
      )
    }
    t.equal(
      await sample(forum.operators, 'agent_forum_gate_waiting'),
      50,
      'the queue grows no further',
    )
    await late.write(requestText('GET', '/api/status'))
    t.equal((await late.answer()).status, 200, 'what is durable can be read')
    const readyz = () => ask(forum.operators, '/readyz')
    await until('a slow disk', async () => (await readyz()).text.includes('disk: slow'))
    t.match(await readyz(), { status: 200, text: /^degraded: queues: full, 50 answers wait/ })
    // Readiness may have reported it slightly before the sync had lasted a second.
    await sleep(begun + 1100 - performance.now())

    forum.disk.manual = false
    while (forum.disk.pending > 0) forum.disk.completeOne()
    for (const connection of wires) t.equal((await connection.answer()).status, 201)
    await late.write(replyText(forum, 100))
    t.equal((await late.answer()).status, 201, 'refused before, accepted now with the same key')
    await until('ok again', async () => (await readyz()).text === 'ok\n')
    const metrics = samples((await ask(forum.operators, '/metrics')).text)
    const bucket = (le: string) => `agent_forum_journal_sync_duration_seconds_bucket{le="${le}"}`
    const slow = metrics.get(bucket('+Inf'))! - metrics.get(bucket('1'))!
    t.ok(slow >= 1, 'the histogram of syncs shows it')
    t.ok(metrics.get('agent_forum_refusals_total{why="writes"}') === 10)
  })
}
