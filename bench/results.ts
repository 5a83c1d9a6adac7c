// What a run of the benchmark found, as it is written to a file, and what is said about it.

import type { Result } from './compare.ts'
import type { Machine } from './machine.ts'
import type { Scenario } from './scenarios.ts'

/** Where the server has less of its core than this, something else was in its way. */
const busyEnough = 0.9

export interface ScenarioResult {
  name: string
  title: string
  connections: number
  /** The floor first, then the forum, then peers. */
  sides: Result[]
  /** Sentences: which targets are met, and what makes the figures doubtful. */
  verdicts: string[]
}

export interface Results {
  machine: Machine
  scenarios: ScenarioResult[]
}

export function scenarioResult(
  { name, title, target }: Scenario,
  connections: number,
  sides: Result[],
): ScenarioResult {
  const [floor, forum] = sides
  const verdicts: string[] = []
  if (target !== undefined) {
    const outcome = forum.ratio >= target ? 'met' : 'missed'
    verdicts.push(`target: ${target.toFixed(2)} x floor: ${outcome} (${forum.ratio.toFixed(2)})`)
  }
  if (floor.busy < busyEnough) {
    verdicts.push(
      `the floor had ${Math.round(floor.busy * 100)}% of its core: the load could not keep it ` +
        'busy, or the machine was shared; compare processor time instead',
    )
  }
  for (const { side, errors } of sides) {
    if (errors > 0) verdicts.push(`${side}: ${errors} requests failed: its figures mean nothing`)
  }
  return { name, title, connections, sides, verdicts }
}
