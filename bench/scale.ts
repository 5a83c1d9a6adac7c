// Question:   does a large forum answer as fast as a small one, and start soon enough?
// Compares:   a forum of 1 M messages (or as many as requested), one of 60,000, and the floor;
//             starts after a clean stop, and after SIGKILL; replies and the event loop with
//             checkpoints and without.
// Fixed:      64 connections, server on one core, load on another; sides measured alternately.
// Reports:    seconds to start; memory by part, and disk; ratios of the scenarios, and of pages of
//             scattered threads, which are cold if their text is on disk; how long a checkpoint
//             takes, and the longest stall of the event loop and p99.9 of replies meanwhile.
// Leaves out: a cold page cache of the system: most of the data was written shortly before, and is
//             read from the disk only if it is larger than memory.
// Smoke:      test/bench/scale.test.ts (npm run test:deep), with 2,000 messages.
//
// Run:        node dist/bench/scale.js --help

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '../src/base/arguments.ts'
import { Progress } from '../src/clients/swarm/progress.ts'
import { type CheckpointResult, checkpointLines, watchCheckpoints } from './checkpoint-stalls.ts'
import { compare, median } from './compare.ts'
import { diskByKind, listed, type MemoryParts, memoryByPart, memoryLines } from './footprint.ts'
import { describeMachine, type Machine, machineLines } from './machine.ts'
import { type Population, type Size, usualSize } from './population.ts'
import { cpuSeconds, workDirectory } from './process.ts'
import { type ScenarioResult, scenarioResult } from './results.ts'
import { help, parseScaleOptions, type ScaleOptions } from './scale-options.ts'
import { scaleScenarios, scenarioNamed } from './scenarios.ts'
import { type Forum, sender, setScene, startForum } from './sides.ts'
import { scenarioLines } from './table.ts'

const connections = 64
const mb = 1e6
const logBytes = 'agent_forum_journal_bytes_total'
const position = 'agent_forum_journal_position'

interface ScaleResults {
  machine: Machine
  size: Size
  buildSeconds: number
  /** Keyed by what preceded the start. */
  starts: Record<string, Start>
  memory: MemoryParts
  /** Megabytes by kind of file, after a clean stop. */
  disk: Record<string, number>
  scenarios: ScenarioResult[]
  checkpoints: CheckpointResult
}

/** The medians of some starts. */
interface Start {
  seconds: number
  /** Processor time, which other load on the machine affects less. */
  cpuSeconds: number
}

interface Built {
  data: string
  population: Population
  /** How long the build took, or 0 if the forum existed. */
  seconds: number
}

const say = (...lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`)
const progress = new Progress(process.stderr)

async function run(args: string[]): Promise<number> {
  const options = parseScaleOptions(args)
  if (options === null) {
    say(help.trimEnd())
    return 0
  }
  const dir = workDirectory(options.dir)
  try {
    const results = await measure(options, dir)
    if (options.json !== null) writeFileSync(options.json, JSON.stringify(results, null, 2))
    return 0
  } finally {
    progress.stop()
  }
}

async function measure(options: ScaleOptions, dir: string): Promise<ScaleResults> {
  const { size, durability, flags, checkpointMb, logMb, starts: count } = options
  const machine = describeMachine(dir, durability)
  say(...machineLines(machine))
  const {
    data,
    population,
    seconds: buildSeconds,
  } = await build(options.data ?? join(dir, 'large'), size)
  const disk = diskByKind(data)
  say(`built in ${buildSeconds.toFixed(0)} s; on disk: ${listed(disk)}`)
  const starts: Record<string, Start> = {}
  const own = ['--durability', durability, ...flags]
  const startLarge = (more: string[] = []) => startForum(data, [...own, ...more])
  const quiet = ['--checkpoint-mb', '0']

  let forum = await timeStarts({
    starts,
    after: 'after a clean stop',
    signal: 'SIGTERM',
    count,
    start: () => startLarge(quiet),
  })
  const grown = (await forum.metrics()).get(position)! - population.position
  // Its tails and feeds are then longer than those of the small forum.
  if (grown > 0) say(`${grown} records since it was built: compare no tail and no feed with others`)
  const memory = await memoryByPart(forum, data)
  say(...memoryLines(memory))
  const results = await compareSizes(options, dir, { forum, population })
  await writeLog(options, dir, { forum, population })
  await forum.stop('SIGKILL')
  forum = await timeStarts({
    starts,
    after: `after SIGKILL with ${logMb} MB of log`,
    signal: 'SIGKILL',
    count,
    start: () => startLarge(quiet),
  })
  await forum.stop()

  const { rounds, watchSeconds } = options
  const phase = progress.phase('checkpoints', rounds * 2)
  const checkpoints = await watchCheckpoints({
    data,
    population,
    dir,
    flags: own,
    everyMb: checkpointMb,
    rounds,
    seconds: watchSeconds,
    onStep: phase.tick,
  })
  phase.end()
  say(...checkpointLines(checkpoints, checkpointMb))
  return { machine, size, buildSeconds, starts, memory, disk, scenarios: results, checkpoints }
}

interface Timed {
  starts: Record<string, Start>
  /** What precedes the starts. */
  after: string
  /** The signal that ends the forum between two starts. */
  signal: NodeJS.Signals
  count: number
  start(): Promise<Forum>
}

/** Starts the forum `count` times, and leaves it running. */
async function timeStarts({ starts, after, signal, count, start }: Timed): Promise<Forum> {
  const seen: Start[] = []
  for (;;) {
    const begun = performance.now()
    const forum = await start()
    const seconds = (performance.now() - begun) / 1e3
    seen.push({ seconds, cpuSeconds: cpuSeconds(forum.pid) })
    if (seen.length < count) {
      await forum.stop(signal)
      continue
    }
    const of = (name: keyof Start) => median(seen.map((each) => each[name]))
    starts[after] = { seconds: of('seconds'), cpuSeconds: of('cpuSeconds') }
    const { seconds: wall, cpuSeconds: cpu } = starts[after]
    say(`start ${after}: ${wall.toFixed(2)} s, ${cpu.toFixed(2)} s of processor time`)
    return forum
  }
}

/** Returns the forum in `home`, which is built if it does not exist. */
async function build(home: string, size: Size): Promise<Built> {
  const [data, file] = [join(home, 'data'), join(home, 'population.json')]
  const begun = performance.now()
  const isThere = existsSync(file)
  if (!isThere) {
    if (existsSync(data)) throw new ConfigError(`${data}: an earlier run has not finished it`)
    mkdirSync(home, { recursive: true })
    const args = [join(import.meta.dirname, 'populate.js'), data, JSON.stringify(size), file]
    const child = spawn(process.execPath, ['--enable-source-maps', ...args], { stdio: 'inherit' })
    process.once('exit', () => child.kill('SIGKILL'))
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`building ended with ${code}`)
  }
  const seconds = isThere ? 0 : (performance.now() - begun) / 1e3
  const population = JSON.parse(readFileSync(file, 'utf8')) as Population
  if (isDeepStrictEqual(population.size, size)) return { data, population, seconds }
  throw new ConfigError(`${home} has a forum of another size: ${JSON.stringify(population.size)}`)
}

interface Running {
  forum: Forum
  population: Population
}

/** Runs the scenarios on the floor, the large forum, and a small one. */
async function compareSizes(
  { only, rounds, seconds, durability }: ScaleOptions,
  dir: string,
  { forum, population }: Running,
): Promise<ScenarioResult[]> {
  if (only.length === 0) return []
  const small = await build(join(dir, 'small'), usualSize)
  const smallForum = await startForum(small.data, ['--durability', durability])
  const results: ScenarioResult[] = []
  for (const scenario of scaleScenarios.filter(({ name }) => only.includes(name))) {
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

/** Posts replies until the log has grown by the requested amount. */
async function writeLog(
  { logMb }: ScaleOptions,
  dir: string,
  { forum, population }: Running,
): Promise<void> {
  const side = (await sender(dir, scenarioNamed('reply'), population, forum))('forum', forum)
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

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`scale: ${error.message}\n`)
  return 64
})
