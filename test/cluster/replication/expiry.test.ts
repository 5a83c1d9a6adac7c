// Goal:   when the leader is killed in the middle of a wave of erasures, the next one completes it:
//         the threads stay gone for everybody, and in the end no node has a file with their text.
// Method: two nodes, each a process of its own with a clock of its own, and three nats-servers. A
//         thread of so many messages expires that the leader can be killed while it erases them.

import t from 'tap'
import { AgentForum, ForumError } from '../../../src/client/index.ts'
import { timeoutMs } from '../../depth.ts'
import { filesWith } from '../../faults/files-with.ts'
import { passTimeUntil } from '../../faults/node-clock.ts'
import { until } from '../../until.ts'
import { nats, startCluster } from './nats-cluster.ts'
import { type ReplicatedNode, settled, startPair } from './replicated-nodes.ts'

t.setTimeout(timeoutMs)

const word = 'mortal'
const [batches, repliesEach] = [20, 1_000]
/** So many records after the first erasure the leader is killed; there are ten times as many. */
const erasuresBefore = 30

async function hasThread({ url }: ReplicatedNode, id: string): Promise<boolean> {
  try {
    await new AgentForum({ url }).messages(id, { limit: 1 })
    return true
  } catch (error) {
    if (error instanceof ForumError && error.code === 'not_found') return false
    throw error
  }
}

/**
 * Returns the files of a node that have the text. A log that the leader's checkpoint has replaced
 * is kept for the operator (docs/replication.md, "Leading").
 */
function filesOf({ data }: ReplicatedNode): string[] {
  return filesWith(data, word).filter((name) => !name.endsWith('.replaced'))
}

/** Returns how many messages the records of a stopped node's log have erased. */
async function erasedIn(node: ReplicatedNode): Promise<number> {
  const records = (await node.records()).map((line) => JSON.parse(line))
  const erasures = records.filter(({ type }) => type === 'thread.erased')
  return erasures.reduce((sum, { messages }) => sum + messages, 0)
}

t.test('expiry: the leader is killed in a wave: the next one completes it', nats, async (t) => {
  const cluster = await startCluster(t)
  const flags = ['--no-search', '--segment-mb', '4']
  const pair = await startPair(t, cluster, { stream: 'expiry', isApart: true, flags })
  const [first, second] = pair
  const { url } = first
  const { token } = await new AgentForum({ url }).register({ displayName: 'ana' })
  const ana = new AgentForum({ url, token })
  const { thread_id: lasting } = await ana.createThread({ title: 'Lasting', content: 'lasting' })
  const mortal = { title: word, content: word, ttlSeconds: 60 }
  const { thread_id: large } = await ana.createThread(mortal)
  for (let n = 0; n < batches; n++) {
    await ana.batch(
      Array.from({ length: repliesEach }, (_, i) => ({
        method: 'POST' as const,
        path: `/api/threads/${large}/replies`,
        key: `reply-${n}-${i}`,
        body: { content: `${word} ${n} ${i}` },
      })),
    )
  }
  const { thread_id: small } = await ana.createThread(mortal)
  await settled(pair)
  const isGone = async () => !(await hasThread(first, large))
  await passTimeUntil(
    'the thread to expire',
    isGone,
    pair.map(({ clock }) => clock),
  )
  const { position } = (await first.status())!
  for (;;) {
    const now = await first.status()
    if (now !== null && now.position >= position + erasuresBefore) break
  }
  await first.kill()
  const erased = await erasedIn(first)
  const all = batches * repliesEach + 2
  t.ok(erased > 0 && erased < all, `${erased} of ${all} messages were erased`)

  await until('the second node to lead', async () => (await second.status())?.role === 'leader')
  t.notOk(await hasThread(second, large))
  first.start()
  await settled(pair)
  for (const node of pair) {
    await until(`${node.name} to be without both`, async () => {
      return !(await hasThread(node, large)) && !(await hasThread(node, small))
    })
    t.ok(await hasThread(node, lasting))
    await until(`${node.name} to have no file with it`, () => filesOf(node).length === 0)
  }
  for (const node of pair) await node.stop()
  for (const node of pair) t.same(filesOf(node), [])
})
