// The files that the pages of the operators' port load: the styles, the compiled scripts of the
// dashboard, and uPlot, which the build copies from its package. Each file is read once.

import { ownText } from '../../base/program-files.ts'
import { palette } from '../../people/html/html.ts'
import { pageStyle } from '../../people/html/style.ts'

export interface File {
  type: string
  body: string
}

const scriptType = 'text/javascript; charset=utf-8'
const styleType = 'text/css; charset=utf-8'

/** The modules of the dashboard and of the pages below /admin, with all that they import. */
const modules = [
  'enhance',
  'while-visible',
  'dashboard/charts',
  'dashboard/elements',
  'dashboard/history',
  'dashboard/main',
  'dashboard/status',
  'dashboard/units',
]

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="3" fill="#0a58a5"/>
<path d="M2.5 10.5h2.5l2-6 2.5 8 1.5-4h2.5" fill="none" stroke="#fff" stroke-width="1.5"/>
</svg>
`

export function dashboardFiles(): ReadonlyMap<string, File> {
  const scripts = modules.map((name): [string, File] => {
    const text = ownText(`people/browser/${name}.js`)
    const body = text.replace(/^\/\/# sourceMappingURL=.*\n?/m, '')
    return [`/${name}.js`, { type: scriptType, body }]
  })
  return new Map([
    ...scripts,
    ['/uplot.js', { type: scriptType, body: ownText('people/browser/uplot.js') }],
    ['/uplot.css', { type: styleType, body: ownText('people/browser/uplot.css') }],
    ['/style.css', { type: styleType, body: style }],
    ['/pages.css', { type: styleType, body: pageStyle }],
    ['/icon.svg', { type: 'image/svg+xml', body: icon }],
  ])
}

/**
 * The style of the dashboard: the palette of the pages, and a grid of panels that is one column on
 * a phone. The lines of the charts take their colors from here as well
 * (people/browser/dashboard/charts.ts).
 */
const style = `${palette}:root {
  --panel: #ffffff; --bad: #a8254a; --warn: #8a5a00; --good: #1c6b3f;
  --line-1: #0a58a5; --line-2: #b3541e; --line-3: #2b7a4b; --line-4: #8a3ea8; --line-5: #a8254a;
  --line-6: #6b6a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --panel: #1b1f24; --bad: #f28aa4; --warn: #e6b860; --good: #7fce9b;
    --line-1: #7db7f5; --line-2: #f0a36b; --line-3: #7fce9b; --line-4: #cf9be6; --line-5: #f28aa4;
    --line-6: #cfcf6b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 0.9375rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
body > * { max-width: 100rem; margin-inline: auto; padding-inline: 1rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
[hidden] { display: none !important; }
header {
  display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; align-items: baseline;
  padding-block: 1rem;
}
h1 { font-size: 1.25rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.25rem 0 0.5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: 0; }
.state { font-weight: 600; }
.state::before {
  content: ''; display: inline-block; width: 0.65em; height: 0.65em; margin-inline-end: 0.45em;
  border-radius: 50%; background: currentColor;
}
.state[data-state='serving'] { color: var(--good); }
.state[data-state='starting'], .state[data-state='draining'] { color: var(--warn); }
.state[data-state='degraded'], .state[data-state='silent'] { color: var(--bad); }
.about { color: var(--soft); }
.problems {
  border-inline-start: 4px solid var(--bad); padding: 0.5rem 1rem; margin: 0 0 1rem;
  background: var(--panel); list-style: none;
}
.problems:empty { display: none; }
.problems .section { color: var(--soft); font-size: 0.8125rem; margin-inline-start: 0.5rem; }
.panels { display: grid; gap: 1rem; }
@media (min-width: 46rem) {
  .panels { grid-template-columns: 1fr 1fr; }
  .panels > :last-child:nth-child(odd), .details > * { grid-column: 1 / -1; }
}
@media (min-width: 70rem) {
  .panels { grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); }
  .panels > :last-child:nth-child(odd) { grid-column: auto; }
  .details { grid-template-columns: 2fr 1fr; }
  .details > :nth-child(n) { grid-column: auto; }
  .panels > :only-child {
    display: grid; grid-template-columns: 2fr 1fr; column-gap: 2rem; align-items: start;
  }
  .panels > :only-child h3 { grid-column: 1 / -1; }
}
main.stale .chart { filter: grayscale(1); opacity: 0.5; }
.panel {
  background: var(--panel); border: 1px solid var(--line); border-radius: 0.5rem;
  padding: 0.875rem 1rem; min-width: 0; display: flex; flex-direction: column;
}
table { border-collapse: collapse; width: 100%; }
th, td { text-align: start; padding: 0.2rem 0; vertical-align: top; }
th { font-weight: 400; color: var(--soft); padding-inline-end: 1rem; }
td { text-align: end; overflow-wrap: anywhere; }
tr + tr > * { border-top: 1px solid var(--line); }
.caption { color: var(--soft); font-size: 0.8125rem; margin-bottom: 0.25rem; }
#figures {
  display: grid; gap: 0.75rem 1.5rem; margin-block: 0 1.25rem;
  grid-template-columns: repeat(2, minmax(0, 1fr));
}
@media (min-width: 46rem) { #figures { grid-template-columns: repeat(4, minmax(0, 1fr)); } }
@media (min-width: 70rem) { #figures { grid-template-columns: repeat(8, minmax(0, 1fr)); } }
#figures dt { color: var(--soft); font-size: 0.8125rem; }
#figures dd { margin: 0; font-size: 1.375rem; font-weight: 600; line-height: 1.2; }
#figures dd span { display: block; font-size: 0.8125rem; }
#figures .near { color: var(--bad); }
.spark svg { display: block; width: 100%; height: 1.75rem; }
.spark path {
  fill: none; stroke: var(--line-1); stroke-width: 1.25; vector-effect: non-scaling-stroke;
}
.facts { margin-top: 0.5rem; }
.facts td { font-weight: 600; white-space: nowrap; }
td.bad { color: var(--bad); }
.scroll { overflow: auto; max-height: 30rem; margin-top: 0.5rem; }
.wide th, .wide td { padding-inline-end: 1.25rem; white-space: nowrap; }
.wide td { font-weight: 400; }
.wide thead th { text-align: end; }
#errors :is(th, td) { text-align: start; }
.wide thead th:first-child { text-align: start; }
.wide tbody th { color: var(--text); }
.wide th:last-child, .wide td:last-child { padding-inline-end: 0.25rem; }
.drawing { flex: 1; display: flex; flex-direction: column; }
.box { position: relative; flex: 1; min-height: 10rem; }
.chart { position: absolute; inset: 0; }
.box:has(.no-data:not(:empty)) .chart { visibility: hidden; }
.no-data {
  position: absolute; inset: 40% 0 auto; text-align: center; color: var(--soft);
  font-size: 0.8125rem; pointer-events: none;
}
.legend {
  display: flex; flex-wrap: wrap; gap: 0 1rem; list-style: none; margin: 0.25rem 0 0; padding: 0;
  font-size: 0.8125rem; color: var(--soft);
}
.legend b { color: var(--text); font-weight: 600; }
.swatch {
  display: inline-block; width: 0.9rem; height: 0.2rem; margin-inline-end: 0.4rem;
  vertical-align: middle; border-radius: 0.1rem;
}
.color-0 { background: var(--line-1); } .color-1 { background: var(--line-2); }
.color-2 { background: var(--line-3); } .color-3 { background: var(--line-4); }
.color-4 { background: var(--line-5); } .color-5 { background: var(--line-6); }
footer { color: var(--soft); font-size: 0.8125rem; padding-block: 1.5rem; }
`
