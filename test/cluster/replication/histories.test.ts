// Goal:   nodes that start together with different logs, or without the stream that they had, never
//         merge two histories, and none loses a file. The node that has the records begins, at once
//         or when an operator tells it to, and each node reports what it waits for.
// Method: three real nodes and three real servers, whose stores, streams and disks are taken away.
//         Whatever was acknowledged before is compared with what all nodes show in the end.

import { setTimeout as sleep } from 'node:timers/promises'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { chosenSeed, isDeep, timeoutMs } from '../../depth.ts'
import { until } from '../../until.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { CheckedSwarm } from './checked-swarm.ts'
import { type Cluster, nats, startCluster } from './nats-cluster.ts'
import { logDifference, newNode, type ReplicatedNode, settled } from './replicated-nodes.ts'

const random = seededRandom(chosenSeed)
let cluster: Cluster
let streams = 0

/** Longer than servers with a majority need for an election. */
const pausedMs = 12_000

t.setTimeout(timeoutMs)
t.before(async () => {
  if (nats.skip === false) cluster = await startCluster(t)
})

const stream = () => `histories-${streams}`

/** Changes something on the servers, as an operator may do by mistake. */
async function onServers(change: (manager: JetStreamManager) => Promise<unknown>): Promise<void> {
  const connection = await connect({ servers: cluster.url.split(',') })
  try {
    await change(await jetstreamManager(connection))
  } finally {
    await connection.close()
  }
}

const mistakes: Record<string, (manager: JetStreamManager) => Promise<unknown>> = {
  'the stream is removed': ({ streams }) => streams.delete(stream()),
  'the stream is purged': ({ streams }) => streams.purge(stream()),
  'the notes are removed': ({ streams }) => streams.delete(`KV_${stream()}-notes`),
  'the checkpoints are removed, the stream is purged': async ({ streams }) => {
    await streams.delete(`${stream()}-checkpoints`)
    await streams.purge(stream())
  },
}

/** Options of a test that takes half a minute and runs only in the deep run. */
const deepOnly = isDeep ? nats : { skip: 'only in the deep run' } // half a minute

/** Options of the tests of starts, of which each run includes one that the seed chooses. */
const starts = (n: number) => {
  const isChosen = isDeep || chosenSeed % 3 === n
  return isChosen ? nats : { skip: `TEST_SEED=${n} and the deep run have it` } // half a minute each
}

type Three = [ReplicatedNode, ReplicatedNode, ReplicatedNode]

/** Makes three standby nodes, not started yet, on a stream of their own. */
async function threeNodes(t: Test, takeoverSeconds = 1): Promise<Three> {
  streams += 1
  const options = { stream: stream(), takeoverSeconds }
  const node = (name: string) => newNode(t, cluster, options, { name, role: '--replicate' })
  return [await node('a'), await node('b'), await node('c')]
}

/** Writes to these nodes until that many more writes are acknowledged. */
async function write(swarm: CheckedSwarm, more = 60): Promise<void> {
  swarm.start()
  await swarm.acknowledges(more)
  await swarm.stop()
}

interface Running {
  nodes: Three
  swarm: CheckedSwarm
  /** The position at which their logs end. */
  end: number
}

/** Starts three nodes, which serve with one log and some acknowledged writes. */
async function serving(t: Test): Promise<Running> {
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
  return { nodes, swarm, end }
}

/** Checks that all nodes show what was acknowledged, accept more, and have one log. */
async function oneHistory(t: Test, nodes: Three, swarm: CheckedSwarm): Promise<void> {
  await settled(nodes)
  await write(swarm, 20)
  t.same(await swarm.differences(), [], `${swarm.acknowledged} writes acknowledged`)
  for (const node of nodes) t.equal(await node.stop(), 0, `${node.name} stops`)
  t.equal(await logDifference(nodes), null, 'the logs are the same')
}

const isAside = (name: string) => /\.(?:replaced|void|torn)$|^clear-log/.test(name)
const isTail = (name: string) => /^\d+-\d+\.wal\.replaced$/.test(name)

/**
 * Checks that no file of these nodes' logs was renamed, and that none of the nodes has ended. While
 * there are writes, a leader that another one has fenced puts aside what it had not acknowledged.
 */
function untouched(t: Test, nodes: readonly ReplicatedNode[], duringWrites = false): void {
  for (const { name, files, log, isRunning } of nodes) {
    const mayLoseTail = duringWrites && log.includes('"msg":"fenced"')
    const aside = files.filter((file) => isAside(file) && !(mayLoseTail && isTail(file)))
    t.same(aside, [], `${name}: nothing else is put aside`)
    t.ok(isRunning, `${name} runs`)
  }
}

/** Resolves when /readyz of a node reports this. */
const says = (node: ReplicatedNode, what: RegExp) =>
  until(`${node.name} to say ${what}`, async () => what.test(await node.readiness()))

t.test(
  'all stores and one disk are lost, all start: nobody begins; then one',
  starts(0),
  async (t) => {
    const { nodes, swarm, end } = await serving(t)
    const [a, b, c] = nodes
    // All at once, so that none of them takes over.
    await Promise.all(nodes.map((node) => node.kill()))
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
  },
)

t.test(
  'a node with data and two empty ones start at once: it begins, all serve',
  starts(1),
  async (t) => {
    // An empty node waits for twice this time, which is longer than a node takes to announce
    // itself.
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

t.test(
  'three empty nodes start at once, twice: one leads, nobody has ended',
  starts(2),
  async (t) => {
    const nodes = await threeNodes(t)
    for (let round = 0; round < 2; round++) {
      for (const node of nodes) node.start()
      await settled(nodes)
      untouched(t, nodes)
      for (const node of nodes) t.equal(await node.stop(), 0, `${node.name} stops`)
    }
  },
)

t.test(
  'two of three servers are paused, nodes start meanwhile: all serve after it',
  deepOnly,
  async (t) => {
    const { nodes, swarm } = await serving(t)
    const [, b, c] = nodes
    await Promise.all([b.kill(), c.kill()])
    c.loseData()
    const [one, two] = cluster.servers
    one!.pause()
    two!.pause()
    for (const node of [b, c]) node.start()
    await sleep(pausedMs)
    one!.resume()
    two!.resume()
    await cluster.isReady()
    await oneHistory(t, nodes, swarm)
  },
)

// The deep run includes all of them, `npm test` the one that TEST_SEED chooses or TEST_FAULT names.
const { TEST_FAULT: only } = process.env
const all = Object.entries(mistakes)
const chosen = isDeep ? all : [all[chosenSeed % all.length]!]
const named = only === undefined ? chosen : all.filter(([what]) => what.includes(only))

for (const [what, mistake] of named) {
  t.test(`${what} under writes: all go on, and an empty node joins`, nats, async (t) => {
    t.comment(`TEST_SEED=${chosenSeed}`)
    const { nodes, swarm } = await serving(t)
    swarm.start()
    await swarm.acknowledges(20)
    await onServers(mistake)
    await swarm.acknowledges(40)
    await swarm.stop()
    const { leader, followers } = await settled(nodes)
    untouched(t, nodes, true)
    const [joining] = followers as [ReplicatedNode, ReplicatedNode]
    await joining.kill()
    joining.loseData()
    joining.start()
    await until('it follows', async () => (await joining.status())?.role === 'follower')
    t.ok(leader.isRunning)
    await oneHistory(t, nodes, swarm)
  })

  t.test(`${what}, all nodes are killed and start again: one history`, nats, async (t) => {
    const { nodes, swarm } = await serving(t)
    await onServers(mistake)
    await Promise.all(nodes.map((node) => node.kill()))
    for (const node of nodes) node.start()
    await settled(nodes)
    untouched(t, nodes)
    await oneHistory(t, nodes, swarm)
  })
}
