// Question:   does a large forum answer as fast as a small one, and start soon enough?
// Compares:   a forum of 1 M messages (or as many as requested), one of 60,000, and the floor;
//             starts from the log, after a clean stop, and after SIGKILL; replies and the event
//             loop with checkpoints and without.
// Fixed:      64 connections, server on one core, load on another; sides measured alternately.
// Reports:    seconds to start; memory and rendered bytes; ratios of the scenarios; longest
//             stall of the event loop and p99.9 of replies while checkpoints are taken.
// Leaves out: cold caches: the data read at a start was written shortly before.
// Smoke:      test/bench/scale.test.ts, with 2,000 messages.
//
// Run:        node dist/bench/scale.js --help

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Progress } from '../src/swarm/progress.ts'
import { compare, median } from './compare.ts'
import { describeMachine, type Machine, machineLines } from './machine.ts'
import { UsageError } from './options.ts'
import { type Population, type Size, usualSize } from './population.ts'
import { cpuSeconds, residentBytes } from './process.ts'
import { type ScenarioResult, type Stall, scenarioResult } from './results.ts'
import { help, parseScaleOptions, type ScaleOptions } from './scale-options.ts'
import { scenarios } from './scenarios.ts'
import { type Forum, sender, setScene, startForum } from './sides.ts'
import { watchStalls } from './stalls.ts'
import { scenarioLines } from './table.ts'

const connections = 64
const mb = 1e6
const logBytes = 'agent_forum_journal_bytes_total'

interface ScaleResults {
  machine: Machine
  size: Size
  /** By what preceded the start. */
  starts: Record<string, Start>
  memory: { residentMb: number; renderedMb: number }
  scenarios: ScenarioResult[]
  checkpoints: CheckpointResult
}

interface Start {
  seconds: number
  /** The ratio of processor times, which other load on the machine affects less. */
  cpuSeconds: number
}

interface CheckpointResult {
  /** How many checkpoints were taken during the measurement of the event loop. */
  taken: number
  /** How long the beginning of each round's newest checkpoint blocked the node, by its metrics. */
  longestBeginMs: number
  longestStallMs: { without: number; with: number }
  p999Ms: { without: number; with: number }
  stalls: Stall[]
}

interface Built {
  data: string
  population: Population
}

const say = (...lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`)
const progress = new Progress(process.stderr)

async function run(args: string[]): Promise<number> {
  const options = parseScaleOptions(args)
  if (options === null) {
    say(help.trimEnd())
    return 0
  }
  const dir = mkdtempSync(join(options.dir, 'agent-forum-scale-'))
  try {
    const results = await measure(options, dir)
    if (options.json !== null) writeFileSync(options.json, JSON.stringify(results, null, 2))
    return 0
  } finally {
    progress.stop()
    rmSync(dir, { recursive: true })
  }
}

async function measure(options: ScaleOptions, dir: string): Promise<ScaleResults> {
  const { size, durability } = options
  const machine = describeMachine(dir, durability)
  say(...machineLines(machine))
  const large = await build(options.data ?? join(dir, 'large'), size)
  const starts: Record<string, Start> = {}
  const start = async (after: string, flags: string[] = []) => {
    const begun = performance.now()
    const forum = await startForum(large.data, ['--durability', durability, ...flags])
    const seconds = (performance.now() - begun) / 1e3
    starts[after] = { seconds, cpuSeconds: cpuSeconds(forum.pid) }
    const { cpuSeconds: cpu } = starts[after]
    say(`start ${after}: ${seconds.toFixed(2)} s, ${cpu.toFixed(2)} s of processor time`)
    return forum
  }
  let forum = await start('from what was built')
  await forum.stop()
  forum = await start('after a clean stop', ['--checkpoint-mb', '0'])
  const memory = await sayMemory(forum)
  const results = await compareSizes(options, dir, { forum, population: large.population })
  await writeLog(options, dir, { forum, population: large.population })
  await forum.stop('SIGKILL')
  forum = await start(`after SIGKILL with ${options.logMb} MB of log`)
  await forum.stop()
  const checkpoints = await watchCheckpoints(options, dir, large)
  return { machine, size, starts, memory, scenarios: results, checkpoints }
}

/** The forum in `home`, which is built if it does not exist. */
async function build(home: string, size: Size): Promise<Built> {
  const [data, file] = [join(home, 'data'), join(home, 'population.json')]
  if (!existsSync(file)) {
    mkdirSync(home, { recursive: true })
    const args = [join(import.meta.dirname, 'populate.js'), data, JSON.stringify(size), file]
    const child = spawn(process.execPath, ['--enable-source-maps', ...args], { stdio: 'inherit' })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`building ended with ${code}`)
  }
  return { data, population: JSON.parse(readFileSync(file, 'utf8')) as Population }
}

async function sayMemory(forum: Forum): Promise<ScaleResults['memory']> {
  const residentMb = residentBytes(forum.pid) / mb
  const renderedMb = (await forum.metrics()).get('agent_forum_arena_bytes')! / mb
  const aim = 1.4 * renderedMb + 300
  say(
    `memory: ${residentMb.toFixed(0)} MB resident, ${renderedMb.toFixed(0)} MB rendered; at most ` +
      `${aim.toFixed(0)} MB (1.4 x rendered + 300): ${residentMb <= aim ? 'met' : 'missed'}`,
  )
  return { residentMb, renderedMb }
}

interface Running {
  forum: Forum
  population: Population
}

/** The scenarios, on the floor, the large forum, and a small one. */
async function compareSizes(
  { only, rounds, seconds, durability }: ScaleOptions,
  dir: string,
  { forum, population }: Running,
): Promise<ScenarioResult[]> {
  if (only.length === 0) return []
  const small = await build(join(dir, 'small'), usualSize)
  const smallForum = await startForum(small.data, ['--durability', durability])
  const results: ScenarioResult[] = []
  for (const scenario of scenarios.filter(({ name }) => only.includes(name))) {
    const scene = await setScene(dir, scenario, population, forum)
    const toSmall = await sender(join(dir, 'small'), scenario, small.population, smallForum)
    const sides = [scene.floor, scene.forum, toSmall('small', smallForum)]
    const phase = progress.phase(scenario.name, sides.length * rounds)
    const result = scenarioResult(
      scenario,
      connections,
      await compare(sides, { connections, seconds }, rounds, phase.tick),
    )
    phase.end()
    const [, large, little] = result.sides
    const ratio = median(large.rounds.map((rate, i) => rate / little.rounds[i]))
    const outcome = ratio >= 0.8 ? 'met' : 'missed'
    result.verdicts.push(`at least 0.80 x the small forum: ${outcome}: ${ratio.toFixed(2)}`)
    say(...scenarioLines(result))
    results.push(result)
    await scene.stop()
  }
  await smallForum.stop()
  return results
}

const replies = scenarios.find(({ name }) => name === 'reply')!

/** Posts replies until the log has grown by the requested amount. */
async function writeLog(
  { logMb }: ScaleOptions,
  dir: string,
  { forum, population }: Running,
): Promise<void> {
  const side = (await sender(dir, replies, population, forum))('forum', forum)
  const written = async () => (await forum.metrics()).get(logBytes)! / mb
  const begun = await written()
  const phase = progress.phase('MB of log', logMb)
  let ticked = 0
  for (let round = 0; ticked < logMb; round++) {
    await side.load({ connections: 256, seconds: 1 }, round)
    for (const now = (await written()) - begun; ticked < Math.min(now, logMb); ticked++) {
      phase.tick()
    }
  }
  phase.end()
}

/** Measures replies alternately while checkpoints are taken and while none is. */
async function watchCheckpoints(
  { checkpointMb, rounds, watchSeconds, durability }: ScaleOptions,
  dir: string,
  { data, population }: Built,
): Promise<CheckpointResult> {
  const seen = { with: [] as Stall[][], without: [] as Stall[][] }
  const p999 = { with: [] as number[], without: [] as number[] }
  let taken = 0
  let longestBeginMs = 0
  const phase = progress.phase('checkpoints', rounds * 2)
  for (let round = 0; round < rounds; round++) {
    for (const side of ['without', 'with'] as const) {
      const every = side === 'with' ? checkpointMb : 0
      const flags = ['--durability', durability, '--checkpoint-mb', `${every}`]
      const forum = await startForum(data, flags)
      const replying = (await sender(dir, replies, population, forum))('forum', forum)
      const amount = { connections, seconds: watchSeconds }
      const { stalls, load } = await watchStalls(replying, forum, amount)
      seen[side].push(stalls)
      p999[side].push(load.latencyMs['99.9'])
      const metrics = await forum.metrics()
      taken += metrics.get('agent_forum_checkpoints_total')!
      const begin = metrics.get('agent_forum_checkpoint_begin_seconds')!
      longestBeginMs = Math.max(longestBeginMs, begin * 1e3)
      await forum.stop()
      phase.tick()
    }
  }
  phase.end()
  const longest = (stalls: Stall[][]) => Math.max(...stalls.flat().map(({ stallMs }) => stallMs))
  const result = {
    taken,
    longestBeginMs,
    longestStallMs: { without: longest(seen.without), with: longest(seen.with) },
    p999Ms: { without: median(p999.without), with: median(p999.with) },
    stalls: seen.with[0],
  }
  const { longestStallMs: stall, p999Ms } = result
  const isShort = stall.with <= 10
  const ratio = p999Ms.with / p999Ms.without
  say(
    `a checkpoint every ${checkpointMb} MB of log, under replies: ${taken} were taken`,
    `  longest stall ${stall.with.toFixed(1)} ms (without: ${stall.without.toFixed(1)} ms); ` +
      `at most 10 ms: ${isShort ? 'met' : 'missed'}; ` +
      `to begin a checkpoint took ${longestBeginMs.toFixed(1)} ms`,
    `  p99.9 of replies ${p999Ms.with.toFixed(1)} ms, ${ratio.toFixed(2)} x without; ` +
      `at most 2 x: ${ratio <= 2 ? 'met' : 'missed'}`,
  )
  if (taken === 0) say('  so nothing was shown: watch longer (--watch-seconds)')
  return result
}

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`scale: ${error.message}\n`)
  return 64
})
