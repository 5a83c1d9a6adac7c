// The faults of two nodes and of the servers between them. Each fault strikes while a swarm acts,
// and checks what must hold during the fault. When `strike` resolves, the fault has ended: all
// processes run and all links are open, though not everything has recovered.

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager, type StreamAPI } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { fill } from '../../faults/small-disk.ts'
import { until } from '../../until.ts'
import { answerMs, type CheckedSwarm } from './checked-swarm.ts'
import type { Cluster } from './nats-cluster.ts'
import type { ReplicatedNode } from './replicated-nodes.ts'
import type { LinkState } from './tcp-link.ts'

export interface Scene {
  cluster: Cluster
  /** The name of the stream. */
  stream: string
  leader: ReplicatedNode
  standby: ReplicatedNode
  swarm: CheckedSwarm
  random: () => number
}

export interface Fault {
  strike(scene: Scene): Promise<void>
  /** Whether `npm run test:system` includes it. */
  isInSample: boolean
}

/** Resolves when the standby leads and accepts writes. */
async function takenOver({ standby, swarm }: Scene): Promise<void> {
  await until('the standby to lead', async () => (await standby.status())?.role === 'leader')
  await swarm.acknowledges(11)
}

/** Keeps the leader's links in this state until the standby leads. */
async function withLeaderLinks(scene: Scene, state: LinkState): Promise<void> {
  scene.leader.links.set(state)
  await takenOver(scene)
  scene.leader.links.set('open')
}

/** Returns the number of writes that were acknowledged at a node. */
function acknowledgedAt({ seen }: CheckedSwarm, node: ReplicatedNode): number {
  return [...seen.acknowledged.values()].filter(({ place }) => place === node.name).length
}

/** Returns the number of times that a node has begun to follow another one. */
function timesFollowed({ log }: ReplicatedNode): number {
  return log.split('"msg":"following"').length - 1
}

/** Returns the number of acknowledged writes that were new, not repetitions of durable ones. */
function created({ outcomes }: CheckedSwarm): number {
  return outcomes.get('201') ?? 0
}

/** Resolves when the node, whose disk is full, needs another segment. */
async function needsRoom(node: ReplicatedNode): Promise<void> {
  await until('the node to report its disk', async () =>
    (await node.readiness()).includes('storage_full'),
  )
}

/** Short enough that a majority elects a leader meanwhile, and long enough that callers notice. */
const fewSecondsMs = 4_000

function anyServer({ cluster, random }: Scene) {
  return cluster.servers[Math.floor(random() * cluster.servers.length)]!
}

/** Changes streams on the servers, as an operator does. */
async function onServers(
  { cluster }: Scene,
  change: (streams: StreamAPI) => Promise<unknown>,
): Promise<void> {
  const connection = await connect({ servers: cluster.url.split(',') })
  try {
    await change((await jetstreamManager(connection)).streams)
  } finally {
    await connection.close()
  }
}

/** Allows the stream `more` bytes than it has, or any number if `more` is null. */
async function limitStream(scene: Scene, more: number | null): Promise<void> {
  const { stream } = scene
  await onServers(scene, async (streams) => {
    const { state } = await streams.info(stream)
    await streams.update(stream, { max_bytes: more === null ? -1 : state.bytes + more })
  })
}

/** Causes a loss on the servers while the swarm writes; writes must go on. */
async function withLoss(
  scene: Scene,
  loss: (streams: StreamAPI) => Promise<unknown>,
): Promise<void> {
  await onServers(scene, loss)
  await scene.swarm.acknowledges(40)
}

/**
 * Removes the stream; resolves when nodes have made it again. The servers may not answer a removal
 * after which there is a stream of this name (nats-server 2.9.10).
 */
async function remove(streams: StreamAPI, name: string): Promise<void> {
  const { created } = await streams.info(name)
  streams.delete(name).catch(() => {})
  const isAnother = () =>
    streams.info(name).then(
      (info) => info.created !== created,
      () => false,
    )
  await until(`another stream ${name}`, isAnother)
}

export const faults: Record<string, Fault> = {
  'the leader is killed': {
    isInSample: true,
    async strike(scene) {
      await scene.leader.kill()
      await takenOver(scene)
      scene.leader.start()
    },
  },
  'the leader is stopped until the standby leads, and goes on': {
    isInSample: true,
    async strike(scene) {
      const { leader, swarm } = scene
      leader.pause()
      await takenOver(scene)
      // Callers who had sent a write before the pause have given up by then. So whatever the old
      // leader acknowledges from now on, it acknowledges after another node has replaced it.
      await sleep(answerMs * 1.2)
      const before = acknowledgedAt(swarm, leader)
      const followed = timesFollowed(leader)
      leader.resume()
      await until('the old leader to follow', async () => {
        const acknowledged = acknowledgedAt(swarm, leader)
        const role = (await leader.status())?.role
        // On a busy machine the old leader may have followed by now, and lead again in a later
        // term.
        if (role !== 'leader' || timesFollowed(leader) > followed) return role !== undefined
        assert.equal(acknowledged, before, 'a leader that was replaced acknowledges nothing')
        return false
      })
    },
  },
  'the leader is cut off from the servers': {
    isInSample: false,
    strike: (scene) => withLeaderLinks(scene, 'cut'),
  },
  'nothing passes between the leader and the servers': {
    isInSample: false,
    strike: (scene) => withLeaderLinks(scene, 'silent'),
  },
  'the standby is killed': {
    isInSample: false,
    async strike({ standby, swarm }) {
      await standby.kill()
      await swarm.acknowledges(20)
      standby.start()
    },
  },
  'the standby is cut off from the servers': {
    isInSample: false,
    async strike({ leader, standby, swarm }) {
      standby.links.set('cut')
      await swarm.acknowledges(20)
      await sleep(fewSecondsMs)
      await swarm.acknowledges(20)
      assert.equal((await leader.status())?.role, 'leader')
      standby.links.set('open')
    },
  },
  'both nodes are killed': {
    isInSample: false,
    async strike({ leader, standby }) {
      await Promise.all([leader.kill(), standby.kill()])
      standby.start()
      leader.start()
    },
  },
  'a server is killed': {
    isInSample: false,
    async strike(scene) {
      const server = anyServer(scene)
      await server.kill()
      await scene.swarm.acknowledges(20)
      server.start()
    },
  },
  'a server is stopped, and goes on': {
    isInSample: false,
    async strike(scene) {
      const server = anyServer(scene)
      server.pause()
      await scene.swarm.acknowledges(20)
      await sleep(fewSecondsMs)
      server.resume()
    },
  },
  'two of three servers are gone, and come back': {
    isInSample: false,
    async strike({ cluster, swarm }) {
      const [one, two] = cluster.servers
      await Promise.all([one!.kill(), two!.kill()])
      // Every caller who had sent a write before has an answer by then, or has given up.
      await sleep(answerMs * 1.2)
      const before = created(swarm)
      await sleep(fewSecondsMs)
      assert.equal(created(swarm), before, 'without a majority nothing new is acknowledged')
      one!.start()
      two!.start()
    },
  },
  'the stream is removed': {
    isInSample: false,
    strike: (scene) => withLoss(scene, (streams) => remove(streams, scene.stream)),
  },
  'the stream is purged': {
    isInSample: false,
    strike: (scene) => withLoss(scene, (streams) => streams.purge(scene.stream)),
  },
  'the notes are removed': {
    isInSample: false,
    strike: (scene) => withLoss(scene, (streams) => remove(streams, `KV_${scene.stream}-notes`)),
  },
  'two of three servers are paused, and go on': {
    isInSample: false,
    async strike({ cluster, swarm, random }) {
      const [one, two] = cluster.servers
      one!.pause()
      two!.pause()
      await sleep(5_000 + random() * 35_000)
      one!.resume()
      two!.resume()
      await swarm.acknowledges(20)
    },
  },
  'the links of both nodes are slow': {
    isInSample: false,
    async strike({ leader, standby, swarm }) {
      for (const { links } of [leader, standby])
        links.slow({ delayMs: 50, bytesPerSecond: 200_000 })
      await swarm.acknowledges(30)
      for (const { links } of [leader, standby]) links.slow({})
    },
  },
  'the stream is full, and has room again': {
    isInSample: false,
    async strike(scene) {
      const { swarm } = scene
      const refused = () => swarm.outcomes.get('503') ?? 0
      const [before, read] = [refused(), swarm.seen.pages.length]
      await limitStream(scene, 4_000)
      // Each writer may already have a write in the leader's log, which waits there and is not
      // refused any more.
      await until('writes to be refused', async () => {
        await swarm.writeOnce()
        return refused() > before + 10
      })
      const acknowledged = created(swarm)
      await until('reads to go on', () => swarm.seen.pages.length > read + 20)
      assert.equal(created(swarm), acknowledged, 'nothing new is acknowledged without room')
      await limitStream(scene, null)
    },
  },
  'nothing that the leader sends arrives': {
    isInSample: false,
    strike: (scene) => withLeaderLinks(scene, 'mute'),
  },
  'nothing that is sent to the leader arrives': {
    isInSample: false,
    strike: (scene) => withLeaderLinks(scene, 'deaf'),
  },
  'the standby hears nothing, then says nothing': {
    isInSample: false,
    async strike({ leader, standby, swarm }) {
      for (const state of ['deaf', 'mute'] as const) {
        standby.links.set(state)
        await swarm.acknowledges(20)
        await sleep(fewSecondsMs)
      }
      await until('the leader to answer', async () => (await leader.status())?.role === 'leader')
      standby.links.set('open')
    },
  },
  "the leader's disk is full, and has room again": {
    isInSample: false,
    async strike({ leader, swarm }) {
      if (leader.disk === null) return // mounting one is not permitted
      const refused = () => swarm.outcomes.get('503') ?? 0
      const ballast = fill(leader.disk)
      const before = refused()
      await until('writes to be refused', async () => {
        await swarm.writeOnce()
        return refused() > before + 10 || (await leader.status())?.role !== 'leader'
      })
      rmSync(ballast)
      await swarm.acknowledges(20)
    },
  },
  "the standby's disk is full, and has room again": {
    isInSample: false,
    async strike({ standby, swarm }) {
      if (standby.disk === null) return // mounting one is not permitted
      const ballast = fill(standby.disk)
      await needsRoom(standby)
      await swarm.acknowledges(20)
      rmSync(ballast)
      await swarm.acknowledges(20)
    },
  },
  'the clocks are an hour apart, and the leader is killed': {
    isInSample: false,
    async strike(scene) {
      const { leader, standby, swarm, random } = scene
      const hours = random() < 0.5 ? 1 : -1
      leader.clock?.set(hours * 3600)
      await swarm.acknowledges(20)
      await leader.kill()
      await takenOver(scene)
      leader.start()
      await until('the old leader to follow', async () => {
        return (await leader.status())?.role === 'follower'
      })
      standby.clock?.set(-hours * 3600)
      await swarm.acknowledges(20)
      for (const { clock } of [leader, standby]) clock?.set(0)
    },
  },
  'two at once: the leader is killed, and a server is stopped': {
    isInSample: false,
    async strike(scene) {
      const server = anyServer(scene)
      server.pause()
      await scene.leader.kill()
      await takenOver(scene)
      scene.leader.start()
      server.resume()
    },
  },
  'two at once: nothing that the leader sends arrives, and the standby is killed': {
    isInSample: false,
    async strike({ leader, standby }) {
      leader.links.set('mute')
      await standby.kill()
      standby.start()
      await until('the standby to lead', async () => (await standby.status())?.role === 'leader')
      leader.links.set('open')
    },
  },
  "two at once: the standby's disk is full, and the leader is stopped": {
    isInSample: false,
    async strike({ leader, standby, swarm }) {
      if (standby.disk === null) return // mounting one is not permitted
      const ballast = fill(standby.disk)
      await needsRoom(standby)
      leader.pause()
      await sleep(fewSecondsMs * 2)
      rmSync(ballast)
      await swarm.acknowledges(5)
      leader.resume()
    },
  },
}
