// Goal:   whatever fails of two nodes and the three servers between them, everything that any node
//         has acknowledged or shown belongs to one history, which all of them have in the end.
// Method: a swarm writes to and reads from both nodes (checked-swarm.ts), while a fault comes and
//         goes. Afterwards one node leads, the other follows, and everything is compared: the
//         answers and pages (sightings.ts), the logs of the two nodes, record by record, and what
//         both show when they have started again from these logs. The faults are in faults.ts. In
//         the system tests one pair of nodes lives through a few of them; in the deep run a new
//         pair for each fault lives through it many times. TEST_FAULT=killed selects the faults
//         whose names contain that word.

import t, { type Test } from 'tap'
import { chosenSeed, isDeep, sizeOf, timeoutMs } from '../../depth.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { CheckedSwarm } from './checked-swarm.ts'
import { type Fault, faults, type Scene } from './faults.ts'
import { type Cluster, nats, startCluster } from './nats-cluster.ts'
import { logDifference, type ReplicatedNode, settled, startPair } from './replicated-nodes.ts'

const rounds = sizeOf('REPLICATION_FAULTS')
const { TEST_FAULT: only = '' } = process.env
const all = Object.entries(faults).filter(([name]) => name.includes(only))
const sample = all.filter(([, { isInSample }]) => isInSample || only !== '')
const random = seededRandom(chosenSeed)

t.setTimeout(timeoutMs)

/**
 * Runs a fault from its beginning to its end, while the swarm acts. Resolves to the longest time in
 * which no new write was accepted, in ms.
 */
async function liveThrough(
  fault: Fault,
  nodes: readonly ReplicatedNode[],
  scene: Pick<Scene, 'cluster' | 'stream' | 'swarm'>,
): Promise<number> {
  const { cluster, swarm } = scene
  await swarm.acknowledges(20)
  const { leader, followers } = await settled(nodes)
  swarm.longestPauseMs = 0
  await fault.strike({ ...scene, leader, standby: followers[0]!, random })
  await cluster.isReady()
  await settled(nodes)
  await swarm.acknowledges(20)
  return swarm.longestPauseMs
}

/** Has two nodes and a swarm live through faults, and then compares everything. */
async function compareAfter(t: Test, cluster: Cluster, stream: string, chosen: readonly Fault[]) {
  t.comment(`TEST_SEED=${chosenSeed}`)
  // A node notices a full disk when it needs another segment.
  const flags = ['--segment-mb', '1']
  const nodes = await startPair(t, cluster, { stream, flags, isApart: isDeep || only !== '' })
  const swarm = new CheckedSwarm(nodes, random)
  await swarm.prepare()
  swarm.start()
  t.teardown(() => swarm.stop())
  const pauses: number[] = []
  for (const fault of chosen) {
    pauses.push(await liveThrough(fault, nodes, { cluster, stream, swarm }))
  }
  await swarm.stop()

  t.same(await swarm.differences(), [], `${swarm.acknowledged} writes acknowledged`)
  t.ok(swarm.seen.pages.length > 0, `${swarm.seen.pages.length} pages seen`)
  for (const node of nodes) t.equal(await node.stop(), 0, `${node.name} stops`)
  t.equal(await logDifference(nodes), null, 'the logs are the same')
  for (const node of nodes) node.start()
  await settled(nodes)
  t.same(await swarm.differences(), [], 'started again from their logs, they show the same')
  t.comment(Object.fromEntries(swarm.outcomes))
  const seconds = pauses.sort((a, b) => a - b).map((ms) => (ms / 1000).toFixed(1))
  t.comment(`no write was accepted for ${seconds} s`)
  const lostEnds = nodes.reduce((sum, node) => sum + node.lostEnds, 0)
  if (lostEnds > 0) t.comment(`the servers lost the end of the stream ${lostEnds} times`)
}

if (isDeep) {
  for (const [n, [what, fault]] of all.entries()) {
    t.test(`${what}, ${rounds} times: one history`, nats, async (t) => {
      const cluster = await startCluster(t)
      const chosen = Array.from({ length: rounds }, () => fault)
      await compareAfter(t, cluster, `deep-${n}`, chosen)
    })
  }
} else {
  t.test(`${sample.length} faults, one after the other: one history`, nats, async (t) => {
    const cluster = await startCluster(t)
    const chosen = sample.map(([, fault]) => fault)
    await compareAfter(t, cluster, 'sample', chosen)
  })
}
