// Question:   what does a log on three nats-servers cost a leader, how fast is a follower, and how
//             soon does a standby take over?
// Compares:   replies at a standalone node and at a leader; pages and polls read at a standalone
//             node and at a follower; what a leader needs for a reply with what a follower needs to
//             apply it.
// Fixed:      nodes with the same population, --durability always; 64 connections; the sides of
//             each comparison alternately, after one unmeasured load of each; all servers on core 0
//             and the load on core 1, so that processor time tells more than rates, because three
//             nats-servers share the core, too.
// Reports:    rates; processor time, also that of the nats-servers; bytes on the wire for a reply;
//             lag under load; records a second of a follower that catches up from a checkpoint and
//             the stream; milliseconds from SIGKILL of the leader to the first write of its
//             successor.
// Leaves out: a network: everything is on the loopback interface of one machine.
// Smoke:      test/bench/replication.test.ts (npm run test:deep).
//             Run it: node dist/bench/replication.js

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, startCluster } from '../test/cluster/replication/nats-cluster.ts'
import { compare, median, type Result, type Side } from './compare.ts'
import { flagsOf } from './flags.ts'
import { type Population, populate } from './population.ts'
import { cpuSeconds, workDirectory } from './process.ts'
import { type Scenario, scenarioNamed } from './scenarios.ts'
import { type Forum, sender, startForum } from './sides.ts'

const { messages, seconds, rounds, takeovers, behind } = flagsOf({
  messages: 60_000,
  seconds: 10,
  rounds: 5,
  takeovers: 20,
  /** The number of replies with which a follower catches up. */
  behind: 100_000,
})
const identities = Math.max(100, Math.floor(messages / 6))
const size = {
  identities,
  threads: Math.max(10, Math.floor(messages / 60)),
  messages,
  contentBytes: 300,
}
const connections = 64
const amount = { connections, seconds }
const sampleEveryMs = 100
const position = 'agent_forum_journal_position'
const lagPositions = 'agent_forum_replication_lag_positions'
const lagSeconds = 'agent_forum_replication_lag_seconds'

const say = (line: string) => process.stdout.write(`${line}\n`)

// All nodes of one history have the same secret.
process.env.AGENT_FORUM_SECRET = 'the secret of all nodes of the benchmark'

class Bench {
  readonly dir: string
  readonly cluster: Cluster
  readonly population: Population
  readonly #running: Forum[] = []

  constructor(dir: string, cluster: Cluster, population: Population) {
    this.dir = dir
    this.cluster = cluster
    this.population = population
  }

  /** Starts a node: on a copy of the population or, as a follower, without data. */
  async start(name: string, flags: readonly string[], isEmpty = false): Promise<Forum> {
    const data = join(this.dir, name)
    if (!isEmpty) cpSync(join(this.dir, 'population'), data, { recursive: true })
    const forum = await startForum(data, flags)
    this.#running.push(forum)
    return forum
  }

  flags(role: 'replicate' | 'follow', stream: string, more: readonly string[] = []): string[] {
    return [`--${role}`, this.cluster.url, '--replicate-stream', stream, ...more]
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((forum) => forum.stop('SIGKILL')))
  }

  /** Measures a scenario at each of these nodes, alternately. */
  async compare(scenario: Scenario, nodes: Record<string, Forum>): Promise<Result[]> {
    const sides: Side[] = []
    for (const [name, forum] of Object.entries(nodes)) {
      sides.push((await sender(this.dir, scenario, this.population, forum))(name, forum))
    }
    if (rounds > 1) for (const { load } of sides) await load(amount, 0) // V8 compiles meanwhile
    const results = await compare(sides, amount, rounds)
    for (const each of results) {
      const { side, perSecond, ratio, cpuUsPerRequest, cpuRatio, latencyMs, errors } = each
      const inRounds = `${each.ratioMin.toFixed(2)} to ${each.ratioMax.toFixed(2)}`
      say(
        `${scenario.name}, ${side}: ${Math.round(perSecond)}/s, ` +
          `${ratio.toFixed(2)} of the first (${inRounds}), ` +
          `${cpuUsPerRequest.toFixed(1)} us (${cpuRatio.toFixed(2)} by these), ` +
          `p50 ${latencyMs['50'].toFixed(1)} ms, ` +
          `p99 ${latencyMs['99'].toFixed(1)} ms${errors === 0 ? '' : `, ${errors} errors`}`,
      )
    }
    return results
  }

  /** Returns the processor time of all nats-servers, and the bytes that they received and sent. */
  async engine(): Promise<{ cpu: number; bytes: number }> {
    let [cpu, bytes] = [0, 0]
    for (const server of this.cluster.servers) {
      const { in_bytes, out_bytes } = (await server.monitor('/varz')) as Record<string, number>
      bytes += in_bytes! + out_bytes!
      cpu += cpuSeconds(server.pid)
    }
    return { cpu, bytes }
  }
}

async function caughtUp(follower: Forum, leader: Forum): Promise<void> {
  const end = (await leader.metrics()).get(position)!
  while ((await follower.metrics()).get(position)! < end) await sleep(20)
}

/** Measures what replication costs the leader and the nats-servers. */
async function replies(
  bench: Bench,
  { alone, leader, follower }: Record<'alone' | 'leader' | 'follower', Forum>,
): Promise<void> {
  await bench.compare(scenarioNamed('reply'), { alone, leader })

  const lag: { positions: number; seconds: number }[] = []
  const sampling = setInterval(async () => {
    const metrics = await follower.metrics()
    lag.push({ positions: metrics.get(lagPositions)!, seconds: metrics.get(lagSeconds)! })
  }, sampleEveryMs)
  const send = (await sender(bench.dir, scenarioNamed('reply'), bench.population, leader))(
    'leader',
    leader,
  )
  const before = {
    ...(await bench.engine()),
    leader: cpuSeconds(leader.pid),
    follower: cpuSeconds(follower.pid),
  }
  const { requests } = await send.load(amount, 0)
  clearInterval(sampling)
  await caughtUp(follower, leader)
  const after = await bench.engine()
  const us = (spent: number) => ((spent / requests) * 1e6).toFixed(1)
  const leaderUs = us(cpuSeconds(leader.pid) - before.leader)
  const followerUs = us(cpuSeconds(follower.pid) - before.follower)
  say(
    `a reply: leader ${leaderUs} us, follower ${followerUs} us, ` +
      `nats-servers ${us(after.cpu - before.cpu)} us`,
  )
  say(`a reply: ${Math.round((after.bytes - before.bytes) / requests)} bytes through nats-servers`)
  const p99 = (pick: (one: (typeof lag)[0]) => number) =>
    lag.map(pick).sort((a, b) => a - b)[Math.floor(lag.length * 0.99)] ?? Number.NaN
  say(
    `lag under load: p99 ${p99((one) => one.positions)} positions, ` +
      `${p99((one) => one.seconds).toFixed(2)} s`,
  )
}

/** Measures a follower without data: it needs the checkpoint, and what has been written since. */
async function catchUp(bench: Bench, leader: Forum): Promise<void> {
  const load = await sender(bench.dir, scenarioNamed('reply'), bench.population, leader)
  const { load: write } = load('behind', leader)
  for (let written = 0; written < behind; ) {
    written += (await write({ connections, seconds: Math.min(seconds, 5) }, written)).requests
  }
  const end = (await leader.metrics()).get(position)!
  const begun = performance.now()
  const follower = await bench.start('catch-up', bench.flags('follow', 'bench'), true)
  const from = (await follower.metrics()).get('agent_forum_checkpoint_position') ?? 0
  const served = performance.now()
  await caughtUp(follower, leader)
  const all = performance.now()
  const cpu = cpuSeconds(follower.pid)
  say(
    `catch-up: ${end} records in ${((all - begun) / 1000).toFixed(1)} s; it served after ` +
      `${((served - begun) / 1000).toFixed(1)} s, from a checkpoint at ${from}; ` +
      `${((cpu / (end - from)) * 1e6).toFixed(1)} us of processor time for each record after that`,
  )
  await follower.stop()
}

/** Kills the leader repeatedly, and measures how long it takes until the other node can write. */
async function takeOver(bench: Bench): Promise<void> {
  const flags = ['--standby', '--takeover-seconds', '1']
  let leader = await bench.start('one', bench.flags('replicate', 'bench-takeover', flags))
  let standby = await bench.start('two', bench.flags('follow', 'bench-takeover', flags), true)
  const times: number[] = []
  const names = ['one', 'two']
  for (let n = 0; n < takeovers; n++) {
    await caughtUp(standby, leader)
    const begun = performance.now()
    await leader.stop('SIGKILL')
    while (!(await createsIdentity(standby.url))) await sleep(5)
    times.push(performance.now() - begun)
    leader = standby
    names.reverse()
    standby = await startForum(
      join(bench.dir, names[1]),
      bench.flags('follow', 'bench-takeover', flags),
    )
  }
  await Promise.all([leader.stop('SIGKILL'), standby.stop('SIGKILL')])
  times.sort((a, b) => a - b)
  const worst = times[Math.min(times.length - 1, Math.floor(times.length * 0.99))]
  say(
    `takeover with --takeover-seconds 1, ${times.length} kills: ` +
      `p50 ${Math.round(median(times))} ms, p99 ${Math.round(worst)} ms`,
  )
}

async function createsIdentity(url: string): Promise<boolean> {
  try {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/identities`, { method: 'POST', headers, body: '{}' })
    return answer.status === 201
  } catch {
    return false
  }
}

const dir = workDirectory()
const teardowns: (() => unknown)[] = []
const owner = {
  teardown: (...[work]: [() => unknown]) => void teardowns.push(work),
  passing: () => true,
  comment: () => {},
}
let bench: Bench | null = null
try {
  const population = await populate(join(dir, 'population'), size)
  bench = new Bench(dir, await startCluster(owner as never), population)
  const leader = await bench.start('leader', bench.flags('replicate', 'bench'))
  const follower = await bench.start('follower', bench.flags('follow', 'bench'), true)
  await caughtUp(follower, leader)
  const alone = await bench.start('alone', [])
  for (const name of ['page', 'feed-empty'])
    await bench.compare(scenarioNamed(name), { alone, follower })
  await replies(bench, { alone, leader, follower })
  await Promise.all([alone.stop(), follower.stop()])
  await catchUp(bench, leader)
  await leader.stop()
  await takeOver(bench)
  say(
    'targets: a leader 0.5 of alone; follower reads 0.95; ' +
      'a follower needs at most half of what a leader needs for a reply',
  )
} finally {
  await bench?.stop()
  for (const teardown of teardowns.reverse()) await teardown()
}
