// The results of a benchmark run in the form in which they are saved, and the verdicts on them.

import { median, type Result } from './compare.ts'
import type { LatencyRun } from './latency.ts'
import type { Machine } from './machine.ts'
import type { Scenario } from './scenarios.ts'
import type { Stall } from './stalls.ts'

/** If the server used a smaller fraction of its core, something else was the bottleneck. */
const busyEnough = 0.9

export interface ScenarioResult {
  name: string
  title: string
  connections: number
  /** The floor first, then the forum, then peers. */
  sides: Result[]
  /** Sentences that say which targets are met, and what makes the figures doubtful. */
  verdicts: string[]
}

/** The throughput of one scenario by the number of connections. */
export interface Sweep {
  name: string
  title: string
  sides: { side: string; points: { connections: number; perSecond: number }[] }[]
}

export interface Results {
  machine: Machine
  scenarios: ScenarioResult[]
  sweeps: Sweep[]
  stalls: Stall[]
  latency: LatencyRun[]
}

export function scenarioResult(
  scenario: Scenario,
  connections: number,
  sides: Result[],
): ScenarioResult {
  const { name, title } = scenario
  const verdicts = [...aims(scenario, sides), ...doubts(sides)]
  return { name, title, connections, sides, verdicts }
}

/** Returns a sentence for each target. */
function aims({ targets = {}, p99Target }: Scenario, sides: Result[]): string[] {
  const [floor, forum] = sides
  const outcome = (isMet: boolean, value: number) => `${isMet ? 'met' : 'missed'}: ${shown(value)}`
  const sentences: string[] = []
  for (const [name, target] of Object.entries(targets)) {
    const other = sides.find(({ side }) => side === name)
    if (other === undefined) continue
    const ratio = median(forum.rounds.map((rate, i) => rate / other.rounds[i]))
    sentences.push(`at least ${shown(target)} x ${name}: ${outcome(ratio >= target, ratio)}`)
  }
  if (p99Target !== undefined) {
    const ratio = forum.latencyMs['99'] / floor.latencyMs['99']
    sentences.push(`p99 at most ${p99Target} x floor: ${outcome(ratio <= p99Target, ratio)}`)
  }
  return sentences
}

/** Returns sentences about what makes the figures doubtful. */
function doubts([floor, ...others]: Result[]): string[] {
  const failed = [floor, ...others].filter(({ errors }) => errors > 0)
  const sentences = failed.map(
    ({ side, errors }) => `${side}: ${errors} requests failed: its figures mean nothing`,
  )
  if (floor.busy >= busyEnough) return sentences
  return [
    ...sentences,
    `the floor used ${Math.round(floor.busy * 100)}% of its core: the load could not keep it ` +
      'busy, or something else ran there; the processor time tells more',
  ]
}

function shown(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toFixed(2)
}
