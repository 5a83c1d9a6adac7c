// The page of --html: the report, with plots of the rate and the latencies by the second. It is
// self-contained: it has no script, and loads nothing from elsewhere.

import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import type { Compared } from './comparison.ts'
import { type FoundLimit, limitInWords, limitTable } from './find-limit.ts'
import type { Interval } from './meter.ts'
import { type PhaseReport, phaseTable } from './phases.ts'
import { batchInWords, type OperationReport, type Report } from './report.ts'
import { setUpInWords } from './set-up.ts'

const width = 900
const height = 200
/** The left edge of the plots, which leaves room for the numbers beside them. */
const left = 60

/** Contains nothing that needs escaping. */
const style = `
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:${width + 40}px;padding:0 1rem}
:root{color-scheme:light dark}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15rem .7rem;text-align:right}th:first-child,td:first-child{text-align:left}
svg{width:100%;height:auto}text{font-size:11px;fill:currentColor}
.axis{stroke:currentColor;opacity:.25}
polyline{fill:none;stroke-width:1.5}.a{stroke:#2563eb}.b{stroke:#d97706}.c{stroke:#dc2626}
.key.a{color:#2563eb}.key.b{color:#d97706}.key.c{color:#dc2626}`

/** Returns the whole page. */
export function htmlReport(report: Report, compared: readonly Compared[] | null): string {
  const { server, url, verification, intervals } = report
  const title = `A swarm at ${url}`
  const difference = verification === null ? 'not verified' : `${verification.differences.count}`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${style}</style></head>
<body><h1>${title}</h1>
<p>${server.name} ${server.version}, durability ${server.durability}. Run ${report.runId}:
${report.connections} connections${report.batch === null ? '' : `, ${batchInWords(report.batch)}`},
${target(report)}, ${report.messages} messages in
${report.threads} threads by ${report.identities} agents.
Lost answers: ${report.errors}. Differences: ${difference}.</p>
<p>${setUpInWords(report.setUp)}</p>
<h2>Requests a second</h2>
${plot(intervals, [['a', 'requests', ({ rate }) => rate]])}
<h2>Latency in ms</h2>
${plot(intervals, [
  ['a', 'p50', ({ p50 }) => p50],
  ['b', 'p90', ({ p90 }) => p90],
  ['c', 'p99', ({ p99 }) => p99],
])}
<h2>Lost answers a second</h2>
${plot(intervals, [['c', 'lost', ({ errors }) => errors]])}
<h2>By operation</h2>
<table>${headRow(['', 'count', 'rate/s', 'p50 ms', 'p90', 'p99', 'p99.9', 'max'])}
${[...report.operations, report.all].map(operationRow)}</table>
${report.limit === null ? emptyHtml : limitSection(report.limit)}
${report.phases.length === 0 ? emptyHtml : phaseSection(report.phases)}
${compared === null ? emptyHtml : comparison(compared)}
</body></html>
`.text
}

function target({ targetRate, limit, phases }: Report): string {
  if (limit !== null || phases.length > 0) return 'at the rates below'
  return targetRate === null ? 'as fast as answered' : `${targetRate} messages a second`
}

function headRow(names: readonly string[]): Html {
  return html`<tr>${names.map((name) => html`<th>${name}</th>`)}</tr>`
}

function operationRow({ operation, count, rate, p50, p90, p99, p999, max }: OperationReport): Html {
  const times = [p50, p90, p99, p999, max].map((ms) => html`<td>${ms.toFixed(2)}</td>`)
  return html`<tr><td>${operation}</td><td>${count}</td><td>${Math.round(rate)}</td>${times}</tr>
`
}

function limitSection(limit: FoundLimit): Html {
  return html`<h2>The highest rate</h2>
<p>${limitInWords(limit)}</p>
${tableOf(limitTable(limit))}`
}

function phaseSection(phases: readonly PhaseReport[]): Html {
  return html`<h2>By phase</h2>
${tableOf(phaseTable(phases))}`
}

function tableOf([head, ...lines]: readonly string[][]): Html {
  const rows = lines.map(
    (cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
  )
  return html`<table>${headRow(head)}
${rows}</table>`
}

function comparison(compared: readonly Compared[]): Html {
  const cells = ([before, now]: [number, number]) => {
    const ratio = before === 0 ? '-' : (now / before).toFixed(2)
    return html`<td>${before.toFixed(1)}</td><td>${now.toFixed(1)}</td><td>${ratio}</td>`
  }
  const rows = compared.map(({ operation, rate, p50, p99 }) => {
    return html`<tr><td>${operation}</td>${cells(rate)}${cells(p50)}${cells(p99)}</tr>
`
  })
  return html`<h2>Beside the earlier run</h2>
<table>${headRow(['', ...['rate/s', 'p50 ms', 'p99 ms'].flatMap((name) => [name, 'now', 'ratio'])])}
${rows}</table>`
}

type Line = [colour: string, name: string, value: (interval: Interval) => number]

/** Returns a plot of lines over the seconds of the run, as high as the maximum of all lines. */
function plot(intervals: readonly Interval[], lines: readonly Line[]): Html {
  if (intervals.length < 2) return html`<p>This run was too short to plot.</p>`
  const end = Math.max(1, ...intervals.map(({ second }) => second))
  const top = Math.max(1, ...intervals.flatMap((each) => lines.map(([, , value]) => value(each))))
  const x = (second: number) => (left + (second / end) * (width - left)).toFixed(1)
  const y = (value: number) => (height - (value / top) * (height - 10)).toFixed(1)
  const drawn = lines.map(([colour, , value]) => {
    const points = intervals.map((each) => `${x(each.second)},${y(value(each))}`).join(' ')
    return html`<polyline class="${colour}" points="${points}"/>`
  })
  const marks = [0, 0.5, 1].map((share) => {
    const at = y(top * share)
    return html`<line class="axis" x1="${left}" x2="${width}" y1="${at}" y2="${at}"/>
<text x="${left - 6}" y="${at}" text-anchor="end" dominant-baseline="middle">${shown(
      top * share,
    )}</text>`
  })
  const phases = intervals.flatMap(({ phase, second }, i) => {
    if (phase === intervals[i - 1]?.phase) return []
    return html`<text x="${x(second)}" y="${height + 14}">${phase}</text>`
  })
  const keys = lines.map(([colour, name]) => html`<span class="key ${colour}">${name}</span> `)
  return html`<p>${keys}over ${end.toFixed(0)} s</p>
<svg viewBox="0 -6 ${width} ${height + 26}" role="img">${marks}${drawn}${phases}</svg>`
}

function shown(value: number): string {
  return value >= 100 ? `${Math.round(value)}` : value.toPrecision(2)
}
