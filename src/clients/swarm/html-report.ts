// The page of --html: the report, with plots of the rate and the latencies by the second. It is
// self-contained: it has no script, and loads nothing from elsewhere.

import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import type { Compared } from './comparison.ts'
import { type FoundLimit, limitInWords, limitTable } from './find-limit.ts'
import { type PhaseReport, phaseTable } from './phases.ts'
import { plot, plotStyle, plotWidth } from './plot.ts'
import { grouped } from './progress.ts'
import {
  batchInWords,
  type OperationReport,
  type Report,
  runInWords,
  setUpInWords,
} from './report.ts'

/** Contains nothing that needs escaping. */
const style = `
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;padding:0 1rem}
body{max-width:${plotWidth + 40}px}
:root{color-scheme:light dark}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15rem .7rem;text-align:right}th:first-child,td:first-child{text-align:left}`

/** Returns the whole page. `warnings` say why the runs that are compared are not alike. */
export function htmlReport(
  report: Report,
  compared: readonly Compared[] | null,
  warnings: readonly string[] = [],
): string {
  const { server, url, verification, intervals, batch } = report
  const title = `A swarm at ${url}`
  const difference = verification === null ? 'not verified' : `${verification.differences.count}`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<style>${style}${plotStyle}</style></head>
<body><h1>${title}</h1>
<p>${server.name} ${server.version}, durability ${server.durability}, ${runInWords(report)},
begun at ${report.startedAt}: ${grouped(report.connections)} connections,
${batch === null ? '' : `${batchInWords(batch)}, `}${target(report)},
${grouped(report.messages)} messages in ${grouped(report.threads)} threads by
${grouped(report.identities)} agents.
Lost answers: ${report.errors}. Differences: ${difference}.</p>
<p>${setUpInWords(report.setUp)}</p>
<p>${phasesInWords(report)}</p>
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
${compared === null ? emptyHtml : comparison(compared, warnings)}
</body></html>
`.text
}

/** `register 0.4 s, publish 60.0 s`. */
function phasesInWords({ secondsPerPhase }: Report): string {
  return Object.entries(secondsPerPhase)
    .map(([phase, seconds]) => `${phase} ${seconds.toFixed(1)} s`)
    .join(', ')
}

function target({ targetRate, limit, phases }: Report): string {
  if (limit !== null || phases.length > 0) return 'at the rates below'
  return targetRate === null ? 'as fast as answered' : `${grouped(targetRate)} messages a second`
}

function headRow(names: readonly string[]): Html {
  return html`<tr>${names.map((name) => html`<th>${name}</th>`)}</tr>`
}

function operationRow({ operation, count, rate, p50, p90, p99, p999, max }: OperationReport): Html {
  const times = [p50, p90, p99, p999, max].map((ms) => html`<td>${ms.toFixed(2)}</td>`)
  const counts = [count, Math.round(rate)].map((value) => html`<td>${grouped(value)}</td>`)
  return html`<tr><td>${operation}</td>${counts}${times}</tr>
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

function comparison(compared: readonly Compared[], warnings: readonly string[]): Html {
  const cells = ([before, now]: [number, number]) => {
    const ratio = before === 0 ? '-' : (now / before).toFixed(2)
    return html`<td>${before.toFixed(1)}</td><td>${now.toFixed(1)}</td><td>${ratio}</td>`
  }
  const rows = compared.map(({ operation, rate, p50, p99 }) => {
    return html`<tr><td>${operation}</td>${cells(rate)}${cells(p50)}${cells(p99)}</tr>
`
  })
  return html`<h2>Beside the earlier run</h2>
${warnings.map((warning) => html`<p>${warning}</p>`)}
<table>${headRow(['', ...['rate/s', 'p50 ms', 'p99 ms'].flatMap((name) => [name, 'now', 'ratio'])])}
${rows}</table>`
}
