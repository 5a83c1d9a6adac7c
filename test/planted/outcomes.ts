// The table with which docs/faults.md ends: a row for each planted bug, in the order of their
// names. run.ts writes it.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Planted, plantedBugs, top } from './patches.ts'

/** What planting a bug has shown. */
export interface Outcome {
  /** The test that found it, and after how long; '' if none did. */
  test: string
  /** `seed 3`: the first seed of the simulation that found it; '' if none was predicted to. */
  simulation: string
  /** The commit in which it was planted. */
  commit: string
}

export function isFound({ test, simulation }: Outcome): boolean {
  return test !== '' || simulation.startsWith('seed ')
}

const page = join(top, 'docs/faults.md')
const head =
  '| bug | mistake | effect | found by | simulation | commit |\n|---|---|---|---|---|---|\n'

export function readPage(): string {
  return readFileSync(page, 'utf8')
}

/** Returns the outcomes in the table, by the names of bugs. */
export function outcomesIn(text: string): Map<string, Outcome> {
  const [, rows = ''] = text.split(head)
  const outcomes = new Map<string, Outcome>()
  for (const row of rows.trimEnd().split('\n')) {
    const [name = '', , , test = '', simulation = '', commit = ''] = row.slice(2, -2).split(' | ')
    outcomes.set(name, { test, simulation, commit })
  }
  return outcomes
}

/** Returns the page with these outcomes as its table. */
export function withOutcomes(
  text: string,
  bugs: readonly Planted[],
  outcomes: ReadonlyMap<string, Outcome>,
): string {
  const rows = bugs.flatMap(({ name, mistake, effect }) => {
    const outcome = outcomes.get(name)
    if (outcome === undefined) return []
    const { test, simulation, commit } = outcome
    return `| ${[name, mistake, effect, test, simulation, commit].join(' | ')} |\n`
  })
  return text.split(head)[0] + head + rows.join('')
}

/** Replaces the row of a bug, or adds it. */
export function note(name: string, outcome: Outcome): void {
  const text = readPage()
  writeFileSync(page, withOutcomes(text, plantedBugs(), outcomesIn(text).set(name, outcome)))
}
