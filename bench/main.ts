// Question:   how fast is the forum, compared with the fastest and the usual ways to do the same?
// Compares:   the forum; the floor (bare uWebSockets.js handlers, same method, same bytes in and
//             out); Redis with an append-only file; Fastify on PostgreSQL.
// Fixed:      64 connections, 10,000 identities, 1,000 threads, 60,000 messages of 300 bytes,
//             --durability always; server on one core, load (wrk) on another; sides measured
//             alternately, medians of the rounds.
// Reports:    requests/s, their ratio to the floor's, latency percentiles, processor time of the
//             server per request; throughput by number of connections; stalls of the event loop.
//             Prints tables, and writes JSON and the tables of docs/performance.md on request.
// Leaves out: TLS, networks, webhooks, large states (scale.ts).
// Smoke:      test/bench asks what every scenario asks, runs some for a second, and this with
//             --smoke; the deep run runs all of them, and every peer once.
//
// Run:        npm run bench -- --help

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../src/base/arguments.ts'
import { type Phase, Progress } from '../src/clients/swarm/progress.ts'
import { type Amount, compare, type Side } from './compare.ts'
import {
  type LatencyPlan,
  type LatencyRun,
  latencyLines,
  measureLatency,
  runsOf,
} from './latency.ts'
import type { Generator } from './load.ts'
import { describeMachine, machineLines } from './machine.ts'
import { help, latencyName, type Options, parseOptions } from './options.ts'
import type { Peer } from './peers/peer.ts'
import { postgres } from './peers/postgres.ts'
import { redis } from './peers/redis.ts'
import { type Population, populate, type Size, usualSize } from './population.ts'
import { workDirectory } from './process.ts'
import { type Results, type Sweep, scenarioResult } from './results.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { type Forum, setScene, startForum } from './sides.ts'
import { longestOf, type Stall, watchStalls } from './stalls.ts'
import { markdown, scenarioLines, sweepLines } from './table.ts'

interface Plan {
  size: Size
  rounds: number
  seconds: number
  warmUpSeconds: number
  /** Numbers of connections for the scenarios that are swept. */
  sweep: readonly number[]
  sweepRounds: number
  sweepSeconds: number
  stallSeconds: number
  latency: LatencyPlan
}
const tiny: Size = { identities: 60, threads: 20, messages: 1_100, contentBytes: 300 }
const large: Size = {
  ...{ identities: 100_000, threads: 100_000, messages: 1_000_000, contentBytes: 300 },
}
const smoke: Plan = {
  size: tiny,
  ...{ rounds: 1, seconds: 1, warmUpSeconds: 0, stallSeconds: 1 },
  ...{ sweep: [2], sweepRounds: 1, sweepSeconds: 1 },
  latency: { sizes: [tiny], seconds: 1, fullSeconds: 1 },
}
// V8 compiles during the first 80,000 requests: without a warm-up, the swarm took 26 to 29 us of
// processor time per request; after one of two seconds it takes 20 us.
const quick: Plan = {
  size: usualSize,
  ...{ rounds: 3, seconds: 1, warmUpSeconds: 2, stallSeconds: 5 },
  ...{ sweep: [1, 8, 256], sweepRounds: 1, sweepSeconds: 1 },
  latency: { sizes: [usualSize], seconds: 3, fullSeconds: 2 },
}
const full: Plan = {
  size: usualSize,
  ...{ rounds: 5, seconds: 5, warmUpSeconds: 2, stallSeconds: 30 },
  ...{ sweep: [1, 2, 4, 8, 16, 32, 64, 128, 256], sweepRounds: 3, sweepSeconds: 2 },
  latency: { sizes: [usualSize, large], seconds: 30, fullSeconds: 5 },
}

const plans = { smoke, quick, full }

/** The sides that take part in every scenario. */
interface Cast {
  dir: string
  plan: Plan
  load: Generator
  population: Population
  forum: Forum
  peers: ReadonlyMap<string, Peer>
}

const say = (lines: readonly string[]) => process.stdout.write(`${lines.join('\n')}\n`)
const progress = new Progress(process.stderr)

async function main(args: string[]): Promise<number> {
  const options = parseOptions(args)
  if (options === null) {
    say([help.trimEnd()])
    return 0
  }
  const dir = workDirectory(options.dir)
  try {
    const results = await run(options, dir)
    if (options.json !== null) writeFileSync(options.json, JSON.stringify(results, null, 2))
    if (options.markdown !== null) writeFileSync(options.markdown, markdown(results))
    return 0
  } finally {
    progress.stop()
  }
}

async function run(options: Options, dir: string): Promise<Results> {
  const machine = describeMachine(dir, options.durability)
  say([...machineLines(machine), `load from ${options.load}`])
  const plan = plans[options.plan]
  const population = await build(join(dir, 'data'), plan.size)
  const chosen = scenarios.filter(({ name }) => options.only.includes(name))
  const peers = await startPeers({ ...options, dir }, chosen, population)
  const forum = await startForum(join(dir, 'data'), ['--durability', options.durability])
  const cast = { dir, plan, load: options.load, population, forum, peers }
  const results: Results = { machine, scenarios: [], sweeps: [], stalls: [], latency: [] }
  try {
    for (const scenario of chosen) await play(cast, scenario, options.connections, results)
    await forum.stop()
    if (options.only.includes(latencyName)) results.latency = await latency(cast, options)
  } finally {
    for (const peer of peers.values()) await peer.stop()
    await forum.stop()
  }
  return results
}

async function latency(
  { dir, plan, load, peers }: Cast,
  { durability }: Options,
): Promise<LatencyRun[]> {
  const redis = peers.get('redis') ?? null
  const phase = progress.phase('latency', runsOf(plan.latency, redis !== null))
  const parts = { dir, durability, load, redis, plan: plan.latency, onStep: phase.tick }
  const runs = await measureLatency(parts)
  phase.end()
  say(['', 'latency at fixed rates', ...runs.flatMap(latencyLines)])
  return runs
}

async function build(data: string, size: Size): Promise<Population> {
  let phase: Phase | null = null
  let ticked = 0
  const population = await populate(data, size, (done, total) => {
    phase ??= progress.phase('building', total)
    for (; ticked < done; ticked++) phase.tick()
  })
  ;(phase as Phase | null)?.end()
  return population
}

/** Starts the peers that are installed and that some scenario needs. Returns them by name. */
async function startPeers(
  { dir, durability, hasPeers, only }: Options,
  chosen: readonly Scenario[],
  population: Population,
): Promise<Map<string, Peer>> {
  const peers = new Map<string, Peer>()
  if (!hasPeers) return peers
  for (const kind of [redis, postgres]) {
    const missing = kind.missing()
    const isForLatency = kind === redis && only.includes(latencyName)
    if (!isForLatency && !chosen.some(({ peers }) => peers?.includes(kind.name))) continue
    if (missing === null) peers.set(kind.name, await kind.start(dir, population, durability))
    else say([`without ${kind.name}: not installed (apt-get install ${missing})`])
  }
  return peers
}

/** Measures one scenario and adds the measurements to the results. */
async function play(
  cast: Cast,
  scenario: Scenario,
  connections: number,
  results: Results,
): Promise<void> {
  const { plan, forum, peers } = cast
  const scene = await setScene(cast.dir, scenario, cast.population, forum, cast.load)
  const others = (scenario.peers ?? []).flatMap((name) => peers.get(name) ?? [])
  const sides = [
    scene.floor,
    scene.forum,
    ...others.map((peer) => peer.side(scenario.name, scene.other)),
  ]
  try {
    const { rounds, seconds, warmUpSeconds } = plan
    const warmUps = warmUpSeconds > 0 ? 1 : 0
    const phase = progress.phase(scenario.name, sides.length * (rounds + warmUps))
    if (warmUps > 0) {
      await compare(sides, { connections, seconds: warmUpSeconds }, warmUps, phase.tick)
    }
    const measured = await compare(sides, { connections, seconds }, rounds, phase.tick)
    phase.end()
    const result = scenarioResult(scenario, connections, measured)
    results.scenarios.push(result)
    say(scenarioLines(result))
    if (scenario.isSwept) results.sweeps.push(await sweep(scenario, plan, sides))
    if (scenario.showsStalls) {
      const amount = { connections, seconds: plan.stallSeconds }
      results.stalls = await stalls(scene.forum, forum, amount)
    }
  } finally {
    await scene.stop()
  }
}

async function sweep({ name, title }: Scenario, plan: Plan, sides: Side[]): Promise<Sweep> {
  const { sweep, sweepRounds, sweepSeconds } = plan
  const found: Sweep = { name, title, sides: sides.map(({ name }) => ({ side: name, points: [] })) }
  const phase = progress.phase(`${name}: connections`, sweep.length * sweepRounds * sides.length)
  for (const connections of sweep) {
    const amount = { connections, seconds: sweepSeconds }
    const measured = await compare(sides, amount, sweepRounds, phase.tick)
    for (const [i, { perSecond }] of measured.entries()) {
      found.sides[i].points.push({ connections, perSecond })
    }
  }
  phase.end()
  say(sweepLines(found))
  return found
}

async function stalls(side: Side, forum: Forum, amount: Amount): Promise<Stall[]> {
  const phase = progress.phase('stalls', 1)
  const { stalls } = await watchStalls(side, forum, amount)
  phase.tick()
  phase.end()
  const longest = longestOf(stalls).toFixed(1)
  say([`  longest stall of the event loop in ${amount.seconds} s: ${longest} ms`])
  return stalls
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`bench: ${error.message}\n`)
  return 64
})
