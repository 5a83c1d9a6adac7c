// Goal:   nodes that start together with different logs, or without the stream that they had, never
//         make two histories one, and none loses a file; whoever has the records begins, at once or
//         by the word of an operator, and each says what it waits for.
// Method: three real nodes and three real servers, whose stores, streams and disks are taken away.
//         What was acknowledged before is compared with what all nodes show in the end.

import t, { type Test } from 'tap'
import { chosenSeed, timeoutMs } from '../depth.ts'
import { until } from '../until.ts'
import { seededRandom } from '../wal/simulated-inode.ts'
import { CheckedSwarm } from './checked-swarm.ts'
import { type Cluster, nats, startCluster } from './nats-cluster.ts'
import { logDifference, newNode, type ReplicatedNode, settled } from './replicated-nodes.ts'

const random = seededRandom(chosenSeed)
let cluster: Cluster
let streams = 0

t.setTimeout(timeoutMs)
t.before(async () => {
  if (nats.skip === false) cluster = await startCluster(t)
})

type Three = [ReplicatedNode, ReplicatedNode, ReplicatedNode]

/** Three nodes that stand by, not started yet, on a stream of their own. */
async function threeNodes(t: Test, takeoverSeconds = 1): Promise<Three> {
  streams += 1
  const options = { stream: `histories-${streams}`, takeoverSeconds }
  const node = (name: string) => newNode(t, cluster, options, { name, role: '--replicate' })
  return [await node('a'), await node('b'), await node('c')]
}

/** Writes to these nodes until so many more are acknowledged. */
async function write(swarm: CheckedSwarm, more = 60): Promise<void> {
  swarm.start()
  await swarm.acknowledges(more)
  await swarm.stop()
}

/** Three nodes with one log and what was acknowledged; all are killed, and none has taken over. */
async function stopped(t: Test): Promise<{ nodes: Three; swarm: CheckedSwarm; end: number }> {
  const nodes = await threeNodes(t)
  for (const node of nodes) node.start()
  await settled(nodes)
  const swarm = new CheckedSwarm(nodes, random)
  await swarm.prepare()
  await write(swarm)
  t.same(await swarm.differences(), [])
  const end = (await nodes[1].status())!.position
  await until('one position', async () => {
    const all = await Promise.all(nodes.map((node) => node.status()))
    return all.every((status) => status?.position === end)
  })
  await Promise.all(nodes.map((node) => node.kill()))
  return { nodes, swarm, end }
}

/** All nodes show what was acknowledged, take more, and have one log. */
async function oneHistory(t: Test, nodes: Three, swarm: CheckedSwarm): Promise<void> {
  await settled(nodes)
  await write(swarm, 20)
  t.same(await swarm.differences(), [], `${swarm.acknowledged} writes acknowledged`)
  for (const node of nodes) t.equal(await node.stop(), 0, `${node.name} stops`)
  t.equal(await logDifference(nodes), null, 'the logs are the same')
}

const isAside = (name: string) => /\.(?:replaced|void|torn)$|^clear-log/.test(name)

/** Nothing of these nodes' logs was renamed, and none of them has ended. */
function untouched(t: Test, nodes: readonly ReplicatedNode[]): void {
  for (const { name, files, isRunning } of nodes) {
    t.same(files.filter(isAside), [], `${name}: nothing is put aside`)
    t.ok(isRunning, `${name} runs`)
  }
}

/** Resolves when /readyz of a node says this. */
const says = (node: ReplicatedNode, what: RegExp) =>
  until(`${node.name} to say ${what}`, async () => what.test(await node.readiness()))

t.test('all stores and one disk are lost, all start: nobody begins; then one', nats, async (t) => {
  const { nodes, swarm, end } = await stopped(t)
  const [a, b, c] = nodes
  await Promise.all(cluster.servers.map((server) => server.kill()))
  for (const server of cluster.servers) server.loseStore()
  for (const server of cluster.servers) server.start()
  await cluster.isReady()
  a.loseData()
  for (const node of nodes) node.start()
  await says(a, /node [0-9a-f]{16} holds the log of store .*--begin-stream 0/)
  for (const node of [b, c]) await says(node, new RegExp(`--begin-stream ${end}$`, 'm'))
  untouched(t, nodes)
  t.equal(await b.stop(), 0)
  b.start(['--begin-stream', `${end}`])
  await oneHistory(t, nodes, swarm)
  t.same([...b.files, ...c.files].filter(isAside), [])
})

t.test(
  'a node with data and two empty ones start at once: it begins, all serve',
  nats,
  async (t) => {
    // An empty node waits for twice that time: longer than a node takes to announce itself.
    const nodes = await threeNodes(t, 15)
    const [a, b, c] = nodes
    a.startAlone()
    const swarm = new CheckedSwarm([a], random)
    await swarm.prepare()
    await write(swarm)
    t.equal(await a.stop(), 0)
    swarm.places = nodes
    for (const node of [c, b, a]) node.start()
    await settled(nodes)
    untouched(t, nodes)
    await oneHistory(t, nodes, swarm)
  },
)

t.test('three empty nodes start at once, twice: one leads, nobody has ended', nats, async (t) => {
  const nodes = await threeNodes(t)
  for (let round = 0; round < 2; round++) {
    for (const node of nodes) node.start()
    await settled(nodes)
    untouched(t, nodes)
    for (const node of nodes) t.equal(await node.stop(), 0, `${node.name} stops`)
  }
})
