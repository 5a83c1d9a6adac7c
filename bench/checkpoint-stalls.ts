// Measures what checkpoints do to replies: the longest stall of the event loop and p99.9, with
// checkpoints and without, alternately on one data directory.

import { median } from './compare.ts'
import type { Population } from './population.ts'
import { scenarioNamed } from './scenarios.ts'
import { sender, startForum } from './sides.ts'
import { longestOf, type Stall, watchStalls } from './stalls.ts'

const connections = 64

export interface CheckpointResult {
  /** The number of checkpoints taken while the event loop was measured. */
  taken: number
  /** How long the beginning of each round's newest checkpoint blocked the node, by its metrics. */
  longestBeginMs: number
  /** How long each round's newest checkpoint took, and what it wrote. */
  seconds: number
  writtenMb: number
  longestStallMs: { without: number; with: number }
  p999Ms: { without: number; with: number }
  stalls: Stall[]
}

export interface Watch {
  data: string
  population: Population
  /** Where the load generator keeps its files. */
  dir: string
  /** The flags of the node. */
  flags: readonly string[]
  /** Megabytes of log between two checkpoints. */
  everyMb: number
  rounds: number
  seconds: number
  onStep: () => void
}

/** Measures replies alternately while checkpoints are taken and while none is. */
export async function watchCheckpoints(watch: Watch): Promise<CheckpointResult> {
  const { data, population, dir, everyMb, rounds, seconds, onStep } = watch
  const replies = scenarioNamed('reply')
  const seen = { with: [] as Stall[][], without: [] as Stall[][] }
  const p999 = { with: [] as number[], without: [] as number[] }
  const newest = { begin: [0], seconds: [0], bytes: [0] }
  let taken = 0
  for (let round = 0; round < rounds; round++) {
    for (const side of ['without', 'with'] as const) {
      const every = side === 'with' ? everyMb : 0
      const forum = await startForum(data, [...watch.flags, '--checkpoint-mb', `${every}`])
      const replying = (await sender(dir, replies, population, forum))('forum', forum)
      const { stalls, load } = await watchStalls(replying, forum, { connections, seconds })
      seen[side].push(stalls)
      p999[side].push(load.latencyMs['99.9'])
      const metrics = await forum.metrics()
      const metric = (name: string) => metrics.get(`agent_forum_checkpoint${name}`)!
      taken += metric('s_total')
      newest.begin.push(metric('_begin_seconds'))
      newest.seconds.push(metric('_duration_seconds'))
      newest.bytes.push(metric('_bytes'))
      await forum.stop()
      onStep()
    }
  }
  return {
    taken,
    longestBeginMs: Math.max(...newest.begin) * 1e3,
    seconds: Math.max(...newest.seconds),
    writtenMb: Math.max(...newest.bytes) / 1e6,
    longestStallMs: { without: longestOf(seen.without.flat()), with: longestOf(seen.with.flat()) },
    p999Ms: { without: median(p999.without), with: median(p999.with) },
    stalls: seen.with[0],
  }
}

export function checkpointLines(result: CheckpointResult, everyMb: number): string[] {
  const { taken, seconds, writtenMb, longestStallMs: stall, longestBeginMs, p999Ms } = result
  const ratio = p999Ms.with / p999Ms.without
  const lines = [
    `a checkpoint every ${everyMb} MB of log, under replies: ${taken} were taken`,
    `  longest stall ${stall.with.toFixed(1)} ms (without: ${stall.without.toFixed(1)} ms); ` +
      `at most 10 ms: ${stall.with <= 10 ? 'met' : 'missed'}; ` +
      `to begin a checkpoint took ${longestBeginMs.toFixed(1)} ms`,
    `  the longest took ${seconds.toFixed(2)} s, the largest wrote ${writtenMb.toFixed(0)} MB`,
    `  p99.9 of replies ${p999Ms.with.toFixed(1)} ms, ${ratio.toFixed(2)} x without; ` +
      `at most 2 x: ${ratio <= 2 ? 'met' : 'missed'}`,
  ]
  if (taken === 0) lines.push('  so nothing was shown: watch longer (--watch-seconds)')
  return lines
}
