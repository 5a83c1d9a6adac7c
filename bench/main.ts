// Question:   how fast is the forum, against the fastest and the usual ways to do the same?
// Compares:   the forum; the floor (bare uWebSockets.js handlers, same method, same bytes in and
//             out).
// Fixed:      64 connections, 10,000 identities, 1,000 threads, 60,000 messages of 300 bytes,
//             --durability always; server on one core, load (wrk) on another; sides measured
//             alternately, medians of the rounds.
// Reports:    requests/s, their ratio to the floor's, latency percentiles, processor time of the
//             server for each request; a table, and JSON on request.
// Leaves out: TLS, networks, webhooks (black-hole.ts, webhook-lab.ts), large states (scale.ts).
// Smoke:      test/bench/scenarios.test.ts runs every scenario for a second.
//
// Run:        npm run bench -- --help

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Phase, Progress } from '../src/swarm/progress.ts'
import { compare, type Result } from './compare.ts'
import { describeMachine, machineLines } from './machine.ts'
import { help, type Options, parseOptions, UsageError } from './options.ts'
import type { Peer } from './peers/peer.ts'
import { postgres } from './peers/postgres.ts'
import { redis } from './peers/redis.ts'
import { type Population, populate } from './population.ts'
import { has } from './process.ts'
import { type Results, scenarioResult } from './results.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { type Forum, setScene, startForum } from './sides.ts'
import { scenarioLines } from './table.ts'

const size = { identities: 10_000, threads: 1_000, messages: 60_000, contentBytes: 300 }

interface Plan {
  rounds: number
  seconds: number
  warmUpSeconds: number
}
const quick: Plan = { rounds: 3, seconds: 1, warmUpSeconds: 1 }
const full: Plan = { rounds: 5, seconds: 5, warmUpSeconds: 2 }

/** Who plays in every scenario. */
interface Cast {
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
  if (!has('wrk')) {
    say(['skipped: wrk is not installed (apt-get install wrk)'])
    return 0
  }
  const dir = mkdtempSync(join(options.dir, 'agent-forum-bench-'))
  try {
    const results = await run(options, dir)
    if (options.json !== null) writeFileSync(options.json, JSON.stringify(results, null, 2))
    return 0
  } finally {
    progress.stop()
    rmSync(dir, { recursive: true })
  }
}

async function run(options: Options, dir: string): Promise<Results> {
  const machine = describeMachine(dir, options.durability)
  say(machineLines(machine))
  const population = await build(join(dir, 'data'))
  const forum = await startForum(join(dir, 'data'), ['--durability', options.durability])
  const results: Results = { machine, scenarios: [] }
  const chosen = scenarios.filter(({ name }) => options.only.includes(name))
  const peers = await startPeers(options, chosen, population)
  try {
    for (const scenario of chosen) {
      const sides = await measure(options, dir, scenario, { population, forum, peers })
      const result = scenarioResult(scenario, options.connections, sides)
      results.scenarios.push(result)
      say(scenarioLines(result))
    }
  } finally {
    for (const peer of peers.values()) await peer.stop()
    await forum.stop()
  }
  return results
}

async function build(data: string): Promise<Population> {
  let phase: Phase | null = null
  let ticked = 0
  const population = await populate(data, size, (done, total) => {
    phase ??= progress.phase('building', total)
    for (; ticked < done; ticked++) phase.tick()
  })
  ;(phase as Phase | null)?.end()
  return population
}

/** Those that some scenario needs and that are installed, by name. */
async function startPeers(
  { dir, durability }: Options,
  chosen: readonly Scenario[],
  population: Population,
): Promise<Map<string, Peer>> {
  const peers = new Map<string, Peer>()
  for (const kind of [redis, postgres]) {
    const missing = kind.missing()
    if (!chosen.some(({ peers }) => peers?.includes(kind.name))) continue
    if (missing === null) peers.set(kind.name, await kind.start(dir, population, durability))
    else say([`without ${kind.name}: not installed (apt-get install ${missing})`])
  }
  return peers
}

async function measure(
  { isQuick, connections }: Options,
  dir: string,
  scenario: Scenario,
  { population, forum, peers }: Cast,
): Promise<Result[]> {
  const { rounds, seconds, warmUpSeconds } = isQuick ? quick : full
  const scene = await setScene(dir, scenario, population, forum)
  const others = (scenario.peers ?? []).flatMap((name) => peers.get(name) ?? [])
  const sides = [
    scene.floor,
    scene.forum,
    ...others.map((peer) => peer.side(scenario.name, scene.other)),
  ]
  const phase = progress.phase(scenario.name, sides.length * (rounds + 1))
  try {
    await compare(sides, { connections, seconds: warmUpSeconds }, 1, phase.tick)
    return await compare(sides, { connections, seconds }, rounds, phase.tick)
  } finally {
    phase.end()
    await scene.stop()
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`bench: ${error.message}\n`)
  return 64
})
