// The results as lines of text, and as a table for docs/performance.md.

import type { Result } from './compare.ts'
import type { Results, ScenarioResult } from './results.ts'

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

const markdownHead = [
  '| scenario | forum | p99 | floor | of floor | by processor time | peers |',
  '|---|---|---|---|---|---|---|',
]

/** Returns one row for each scenario, and the verdicts on the targets below. */
export function markdown({ scenarios }: Results): string {
  const rows = scenarios.map(({ name, sides: [floor, forum, ...others] }) => {
    const peers = others.map((other) => `${other.side} ${rate(other)}`).join(', ')
    const cells = [
      `\`${name}\``,
      rate(forum),
      `${forum.latencyMs['99'].toFixed(1)} ms`,
      rate(floor),
      forum.ratio.toFixed(2),
      forum.cpuRatio.toFixed(2),
      peers,
    ]
    return `| ${cells.join(' | ')} |`
  })
  const verdicts = scenarios.flatMap(({ name, verdicts }) =>
    verdicts.map((verdict) => `- \`${name}\`: ${verdict}`),
  )
  return `${[...markdownHead, ...rows, '', ...verdicts].join('\n')}\n`
}

function rate({ perSecond }: Result): string {
  return `${Math.round(perSecond).toLocaleString('en')}/s`
}
