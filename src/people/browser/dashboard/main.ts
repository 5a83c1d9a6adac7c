// The live dashboard: while the page is visible, it takes over the parts of a newer page every
// second (operators/ops/page.ts), and draws charts of what /status.json has.
//
// M1. Only samples that the page does not have yet are requested.
// M2. If the node does not answer, the page keeps its numbers, and shows since when it has had no
//     answer.
// M3. A node of another version, or with other panels, has another page, so the page is reloaded.

import { whileVisible } from '../while-visible.ts'
import { ChartView, drawSparks, type Timeline } from './charts.ts'
import { byId } from './elements.ts'
import { History } from './history.ts'
import type { Chart, Status } from './status.ts'
import { clockWithSeconds } from './units.ts'

const pauseMs = 1_000
const patienceMs = 5_000
/** The start of a process is known to about this many seconds only, because answers take time. */
const clockSlackSeconds = 2

const timeline: Timeline = { history: new History(), startedAt: 0 }
const charts = new Map<string, ChartView>()
/** The start of the process that took the samples, in milliseconds since 1970. */
let processStart = 0
let silentSince: Date | null = null

whileVisible(pauseMs, renew)

async function renew(): Promise<void> {
  const begun = new Date()
  let status: Status
  let page: Document
  try {
    status = await readStatus(timeline.history.last)
    if (processStart !== status.node.started_at) status = await restart()
    page = new DOMParser().parseFromString(await read('/').then((it) => it.text()), 'text/html')
  } catch (error) {
    silentSince ??= begun
    return showSilence(silentSince, error as Error)
  }
  silentSince = null
  if (keyOf(page) !== keyOf(document)) return location.reload()
  accept(status)
  takeOver(page)
}

async function read(path: string): Promise<Response> {
  const answer = await fetch(path, { signal: AbortSignal.timeout(patienceMs) })
  if (!answer.ok) throw new Error(`it answers ${answer.status}`)
  return answer
}

async function readStatus(after: number): Promise<Status> {
  return (await read(`/status.json?after=${after}`)).json()
}

/** Reads the samples of another process from the beginning, because they start at 1 again. */
async function restart(): Promise<Status> {
  timeline.history.clear()
  timeline.startedAt = 0
  const status = await readStatus(0)
  processStart = status.node.started_at
  return status
}

/** Returns the version of the page and its panels (M3). */
function keyOf({ body }: Document): string {
  const panels = Array.from(body.querySelectorAll('.panel'), ({ id }) => id)
  return `${body.dataset.version} ${panels}`
}

function accept({ node, series }: Status): void {
  const startedAt = Date.now() / 1000 - node.uptime_seconds
  if (Math.abs(startedAt - timeline.startedAt) > clockSlackSeconds) timeline.startedAt = startedAt
  timeline.history.add(series)
}

/** Shows what a newer page of the same kind shows. */
function takeOver(page: Document): void {
  byId('silence').hidden = true
  document.querySelector('main')!.classList.remove('stale')
  document.title = page.title
  for (const newer of page.querySelectorAll('[data-live]')) {
    const part = byId(newer.id)
    if (part.isEqualNode(newer)) continue
    part.className = newer.className
    for (const { name, value } of newer.attributes) part.setAttribute(name, value)
    part.replaceChildren(...newer.childNodes)
  }
  for (const { id, dataset } of page.querySelectorAll<HTMLElement>('[data-chart]')) {
    const chart: Chart = JSON.parse(dataset.chart!)
    const view = charts.get(id) ?? new ChartView(byId(id), chart, timeline)
    charts.set(id, view)
    view.update(chart)
  }
  drawSparks(timeline.history)
}

function showSilence(since: Date, { name, message }: Error): void {
  const state = byId('state')
  state.dataset.state = 'silent'
  state.textContent = 'No answer'
  document.title = 'No answer – Agent Forum'
  const silence = byId('silence')
  const why = message.startsWith('it answers') || name === 'SyntaxError' ? ` (${message})` : ''
  const text = `The node has not answered since ${clockWithSeconds.format(since)}${why}.`
  if (silence.hidden || silence.textContent !== text) silence.textContent = text
  silence.hidden = false
  byId('problems').replaceChildren()
  document.querySelector('main')!.classList.add('stale')
}
