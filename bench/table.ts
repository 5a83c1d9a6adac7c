// The results as lines of text, and as tables for docs/performance.md.

import type { Result } from './compare.ts'
import { openPercentiles } from './generator.ts'
import { type LatencyRun, nameOf } from './latency.ts'
import type { Results, ScenarioResult, Sweep } from './results.ts'

const columns: [title: string, width: number, show: (result: Result) => string][] = [
  ['side', 10, ({ side }) => side],
  ['requests/s', 11, ({ perSecond }) => Math.round(perSecond).toLocaleString('en')],
  ['ratio', 6, ({ ratio }) => ratio.toFixed(2)],
  ['(rounds)', 12, ({ ratioMin, ratioMax }) => `${ratioMin.toFixed(2)}-${ratioMax.toFixed(2)}`],
  ['p50 ms', 8, ({ latencyMs }) => latencyMs['50'].toFixed(2)],
  ['p99 ms', 8, ({ latencyMs }) => latencyMs['99'].toFixed(2)],
  ['cpu us', 7, ({ cpuUsPerRequest }) => cpuUsPerRequest.toFixed(1)],
  ['cpu ratio', 10, ({ cpuRatio }) => cpuRatio.toFixed(2)],
  ['busy', 6, ({ busy }) => `${Math.round(busy * 100)}%`],
  ['errors', 7, ({ errors }) => `${errors}`],
]

export function scenarioLines({ name, title, sides, verdicts }: ScenarioResult): string[] {
  const heads = columns.map(([title, width], i) => pad(title, width, i))
  const rows = sides.map((side) => columns.map(([, width, show], i) => pad(show(side), width, i)))
  return [
    '',
    `${name}: ${title}`,
    ...[heads, ...rows].map((cells) => `  ${cells.join('')}`),
    ...verdicts.map((verdict) => `  ${verdict}`),
  ]
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width)
}

/** Returns the requests a second of each side, by the number of connections. */
export function sweepLines({ name, sides }: Sweep): string[] {
  const lineOf = ({ side, points }: Sweep['sides'][number]) => {
    const rates = points.map(({ connections, perSecond }) => `${connections}: ${rate(perSecond)}`)
    return `    ${side.padEnd(10)} ${rates.join(', ')}`
  }
  return [`  ${name} by the number of connections:`, ...sides.map(lineOf)]
}

/** Returns the tables of docs/performance.md, and the verdicts on the targets. */
export function markdown({ scenarios, sweeps, latency }: Results): string {
  const verdicts = scenarios.flatMap(({ name, verdicts }) =>
    verdicts.map((verdict) => `- \`${name}\`: ${verdict}`),
  )
  const bySide = sweeps.flatMap(({ name, sides }) =>
    sides.flatMap(({ side, points }) =>
      points.map((point) => [`\`${name}\``, side, `${point.connections}`, rate(point.perSecond)]),
    ),
  )
  const parts = [
    table(
      'scenario|forum|p99|floor|of floor|by processor time|peers',
      scenarios.map(scenarioCells),
    ),
    verdicts.join('\n'),
    table('scenario|side|connections|rate', bySide),
    table(
      `side|load|of the full rate|requests/s|${openPercentiles.map(nameOf).join('|')}|late`,
      latency.map(latencyCells),
    ),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function table(head: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const heads = head.split('|')
  return [heads, heads.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function scenarioCells({ name, sides: [floor, forum, ...others] }: ScenarioResult): string[] {
  return [
    `\`${name}\``,
    rate(forum.perSecond),
    `${forum.latencyMs['99'].toFixed(1)} ms`,
    rate(floor.perSecond),
    forum.ratio.toFixed(2),
    forum.cpuRatio.toFixed(2),
    others.map(({ side, perSecond }) => `${side} ${rate(perSecond)}`).join(', '),
  ]
}

function latencyCells(run: LatencyRun): string[] {
  const { title, scenario, share, rate, latencyMs, lateMs, errors } = run
  const load = errors === 0 ? scenario : `${scenario}, ${errors} FAILED`
  const values = [...openPercentiles.map((p) => latencyMs[p]), lateMs]
  const perSecond = Math.round(rate).toLocaleString('en')
  return [title, load, `${share * 100} %`, perSecond, ...values.map((ms) => ms.toFixed(2))]
}

function rate(perSecond: number): string {
  return `${Math.round(perSecond).toLocaleString('en')}/s`
}
