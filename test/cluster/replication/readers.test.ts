// Goal:   nodes that share a log may have readers. A caller who writes at any process can read the
//         write at all processes of that node, whether the node leads or follows. When another node
//         takes over, the readers of both nodes show what their nodes now show, and nothing that
//         was not acknowledged.
// Method: two nodes, each a process with two readers, and a nats-server. Every request uses a new
//         connection, which the system assigns to one of the readers. The link of the leader is
//         cut, and opened when the other node leads: one is promoted in place, the other one starts
//         again, in the same process, as its follower.
// Leaves out: other faults and random ones: the deep run has fault-matrix.test.ts with readers.

import { randomUUID } from 'node:crypto'
import t from 'tap'
import { request } from 'undici'
import { ask, samples } from '../../api/operators.ts'
import { timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'
import { type ReplicatedNode, settled, startPair } from './replicated-nodes.ts'

t.setTimeout(timeoutMs)

/** Enough connections for the system to assign some of them to each reader. */
const apart = 8

interface Answer {
  status: number
  body: Record<string, string>
}

async function answerOf(answer: Awaited<ReturnType<typeof request>>): Promise<Answer> {
  return { status: answer.statusCode, body: (await answer.body.json()) as Answer['body'] }
}

/** Posts with a key on a new connection. */
async function post({ url }: ReplicatedNode, path: string, body: object, token = '') {
  const headers: Record<string, string> = {
    ...{ 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
  }
  const payload = JSON.stringify(body)
  const options = { method: 'POST', reset: true, headers, body: payload } as const
  return unlessBusy(async () => answerOf(await request(url + path, options)))
}

/** Sends the same GET on `apart` new connections. */
function getApart({ url }: ReplicatedNode, path: string): Promise<Answer[]> {
  const get = () => unlessBusy(async () => answerOf(await request(url + path, { reset: true })))
  return Promise.all(Array.from({ length: apart }, get))
}

/**
 * Returns the answer to a request. A reader that has heard nothing from its node for two seconds,
 * as on a busy machine, refuses the request, and it is sent again.
 */
function unlessBusy(send: () => Promise<Answer>): Promise<Answer> {
  return until('an answer', async () => {
    const answer = await send()
    return answer.body.error === 'overloaded' ? null : answer
  })
}

async function metricsOf({ opsPort }: ReplicatedNode): Promise<Map<string, number>> {
  return samples((await ask(opsPort, '/metrics')).text)
}

async function haveReaders(nodes: readonly ReplicatedNode[]): Promise<void> {
  for (const node of nodes) {
    await until(`both readers of the ${node.name} node`, async () => {
      return (await metricsOf(node)).get('agent_forum_readers{state="serving"}') === 2
    })
  }
}

t.test('readers: of two nodes: every process shows what its node shows', nats, async (t) => {
  const cluster = await startCluster(t, { size: 1 })
  const flags = ['--readers', '2', '--replicate-replicas', '1']
  // On a busy machine the leader must not be replaced before its link is cut.
  const [a, b] = await startPair(t, cluster, { stream: 'readers', flags, takeoverSeconds: 4 })
  await haveReaders([a, b])
  const { token } = (await post(b, '/api/identities', { kind: 'guest' })).body
  const created = await post(b, '/api/threads', { title: 't', content: 'c' }, token)
  const path = `/api/threads/${created.body.thread_id}`
  const expected = ['c']

  /** Checks that all processes of the node show these contents. */
  const areShown = async (node: ReplicatedNode, when: string) => {
    for (const { body } of await getApart(node, path)) {
      const messages = body.messages as unknown as { content: string }[]
      t.same(
        messages.map(({ content }) => content),
        expected,
        `${node.name}: ${when}`,
      )
    }
  }
  const reply = async (node: ReplicatedNode, content: string) => {
    const { status, body } = await post(node, `${path}/replies`, { content }, token)
    t.ok(status === 201 || status === 200, JSON.stringify(body)) // 200: it was sent again
    expected.push(content)
    await areShown(node, content)
  }
  // The node informs its readers one after the other.
  const haveRole = (node: ReplicatedNode, role: string) =>
    until(`every process of the ${node.name} node to be a ${role}`, async () => {
      const answers = await getApart(node, '/api/status')
      return answers.every(({ body }) => body.role === role)
    })

  await haveRole(a, 'leader')
  await haveRole(b, 'follower')
  for (let n = 0; n < 5; n++) {
    await reply(b, `by way of the follower ${n}`)
    await areShown(a, 'the leader had it before')
    await reply(a, `at the leader ${n}`)
  }

  a.links.set('cut')
  const alone = post(a, `${path}/replies`, { content: 'never acknowledged' }, token)
  // The readers have the record but must not show it: requests for the thread wait there.
  await until('the readers of the first node to have the reply', async () => {
    const metrics = await metricsOf(a)
    const behind = [1, 2].map((n) =>
      metrics.get(`agent_forum_reader_behind_records{reader="${n}"}`),
    )
    return metrics.get('agent_forum_gate_waiting') === 1 && behind.every((count) => count === 0)
  })
  const meanwhile = getApart(a, path)
  await until('the other node to lead', async () => (await b.status())?.role === 'leader')
  await haveRole(b, 'leader')
  await reply(b, 'by the new leader')
  await areShown(b, 'promoted in place')
  a.links.set('open')
  const { status, body } = await alone
  t.same([status, body.error], [503, 'no_leader'], 'it learns that another node leads')
  for (const read of await meanwhile) t.same([read.status, read.body.error], [503, 'no_leader'])
  await settled([a, b])
  await haveReaders([a, b])
  await haveRole(a, 'follower')
  await reply(a, 'by way of the one that led')
  await areShown(b, 'the leader had it before')
  for (const node of [a, b]) t.equal(await node.stop(), 0, `${node.name} stops`)
})
