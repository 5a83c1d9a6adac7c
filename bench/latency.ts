// Question:   how long do callers wait that arrive at a constant rate, and what makes them wait?
// Compares:   the forum with the usual population and with a large one, with checkpoints and
//             without; Redis, `XADD` with `appendfsync always`.
// Fixed:      an open loop (open-loop.ts): requests are due at 25, 50 and 75 % of the rate at which
//             the side has just answered under full load, and latency counts from then, so that a
//             stall is seen by all requests that are due meanwhile; at most 256 at once; server on
//             one core, load on another.
// Reports:    p50 to p99.99 and the maximum; how late the generator itself was; for the forum how
//             much of the time collections and syncs took, the longest of each, and how long the
//             last beginning of a checkpoint took.
// Leaves out: networks; bursts, although real callers do not arrive evenly spread.
// Smoke:      test/bench/latency.test.ts (npm run test:deep).
//             Run it: npm run bench -- --only latency --markdown FILE

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type OpenLoad, type OpenSeen, openPercentiles } from './generator.ts'
import type { Generator } from './load.ts'
import type { Peer } from './peers/peer.ts'
import { type Population, populate, type Size } from './population.ts'
import { runLoad } from './process.ts'
import { renderRing, requestEnd } from './ring.ts'
import { scenarioNamed } from './scenarios.ts'
import { type Forum, sender, startForum } from './sides.ts'
import { longestOf, stallsFromNow } from './stalls.ts'

/** Fractions of the rate at full load. */
export const shares = [0.25, 0.5, 0.75] as const
const scenarioNames = ['reply', 'mixed'] as const
const openConnections = 256
const fullConnections = 64

/** Something that delays answers: how often it occurred, its total time, and the longest one. */
export interface Stop {
  name: string
  count: number
  totalMs: number
  longestMs: number
}

export interface LatencyRun extends OpenSeen {
  side: string
  /** A description of the side, such as `1,000,000 messages, checkpoints`. */
  title: string
  scenario: string
  /** The rate as a fraction of that at full load, and in requests a second. */
  share: number
  rate: number
  seconds: number
  stops: Stop[]
}

export interface LatencyPlan {
  sizes: readonly Size[]
  seconds: number
  fullSeconds: number
}

export interface LatencyParts {
  plan: LatencyPlan
  dir: string
  durability: string
  /** What loads the forum fully; the constant rates are those of open-loop.ts. */
  load: Generator
  /** Redis, if it is installed and wanted. */
  redis: Peer | null
  onStep(what: string): void
}

/** Returns the number of runs. */
export function runsOf({ sizes }: LatencyPlan, hasRedis: boolean): number {
  return shares.length * (sizes.length * scenarioNames.length * 2 + (hasRedis ? 1 : 0))
}

export async function measureLatency(parts: LatencyParts): Promise<LatencyRun[]> {
  const runs: LatencyRun[] = []
  for (const size of parts.plan.sizes) {
    const data = join(parts.dir, `latency-${size.messages}`)
    const population = await populate(data, size)
    for (const every of [0, 128]) runs.push(...(await ofForum(parts, data, population, every)))
  }
  if (parts.redis !== null) runs.push(...(await ofRedis(parts, parts.redis)))
  return runs
}

/** Measures the forum. `everyMb`: the log after which a checkpoint is taken; 0: none is taken. */
async function ofForum(
  parts: LatencyParts,
  data: string,
  population: Population,
  everyMb: number,
): Promise<LatencyRun[]> {
  const { dir, durability, load, plan, onStep } = parts
  const messages = population.size.messages.toLocaleString('en-US')
  const title = `${messages} messages, ${everyMb === 0 ? 'no ' : ''}checkpoints`
  const collections = new Collections()
  const flags = ['--durability', durability, '--checkpoint-mb', `${everyMb}`]
  const forum = await startForum(data, flags, [], {
    nodeFlags: ['--trace-gc'],
    onLine: (line) => collections.note(line),
  })
  const runs: LatencyRun[] = []
  try {
    for (const name of scenarioNames) {
      const scenario = scenarioNamed(name)
      const full = (await sender(dir, scenario, population, forum, load))('forum', forum)
      await full.load({ connections: fullConnections, seconds: plan.fullSeconds }, 0) // warm-up
      const seen = await full.load({ connections: fullConnections, seconds: plan.fullSeconds }, 1)
      const ring = scenario.ring(population)
      const ringFile = join(dir, `${name}.open`)
      writeFileSync(ringFile, renderRing(ring))
      for (const share of shares) {
        onStep(`${title}: ${name} at ${share * 100} %`)
        const stalls = await stallsFromNow(forum)
        const before = await forum.metrics()
        collections.begin()
        const position = before.get('agent_forum_journal_position')! - ring.writes
        const rate = (share * seen.requests) / seen.seconds
        const ran = await send({
          ...{ port: Number(new URL(forum.url).port), protocol: 'http', ringFile, rate },
          writes: ring.writes / ring.requests.length,
          filling: { prefix: `open-${before.get('agent_forum_journal_position')}-`, position },
          ...{ seconds: plan.seconds, connections: openConnections },
        })
        const stops = [...collections.stops, ...(await stopsOf(forum, before))]
        stops.push(
          stop('delays of the event loop', Number.NaN, Number.NaN, longestOf(await stalls())),
        )
        const { seconds } = plan
        runs.push({ side: 'forum', title, scenario: name, share, rate, seconds, stops, ...ran })
      }
    }
  } finally {
    await forum.stop()
  }
  return runs
}

async function ofRedis({ dir, plan, onStep }: LatencyParts, redis: Peer): Promise<LatencyRun[]> {
  const { port, commands } = redis.raw!
  const full = await redis
    .side('reply', () => {
      throw new Error('Redis has a generator of its own')
    })
    .load({ connections: fullConnections, seconds: plan.fullSeconds }, 0)
  const ringFile = join(dir, 'redis.open')
  writeFileSync(ringFile, renderCommands(commands))
  const runs: LatencyRun[] = []
  for (const share of shares) {
    onStep(`redis: reply at ${share * 100} %`)
    const rate = (share * full.requests) / full.seconds
    const { seconds } = plan
    const ran = await send({
      ...{ port, protocol: 'resp', ringFile, writes: 1, filling: { prefix: '', position: 0 } },
      ...{ rate, seconds, connections: openConnections },
    })
    const title = 'XADD, appendfsync always'
    runs.push({ side: 'redis', title, scenario: 'reply', share, rate, seconds, stops: [], ...ran })
  }
  return runs
}

async function send(load: OpenLoad): Promise<OpenSeen> {
  const program = join(import.meta.dirname, 'open-loop.js')
  return JSON.parse(await runLoad([process.execPath, program, JSON.stringify(load)])) as OpenSeen
}

/** Renders commands in RESP, each with its end mark, like the requests in a file of a ring. */
function renderCommands(commands: readonly (readonly string[])[]): string {
  const rendered = commands.map((words) => {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
    return `*${words.length}\r\n${parts.join('')}${requestEnd}`
  })
  return rendered.join('')
}

/** The collections of the JS heap, by what V8 prints with --trace-gc. */
class Collections {
  #stops = new Map<string, Stop>()

  begin(): void {
    this.#stops = new Map()
  }

  get stops(): Stop[] {
    return [...this.#stops.values()]
  }

  /** Takes a line such as `[9:0x1] 752 ms: Scavenge 114.6 (132.4) -> … MB, 1.59 / 0.00 ms (…)`. */
  note(line: string): void {
    const [, kind, spent] =
      /\d+ ms: ([A-Z][\w-]+).* (\d+\.\d+) \/ \d+\.\d+ ms/.exec(line) ?? ([] as undefined[])
    if (kind === undefined || spent === undefined) return
    const name = kind === 'Scavenge' ? 'young collections' : 'full collections'
    const stop = this.#stops.get(name) ?? { name, count: 0, totalMs: 0, longestMs: 0 }
    stop.count += 1
    stop.totalMs += Number(spent)
    stop.longestMs = Math.max(stop.longestMs, Number(spent))
    this.#stops.set(name, stop)
  }
}

/** Returns what else stops answers, by the node's metrics. */
async function stopsOf(forum: Forum, before: ReadonlyMap<string, number>): Promise<Stop[]> {
  const after = await forum.metrics()
  const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  const sync = 'agent_forum_journal_sync_duration_seconds'
  // This is the bound of the last bucket that has grown by more than the one before it.
  let longestSync = 0
  let counted = 0
  for (const [name] of after) {
    const bound = name.startsWith(`${sync}_bucket`) ? /le="(.+)"/.exec(name)?.[1] : undefined
    if (bound === undefined || grown(name) === counted) continue
    counted = grown(name)
    longestSync = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound) * 1e3
  }
  const beginMs = (after.get('agent_forum_checkpoint_begin_seconds') ?? 0) * 1e3
  return [
    stop('syncs', grown(`${sync}_count`), grown(`${sync}_sum`) * 1e3, longestSync),
    stop('the last beginning of a checkpoint', Number.NaN, Number.NaN, beginMs),
  ]
}

function stop(name: string, count: number, totalMs: number, longestMs: number): Stop {
  return { name, count, totalMs, longestMs }
}

/** Returns a run as lines of text. */
export function latencyLines(run: LatencyRun): string[] {
  const { side, title, scenario, share, rate, latencyMs, errors, lateMs, stops, seconds } = run
  const values = openPercentiles.map((p) => `${nameOf(p)} ${latencyMs[p].toFixed(2)}`)
  const lines = [
    `${side}, ${title}: ${scenario} at ${share * 100} %, ${Math.round(rate)}/s: ` +
      `${values.join(', ')} ms${errors > 0 ? `; ${errors} FAILED` : ''}; ` +
      `the generator was late by ${lateMs.toFixed(2)} ms at p99.9`,
  ]
  const parts = stops.map((each) => stopText(each, seconds))
  return parts.length === 0 ? lines : [...lines, `  ${parts.join('; ')}`]
}

export function nameOf(percentile: string): string {
  return percentile === '100' ? 'max' : `p${percentile}`
}

function stopText({ name, count, totalMs, longestMs }: Stop, seconds: number): string {
  // Syncs are counted in a histogram whose last bucket has no bound.
  const longest = Number.isFinite(longestMs)
    ? `longest ${longestMs.toFixed(1)} ms`
    : 'longest more than the last bound'
  if (Number.isNaN(count)) return `${name}: ${longest}`
  return `${name}: ${count}, ${(totalMs / seconds / 10).toFixed(2)} % of the time, ${longest}`
}
