// Goal:   the text of an erased message leaves the disks of the servers as docs/replication.md,
//         "Checkpoints beside the stream" says: the files of the stream with the erasure, and the
//         log in which the servers agree when they start again.
// Method: two nodes and three servers, whose files are searched for the text of a message.

import t from 'tap'
import { run } from '../../api/process.ts'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'
import { type ReplicatedNode, startPair } from './replicated-nodes.ts'

const text = 'an address that nobody may find 4711'
let keys = 0

t.setTimeout(timeoutMs)

/** Posts until the answer is not 503, and returns it. */
async function post({ url }: ReplicatedNode, path: string, body: object, token = '') {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (token !== '') headers.authorization = `Bearer ${token}`
  if (token !== '') headers['idempotency-key'] = `server-files-${keys++}`
  return until(`an answer to ${path}`, async () => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.ok && ((await answer.json()) as Record<string, string>)
  })
}

t.test(
  'servers: a message is erased, they start again in turn: no file of theirs has its text',
  nats,
  async (t) => {
    const cluster = await startCluster(t)
    const { servers } = cluster
    const [leader] = await startPair(t, cluster, { stream: 'erased' })
    const { token } = await post(leader, '/api/identities', {})
    const path = '/api/threads'
    const { thread_id } = await post(leader, path, { title: 't', content: 'c' }, token)
    const reply = (content: string) =>
      post(leader, `${path}/${thread_id}/replies`, { content }, token)
    await reply('before')
    const { message_id } = await reply(text)
    await reply('after')
    await until('the text on all servers', () => servers.every((each) => each.filesWith(text)[1]))
    const args = ['--data', leader.data, '--reason', 'a test', '--yes']
    t.match(await run(['admin', 'remove-message', message_id!, ...args]), { code: 0 })
    const ofServers = (name: string) => name.startsWith('$SYS')
    await until('the stream to be trimmed', () =>
      servers.every((each) => each.filesWith(text).every(ofServers)),
    )
    for (const server of servers) {
      await server.kill('SIGTERM')
      server.start()
      await cluster.isReady()
      const isGone = () => server.isRunning && server.filesWith(text).length === 0
      await until(`${server.name} to lose the text`, isGone)
      await until('it to have caught up', () => server.monitor('/healthz'))
    }
    t.same(
      servers.map((each) => each.filesWith(text)),
      [[], [], []],
    )
    await reply('they serve')
  },
)
