// The files that the dashboard loads: scripts as they were compiled, and uPlot from its package.
// They are read once.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { style } from './style.ts'

export interface File {
  type: string
  body: string
}

const scriptType = 'text/javascript; charset=utf-8'
const styleType = 'text/css; charset=utf-8'

/** What main.js imports, and what that imports: as many as there are in browser/. */
const modules = [
  'while-visible',
  'dashboard/charts',
  'dashboard/elements',
  'dashboard/history',
  'dashboard/main',
  'dashboard/routes',
  'dashboard/status',
  'dashboard/units',
]

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="3" fill="#0a58a5"/>
<path d="M2.5 10.5h2.5l2-6 2.5 8 1.5-4h2.5" fill="none" stroke="#fff" stroke-width="1.5"/>
</svg>
`

/** The files by their path. */
export function dashboardFiles(): ReadonlyMap<string, File> {
  const { resolve } = createRequire(import.meta.url)
  const plot = (name: string) => readFileSync(resolve(`uplot/dist/${name}`), 'utf8')
  const scripts = modules.map((name): [string, File] => {
    const text = readFileSync(new URL(`../browser/${name}.js`, import.meta.url), 'utf8')
    const body = text.replace(/^\/\/# sourceMappingURL=.*\n?/m, '')
    return [`/${name}.js`, { type: scriptType, body }]
  })
  return new Map([
    ...scripts,
    ['/uplot.js', { type: scriptType, body: plot('uPlot.iife.min.js') }],
    ['/uplot.css', { type: styleType, body: plot('uPlot.min.css') }],
    ['/style.css', { type: styleType, body: style }],
    ['/icon.svg', { type: 'image/svg+xml', body: icon }],
  ])
}
