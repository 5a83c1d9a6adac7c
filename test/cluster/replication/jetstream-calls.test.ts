// Requests from node to node through a real server, while connections are lost and restored.

import t, { type Test } from 'tap'
import { connectEngine } from '../../../src/cluster/replication/jetstream/connect.ts'
import { callMs } from '../../../src/cluster/replication/log-stream.ts'
import { timeoutMs } from '../../../src/forum/webhooks/send.ts'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'

const common = { stream: 'calls', replicas: 1, takeoverMs: 5_000, credentials: null, tls: null }

/** Connects a node, and counts how often its connection was lost. */
async function connected(t: Test, node: string, servers: string) {
  let losses = 0
  const log = await connectEngine({ ...common, node, servers: [servers] }, ({ event }) => {
    if (event === 'engine_disconnected') losses += 1
  })
  t.teardown(() => log.close())
  // Resolves when the servers know which node answers.
  const listening = () => log.connection.flush()
  return { calls: log.calls, log, listening, losses: () => losses }
}

t.test(
  'calls: a webhook is verified through a follower: its endpoint has all its time',
  async (t) => {
    t.ok(callMs >= timeoutMs + 1_000, 'the outcome has yet to become durable')
  },
)

t.test(
  'calls: cut off from the servers: nobody is asked, at once; back: answered',
  nats,
  async (t) => {
    const cluster = await startCluster(t, { size: 1 })
    const links = await cluster.links(t)
    const { calls: leader } = await connected(t, 'leader', cluster.url)
    const { calls: follower } = await connected(t, 'follower', links.url)
    leader.answer(1, async (request) => Buffer.concat([request, request]))
    const answered = async () => {
      const answer = await follower.call(1, Buffer.from('a'))
      return answer === null ? null : Buffer.from(answer).toString()
    }
    t.equal(await until('an answer', answered), 'aa')
    links.set('cut')
    // The call that discovers the loss of the connection may take its time.
    await until(
      'nobody to be asked',
      async () => (await answered().catch(() => 'unknown')) === null,
    )
    const begun = performance.now()
    t.equal(await answered(), null)
    t.ok(performance.now() - begun < callMs, 'without waiting for an answer')
    links.set('open')
    t.equal(await until('an answer again', answered), 'aa')
  },
)

t.test(
  'calls: cut off while the leader decides: the outcome is unknown, at once',
  nats,
  async (t) => {
    const cluster = await startCluster(t, { size: 1 })
    const links = await cluster.links(t)
    const { calls: leader, listening } = await connected(t, 'leader', cluster.url)
    const { calls: follower, log } = await connected(t, 'follower', links.url)
    let isAsked = false
    leader.answer(1, () => {
      isAsked = true
      return new Promise(() => {})
    })
    await listening()
    const call = follower.call(1, Buffer.from('a'))
    await until('the leader to be asked', () => isAsked)
    links.set('silent')
    const last = log.last()
    links.set('cut')
    // Not the error of an expired timeout, which would be the client's.
    const lost = { name: 'StreamUnavailable', message: /: the connection was lost$/ }
    await t.rejects(call, lost)
    await t.rejects(last, lost)
  },
)

t.test(
  'calls: the leader is cut off while it decides: its answer arrives later',
  nats,
  async (t) => {
    const cluster = await startCluster(t, { size: 1 })
    const links = await cluster.links(t)
    const { calls: leader, losses, listening } = await connected(t, 'leader', links.url)
    const { calls: follower } = await connected(t, 'follower', cluster.url)
    let decide: ((answer: Uint8Array) => void) | null = null
    leader.answer(1, () => {
      return new Promise((resolve) => {
        decide = resolve
      })
    })
    await listening()
    const call = follower.call(1, Buffer.from('a'))
    const answer = await until('the leader to be asked', () => decide)
    links.set('cut')
    await until('the leader to notice', () => losses() > 0)
    answer(Buffer.from('b'))
    await new Promise((resolve) => setImmediate(resolve))
    links.set('open')
    t.equal(Buffer.from((await call)!).toString(), 'b')
  },
)
