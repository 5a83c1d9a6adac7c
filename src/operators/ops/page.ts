// The dashboard as the node renders it: the current numbers in tables, for every browser. The
// script (people/browser/dashboard/main.ts) refreshes them every second, and adds charts.
//
// D1. The page is complete without scripts. With scripts it keeps its tables, which put into words
//     what the charts draw.
// D2. Nothing in the page is inline, so its policy (serve.ts) allows only files of this port.

import { routeHeads, routeRows } from '../../people/browser/dashboard/routes.ts'
import type { Fact, Panel, Status } from '../../people/browser/dashboard/status.ts'
import { factRow, headOf, wideTable } from '../../people/html/document.ts'
import { emptyHtml, type Html, html } from '../../people/html/html.ts'

/** Returns the whole document. */
export function dashboardPage(status: Status): string {
  const { node, ready, page } = status
  const title = `${page.state} – Agent Forum`
  const head = headOf({ title, style: '/style.css', icon: '/icon.svg', more: scripts })
  return html`${head}<body data-version="${node.version}">
<header>
<h1>Agent Forum</h1>
<p class="state" id="state" role="status" data-state="${ready.state}">${page.state}</p>
<p class="about">Version ${node.version}, ${node.http}, Node ${node.node_version}, durability
${node.durability}, up for <span id="uptime">${page.uptime}</span></p>
<nav><a href="/admin">Moderation</a></nav>
</header>
<main>
<p class="notice" id="silence" role="alert" hidden></p>
<p class="notice" id="readiness"${ready.state === 'serving' ? hidden : emptyHtml}>${ready.text}</p>
<dl id="headline">
${page.headline.map(headlineItem)}</dl>
<div class="panels">
${page.panels.map(panelSection)}
${routesSection(status)}
</div>
</main>
<footer><p>Charts show the last ten minutes; times are of the last ten seconds. The same for
programs: <a href="/status.json">/status.json</a>, <a href="/metrics">/metrics</a>,
<a href="/readyz?verbose">/readyz?verbose</a>.</p></footer>
</body>
</html>
`.text
}

const hidden = html` hidden`
const scripts = html`<link rel="stylesheet" href="/uplot.css">
<script src="/uplot.js" defer></script>
<script src="/dashboard/main.js" type="module"></script>
`

function headlineItem({ name, value }: Fact): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`
}

function panelSection({ id, title, facts, note = '' }: Panel): Html {
  const rows = facts.map(({ name, value, isBad }) => factRow(name, value, isBad ? bad : emptyHtml))
  return html`<section class="panel" id="${id}" aria-labelledby="${id}-title">
<div class="panel-title"><h2 id="${id}-title">${title}</h2></div>
<table class="facts" aria-labelledby="${id}-title"><tbody>
${rows}</tbody></table>
${note === '' ? emptyHtml : html`<p class="note">${note}</p>`}
</section>
`
}

const bad = html` class="bad"`

function routesSection(status: Status): Html {
  const rows = routeRows(status).map(([route, ...cells]) => {
    const values = cells.map((cell) => html`<td>${cell}</td>`)
    return html`<tr><th scope="row">${route!}</th>${values}</tr>\n`
  })
  return html`<section class="panel panel-routes" id="routes" aria-labelledby="routes-title">
<div class="panel-title"><h2 id="routes-title">Routes</h2></div>
${wideTable('routes-title', routeHeads, rows)}</section>
`
}
