// The live dashboard: reads /status.json every second while the page is visible, refreshes the
// tables that the node wrote into the page, and draws charts.
//
// M1. Only samples that the page does not have yet are requested.
// M2. If the node does not answer, the page keeps its numbers, and shows since when it has had no
//     answer.
// M3. A node of another version has another page, so the page is reloaded.

import { whileVisible } from '../while-visible.ts'
import { ChartView, type Timeline } from './charts.ts'
import { byId, element } from './elements.ts'
import { History } from './history.ts'
import { routeName, routeRows } from './routes.ts'
import type { Panel, Status } from './status.ts'
import { clockWithSeconds, units } from './units.ts'

const pauseMs = 1_000
const patienceMs = 5_000
/** The start of a process is known to about this many seconds only, because answers take time. */
const clockSlackSeconds = 2

const timeline: Timeline = { history: new History(), startedAt: 0 }
const charts = new Map<string, ChartView>()
/** The route whose times are drawn, or '' for all routes. */
let route = ''
/** The start of the process that took the samples, in milliseconds since 1970. */
let processStart = 0
let newest: Status | null = null
let silentSince: Date | null = null

const routeChoice = element('select', { 'aria-label': 'Route' }, [
  element('option', { value: '' }, ['all routes']),
])
routeChoice.addEventListener('change', () => {
  route = routeChoice.value
  if (newest !== null) render(newest)
})
byId('times-title').parentElement!.append(routeChoice)

whileVisible(pauseMs, renew)

async function renew(): Promise<void> {
  const begun = new Date()
  let status: Status
  try {
    status = await read(timeline.history.last)
    if (processStart !== status.node.started_at) status = await restart()
  } catch (error) {
    silentSince ??= begun
    return showSilence(silentSince, error as Error)
  }
  silentSince = null
  if (status.node.version !== document.body.dataset.version) return location.reload()
  accept(status)
}

async function read(after: number): Promise<Status> {
  const signal = AbortSignal.timeout(patienceMs)
  const answer = await fetch(`/status.json?after=${after}`, { signal })
  if (!answer.ok) throw new Error(`it answers ${answer.status}`)
  return answer.json()
}

/** Reads the samples of another process from the beginning, because they start at 1 again. */
async function restart(): Promise<Status> {
  timeline.history.clear()
  timeline.startedAt = 0
  const status = await read(0)
  processStart = status.node.started_at
  return status
}

function accept(status: Status): void {
  const startedAt = Date.now() / 1000 - status.node.uptime_seconds
  if (Math.abs(startedAt - timeline.startedAt) > clockSlackSeconds) timeline.startedAt = startedAt
  timeline.history.add(status.series)
  newest = status
  render(status)
}

function render(status: Status): void {
  const { ready, page } = status
  showState(ready.state, page.state)
  byId('uptime').textContent = page.uptime
  byId('silence').hidden = true
  byId('readiness').hidden = ready.state === 'serving'
  byId('readiness').textContent = ready.text
  document.querySelector('main')!.classList.remove('stale')
  renewChoice(status)
  for (const [i, { value }] of page.headline.entries()) {
    byId('headline').children[i].lastElementChild!.textContent = value
  }
  for (const panel of page.panels) renewPanel(panel.id === 'times' ? ofRoute(panel, status) : panel)
  renewRoutes(status)
}

/** Changes the announced state, but only to a different one. */
function showState(state: string, name: string): void {
  const shown = byId('state')
  if (shown.dataset.state === state) return
  shown.dataset.state = state
  shown.textContent = name
  document.title = `${name} – Agent Forum`
}

function showSilence(since: Date, { name, message }: Error): void {
  showState('silent', 'No answer')
  const silence = byId('silence')
  const why = message.startsWith('it answers') || name === 'SyntaxError' ? ` (${message})` : ''
  const text = `The node has not answered since ${clockWithSeconds.format(since)}${why}.`
  if (silence.hidden || silence.textContent !== text) silence.textContent = text
  silence.hidden = false
  byId('readiness').hidden = true
  document.querySelector('main')!.classList.add('stale')
}

function renewChoice({ routes }: Status): void {
  const known = new Set([...routeChoice.options].map(({ value }) => value))
  for (const { route } of routes) {
    if (!known.has(route))
      routeChoice.append(element('option', { value: route }, [routeName(route)]))
  }
}

/** Returns the panel of times for the chosen route. Its facts show the columns of its lines. */
function ofRoute(panel: Panel, { latest }: Status): Panel {
  if (route === '') return panel
  const { title, unit } = panel.chart
  const lines = panel.chart.lines.map((line) => ({ ...line, column: `${line.column}:${route}` }))
  const facts = panel.facts.map((fact, i) => {
    return { ...fact, value: units[unit](latest[lines[i].column]) }
  })
  return {
    ...panel,
    facts,
    chart: { title: title.replace('all routes', routeName(route)), unit, lines },
  }
}

function renewPanel({ id, title, facts, chart }: Panel): void {
  const section = document.getElementById(id) ?? addPanel(id, title)
  const rows = facts.map(({ name, value, isBad = false }) => {
    const cell = element('td', isBad ? { class: 'bad' } : {}, [value])
    return element('tr', {}, [element('th', { scope: 'row' }, [name]), cell])
  })
  const table = section.querySelector<HTMLTableElement>('table.facts')!
  table.tBodies[0].replaceChildren(...rows)
  let view = charts.get(id)
  if (view === undefined) {
    view = new ChartView(chart, timeline)
    charts.set(id, view)
    table.before(view.figure)
  }
  view.update(chart, timeline)
}

/** Adds a panel that did not exist when the node wrote the page. */
function addPanel(id: string, title: string): HTMLElement {
  const heading = element('h2', { id: `${id}-title` }, [title])
  const named = { 'aria-labelledby': `${id}-title` }
  const section = element('section', { class: 'panel', id, ...named }, [
    element('div', { class: 'panel-title' }, [heading]),
    element('table', { class: 'facts', ...named }, [element('tbody', {})]),
  ])
  byId('routes').before(section)
  return section
}

function renewRoutes(status: Status): void {
  const rows = routeRows(status).map(([route, ...cells]) =>
    element('tr', {}, [
      element('th', { scope: 'row' }, [route!]),
      ...cells.map((cell) => element('td', {}, [cell])),
    ]),
  )
  byId('routes')
    .querySelector('tbody')!
    .replaceChildren(...rows)
}
