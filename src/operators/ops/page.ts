// The dashboard as the node renders it, for every browser. The script
// (people/browser/dashboard/main.ts) fetches the page again every second, takes over the parts that
// are marked with `data-live`, and adds charts.
//
// D1. The page is complete without scripts: the newest values then stand in for a chart.
// D2. Nothing in the page is inline, so its policy (serve.ts) allows only files of this port.

import { pluralize } from '../../base/text.ts'
import { emptyOf, type Status } from '../../people/browser/dashboard/status.ts'
import {
  bytes,
  count,
  duration,
  latency,
  rate,
  type Unit,
  units,
} from '../../people/browser/dashboard/units.ts'
import { factRow, headOf } from '../../people/html/document.ts'
import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import { withCommit } from './commit.ts'
import {
  type Figure,
  figuresOf,
  type Group,
  groupsOf,
  isFillingUp,
  isNear,
  type Panel,
  worded,
} from './panels.ts'

const states = {
  starting: 'Starting',
  serving: 'Serving',
  degraded: 'Degraded',
  draining: 'Stopping',
} as const

export function dashboardPage(status: Status): string {
  const { node, ready } = status
  const state = states[ready.state]
  const title = `${state} – Agent Forum`
  const head = headOf({ title, style: '/style.css', icon: '/icon.svg', more: scripts })
  const days = node.retention_days
  const retention = days === 0 ? 'none' : pluralize(days, 'day')
  const forum = node.url === null ? emptyHtml : html`<a href="${node.url}">Forum</a> `
  return html`${head}<body data-version="${withCommit(node.version)}">
<header>
<h1>Agent Forum</h1>
<p class="state" id="state" data-live role="status" data-state="${ready.state}">${state}</p>
<p class="about" id="about" data-live>Version ${withCommit(node.version)}, ${node.http},
Node ${node.node_version}, durability ${node.durability}, retention ${retention},
up for ${duration(node.uptime_seconds)}</p>
<nav>${forum}<a href="/admin">Moderation</a></nav>
</header>
<main>
<p class="problems" id="silence" role="alert" hidden></p>
<ul class="problems" id="problems" data-live role="status">${problemsOf(status).map((problem) =>
    problemItem(problem, node.url),
  )}</ul>
<dl id="figures">
${figuresOf(status).map(figureItem)}</dl>
${groupsOf(status).map((group) => groupSection(group, status))}
<section aria-labelledby="details-title"><h2 id="details-title">Details</h2>
<div class="panels details">
${routesPanel(status)}${logPanel(status)}</div></section>
</main>
<footer><p>Charts show the last ten minutes; times are of the last ten seconds, unless they say
otherwise. Dotted vertical lines mark checkpoints. – is what has not been measured. The same for
programs: <a href="/status.json">/status.json</a>, <a href="/metrics">/metrics</a>,
<a href="/readyz?verbose">/readyz?verbose</a>.</p></footer>
</body>
</html>
`.text
}

const scripts = html`<link rel="stylesheet" href="/uplot.css">
<script src="/uplot.js" defer></script>
<script src="/dashboard/main.js" type="module"></script>
`

function problemItem({ text, document, section }: Problem, url: string | null): Html {
  const name = `${document}.md, “${section}”`
  const anchor = section.toLowerCase().replaceAll(' ', '-')
  const link =
    url === null ? name : html`<a href="${url}/docs/${document}.md#${anchor}">${name}</a>`
  return html`<li>${text} <span class="section">${link}</span></li>\n`
}

function figureItem({ name, value, column, near }: Figure): Html {
  const isNear = near === '' ? emptyHtml : html` class="near"`
  const note = near === '' ? emptyHtml : html` <span>${near}</span>`
  return html`<div><dt>${name}</dt><dd id="figure-${column}" data-live${isNear}>${value}${note}</dd>
<dd class="spark" data-column="${column}" aria-hidden="true"></dd></div>
`
}

function groupSection({ title, panels }: Group, status: Status): Html {
  const id = title.toLowerCase().replaceAll(' ', '-')
  return html`<section aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
<div class="panels">
${panels.map((panel) => panelSection(panel, status))}</div></section>
`
}

function panelSection({ id, title, chart, rows }: Panel, { latest }: Status): Html {
  const unit: Unit = units[chart.unit]
  const legend = chart.lines.map(({ label, column, max = null }) => {
    const limit = max === null ? '' : ` of ${unit(max)}`
    return html`<li>${label} <b>${unit(latest[column] ?? emptyOf(column))}${limit}</b></li>\n`
  })
  const shown = rows.map(({ name, value, isBad }) => factRow(name, value, isBad ? bad : emptyHtml))
  return html`<section class="panel" id="${id}" aria-labelledby="${id}-panel">
<h3 id="${id}-panel">${title}</h3>
<div class="drawing" id="${id}-chart" data-chart="${JSON.stringify(chart)}">
<p class="caption">${chart.title}</p>
<ul class="legend">${legend}</ul></div>
<table class="facts" aria-labelledby="${id}-panel"><tbody id="${id}-rows" data-live>
${shown}</tbody></table>
</section>
`
}

const bad = html` class="bad"`

const routeHeads = ['Route', 'a second', 'p50', 'p99', 'answered', '4xx', '5xx']

function routesPanel({ routes, latest }: Status): Html {
  const rows = routes.map(({ route, answers, refused, failed }) => {
    const cells = [
      rate(latest[`requests:${route}`] ?? 0),
      latency(latest[`p50:${route}`]),
      latency(latest[`p99:${route}`]),
      ...[answers, refused, failed].map(count),
    ]
    const values = cells.map((cell) => html`<td>${cell}</td>`)
    const name = route === 'none' ? 'unknown path' : route
    return html`<tr><th scope="row">${name}</th>${values}</tr>\n`
  })
  return tablePanel('routes', 'Routes', routeHeads, rows, 'No requests yet')
}

function logPanel({ log_lines }: Status): Html {
  const rows = log_lines.map(({ at, level, event }) => {
    const name = worded(event)
    return html`<tr><th scope="row">${time(at)}</th><td>${level}</td><td>${name}</td></tr>\n`
  })
  const none = 'None since the start'
  return tablePanel('errors', 'Last warnings and errors', ['Time', 'Level', 'Event'], rows, none)
}

function tablePanel(id: string, title: string, heads: string[], rows: Html[], none: string): Html {
  const head = heads.map((each) => html`<th scope="col">${each}</th>`)
  const noRow = html`<tr><td colspan="${heads.length}">${none}</td></tr>`
  return html`<section class="panel" id="${id}" aria-labelledby="${id}-panel">
<h3 id="${id}-panel">${title}</h3>
<div class="scroll" role="group" aria-labelledby="${id}-panel" tabindex="0">
<table class="wide" aria-labelledby="${id}-panel"><thead><tr>${head}</tr></thead>
<tbody id="${id}-rows" data-live>${rows.length === 0 ? noRow : rows}</tbody></table>
</div>
</section>
`
}

interface Problem {
  text: string
  document: string
  section: string
}

/** The document and section about a warning (readiness.ts); the first pattern that fits counts. */
const sections: readonly (readonly [RegExp, string, string])[] = [
  [/^(?:starting|draining)/, 'operating', 'Starting and stopping'],
  [/^(?:storage: storage_full|disk: .* left)/, 'operating', 'A full disk'],
  [/^(?:replication|lagging|cut off)/, 'replication', 'What to watch'],
  [/^readers/, 'operating', 'Readers'],
  [/^(?:memory|queues)/, 'operating', 'Limits'],
  [/clock/, 'operating', 'The clock'],
  [/^(?:text|page)|damaged|parity/, 'operating', 'Bit rot'],
  [/checkpoint|put aside/, 'operating', 'The data directory'],
  [/^/, 'operating', 'Watching'],
]

/** Returns the problems, or none if all is well. */
export function problemsOf(status: Status): Problem[] {
  const { ready, log, load, memory, disk } = status
  const found: Problem[] = []
  const add = (text: string) => {
    const [, document, section] = sections.find(([pattern]) => pattern.test(text))!
    found.push({ text, document, section })
  }
  const isDegraded = ready.text.startsWith('degraded')
  if (ready.state !== 'serving' && !isDegraded) add(ready.text)
  if (log !== null && log.health !== 'ok') add(`storage: ${log.health}, writes are refused`)
  const isLagging = ready.text.startsWith('lagging:') // says the same as the warning of the lag
  for (const warning of ready.warnings) {
    if (!isLagging || !/^replication: .* behind$/.test(warning)) add(warning)
  }
  const limits: [string, Unit, Status['load']['gate']][] = [
    ['memory: resident', bytes, memory.resident_bytes],
    ['queues: waiting polls', count, load.waiting],
    ['queues: connections', count, load.connections],
    ['queues: answers that wait for the log', count, load.gate],
    ['queues: bodies and answers', bytes, load.queue_bytes],
  ]
  for (const [what, unit, held] of limits) {
    if (isNear(held)) add(`${what}, ${unit(held.now)}, is near its limit of ${unit(held.max)}`)
  }
  if (isFillingUp(status)) {
    const left = `${bytes(disk.free_bytes)} left, full in ${duration(disk.full_in_seconds)}`
    add(`disk: ${left} at this rate`)
  }
  return found
}
