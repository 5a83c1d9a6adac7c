// Requests from node to node through a real server, whose connection is lost and comes back.

import t from 'tap'
import { connectEngine } from '../../src/replication/jetstream/connect.ts'
import { until } from '../until.ts'
import { nats, startCluster } from './nats-cluster.ts'

t.test(
  'calls: cut off from the servers: nobody is asked, at once; back: answered',
  nats,
  async (t) => {
    const cluster = await startCluster(t, { size: 1 })
    const links = await cluster.links(t)
    const common = { stream: 'calls', replicas: 1, takeoverMs: 5_000, credentials: null, tls: null }
    const connected = async (node: string, servers: string) => {
      const log = await connectEngine({ ...common, node, servers: [servers] }, () => {})
      t.teardown(() => log.close())
      return log.calls
    }
    const leader = await connected('leader', cluster.url)
    const follower = await connected('follower', links.url)
    leader.answer(1, async (request) => Buffer.concat([request, request]))
    const answered = async () => {
      const answer = await follower.call(1, Buffer.from('a'))
      return answer === null ? null : Buffer.from(answer).toString()
    }
    t.equal(await until('an answer', answered), 'aa')
    links.set('cut')
    // The call in which the connection is found to be lost may take its time.
    await until(
      'nobody to be asked',
      async () => (await answered().catch(() => 'unknown')) === null,
    )
    const begun = performance.now()
    t.equal(await answered(), null)
    t.ok(performance.now() - begun < 5_000, 'without waiting for an answer')
    links.set('open')
    t.equal(await until('an answer again', answered), 'aa')
  },
)
