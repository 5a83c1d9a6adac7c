// What the dashboard shows of a status: the figures at its top, and groups of panels, each with a
// chart, rows, or both. page.ts renders it.
//
// P1. A value is shown once: a legend has what a chart draws, and rows have everything else.
// P2. Zero is 0 and what was not measured is – (units.ts). A chart without any value says why.

import {
  type Chart,
  emptyOf,
  type Line,
  type Status,
} from '../../people/browser/dashboard/status.ts'
import {
  bytes,
  count,
  duration,
  latency,
  percent,
  rate,
  type Unit,
} from '../../people/browser/dashboard/units.ts'

export interface Figure {
  name: string
  value: string
  /** The column that its line draws. */
  column: string
  /** The limit in words, if the value is near it. */
  near: string
}

export interface Group {
  title: string
  panels: Panel[]
}

export interface Panel {
  id: string
  title: string
  chart: Chart
  rows: readonly Row[]
}

interface Row {
  name: string
  value: string
  /** Whether the value needs attention. */
  isBad: boolean
}

/** The part of a limit from which a value is near it. */
const nearLimit = 0.9
const linesOfRoutes = 5
const slowRoutes = 3
const linesOfRefusals = 6
const callersShown = 3

type Limited = Status['load']['gate']

export function isNear({ now, max }: Limited): boolean {
  return now !== null && max !== null && now > 0 && now >= nearLimit * max
}

/** Returns the numbers at the top, which are the same on every node. */
export function figuresOf(status: Status): Figure[] {
  const { content, load, memory } = status
  const of = columnsOf(status)
  const figure = (name: string, value: string, column: string, near = ''): Figure => {
    return { name, value, column, near }
  }
  const limited = (name: string, unit: Unit, held: Limited, column: string) => {
    const near = isNear(held) ? `near its limit, ${unit(held.max)}` : ''
    return figure(name, unit(held.now), column, near)
  }
  return [
    figure('answers a second', rate(of('requests')), 'requests'),
    figure('p99 to answer', latency(of('p99')), 'p99'),
    figure('records a second', rate(of('records')), 'records'),
    limited('waiting polls', count, load.waiting, 'waiting'),
    limited('memory', bytes, memory.resident_bytes, 'resident'),
    figure('messages', count(content.messages), 'messages'),
    figure('threads', count(content.threads), 'threads'),
    figure('identities', count(content.identities), 'identities'),
  ]
}

/** Returns the groups that have panels on this node, in the order of the page. */
export function groupsOf(status: Status): Group[] {
  const groups = [
    { title: 'Traffic', panels: [requests(status), times(status), refusals(status)] },
    { title: 'Durability', panels: [log(status), syncs(status), checkpoints(status)] },
    { title: 'Capacity', panels: [memory(status), waiting(status), eventLoop(status)] },
    { title: 'Search and readers', panels: [...search(status), ...readers(status)] },
    { title: 'Replication', panels: replication(status) },
  ]
  return groups.filter(({ panels }) => panels.length > 0)
}

function requests(status: Status): Panel {
  const { routes } = status
  const failed = columnsOf(status)('failed')
  const busiest = routes
    .slice(0, linesOfRoutes)
    .map(({ route }) => line(route, `requests:${route}`))
  const lines = [line('all routes', 'requests'), ...busiest]
  const answered = routes.reduce((sum, { answers }) => sum + answers, 0)
  return panel('requests', 'Requests', chart('Answers a second', 'rate', lines), [
    row('Failed (5xx) a second', rate(failed), failed !== 0),
    row('Answered since the start', count(answered)),
  ])
}

function times({ routes }: Status): Panel {
  const slowest = routes
    .filter(({ p99_seconds }) => p99_seconds !== null)
    .sort((a, b) => b.p99_seconds! - a.p99_seconds!)
    .slice(0, slowRoutes)
  const own = slowest.map(({ route }) => line(`p99 of ${route}`, `p99:${route}`))
  const lines = [...quantiles(''), ...own]
  const rows = slowest.map(({ route, p99_seconds }) => {
    return row(`p99 of ${route} since the start`, latency(p99_seconds))
  })
  const drawn = chart('All routes, and the slowest ones', 'latency', lines)
  return panel('times', 'Time to answer', drawn, rows)
}

function refusals({ refusals, refused_callers, latest }: Status): Panel {
  const known = Object.entries(refusals).filter(([, value]) => value > 0)
  const most = known.sort(([, a], [, b]) => b - a).slice(0, linesOfRefusals)
  const lines = most.map(([why]) => line(why, `refusals:${why}`))
  const none = 'None since the start'
  const drawn = chart('Refusals a second because of a limit', 'rate', lines, none)
  return panel('refusals', 'Refusals', drawn, [
    ...most.map(([why, value]) => {
      return row(`${worded(why)}, since the start`, count(value), !!latest[`refusals:${why}`])
    }),
    ...refused_callers.slice(0, callersShown).map(({ identity, refused }) => {
      return row(`Identity ${count(identity)}, by rate limits`, count(refused))
    }),
  ])
}

function log({ log }: Status): Panel {
  const pending = log && (log.position ?? 0) - (log.durable_position ?? 0)
  const health = log?.health ?? 'not open yet'
  const lines = [line('records', 'records')]
  return panel('log', 'Log', chart('Records a second that became durable', 'rate', lines), [
    row('Durable position', count(log?.durable_position)),
    row('Records not durable yet', count(pending)),
    row('Storage', health, log !== null && health !== 'ok'),
  ])
}

const daysLeftMin = 7
const daySeconds = 86_400

/** Returns whether the disk will be full soon if it goes on filling up as it has. */
export function isFillingUp({ disk }: Status): boolean {
  return disk.full_in_seconds !== null && disk.full_in_seconds < daysLeftMin * daySeconds
}

function syncs(status: Status): Panel {
  const { free_bytes, full_in_seconds } = status.disk
  const none = 'No syncs in the last ten minutes'
  const drawn = chart('How long a sync of the log takes', 'latency', quantiles('sync_'), none)
  return panel('syncs', 'Disk', drawn, [
    row('Left', bytes(free_bytes)),
    row('Full at this rate in', duration(full_in_seconds), isFillingUp(status)),
    row('Written to the log', bytes(status.log?.bytes)),
  ])
}

function checkpoints({ checkpoints: shown }: Status): Panel {
  const { taken, failed } = shown
  const lines = [line('records', 'behind')]
  const drawn = chart('Records that a start would replay', 'count', lines)
  return panel('checkpoints', 'Checkpoints', drawn, [
    row('Age of the newest', duration(shown.age_seconds)),
    row('Duration', latency(shown.duration_seconds)),
    row('Written', bytes(shown.bytes)),
    row('Taken, failed', `${count(taken)}, ${count(failed)}`, failed! > 0),
  ])
}

function memory({ memory }: Status): Panel {
  const lines = [
    line('resident', 'resident', memory.resident_bytes.max),
    line('text', 'text', memory.text_bytes.max),
  ]
  const drawn = chart('Memory, and its limits where they are near', 'bytes', lines)
  return panel('memory', 'Memory', drawn, [
    limitRow('JavaScript heap', bytes, memory.heap_bytes),
    row('All text', bytes(memory.text_total_bytes)),
  ])
}

function waiting({ load }: Status): Panel {
  const lines = [
    line('waiting polls', 'waiting', load.waiting.max),
    line('connections', 'connections', load.connections.max),
  ]
  return panel('waiting', 'Waiting', chart('Waiting polls and connections', 'count', lines), [
    limitRow('Answers waiting for the log', count, load.gate),
    limitRow('Requests waiting for old text', count, load.cold_reads),
    limitRow('Bodies and answers', bytes, load.queue_bytes),
  ])
}

function eventLoop(status: Status): Panel {
  const lines = [line('p50', 'loop_p50'), line('at most', 'loop_max')]
  return panel('loop', 'Event loop', chart('How late it runs', 'latency', lines), [
    row('Processor', percent(columnsOf(status)('cpu'))),
  ])
}

function search(status: Status): Panel[] {
  const { search } = status
  if (search === null) return []
  const lines = [line('messages', 'search_missing')]
  const drawn = chart('Messages that are not indexed yet', 'count', lines)
  const rows = [
    row('Messages indexed', count(search.messages)),
    row('Engine', search.engine || 'none'),
    row('Files, memory', `${bytes(search.bytes)}, ${bytes(search.resident_bytes)}`),
    row('Processor', percent(columnsOf(status)('search_cpu'))),
    row('Started again', count(search.restarts), search.restarts! > 0),
  ]
  return [panel('search', 'Search', drawn, rows)]
}

function readers(status: Status): Panel[] {
  const { readers } = status
  if (readers === null) return []
  const { serving, configured, restarts } = readers
  const of = columnsOf(status)
  const lines = [line('records', 'readers_behind')]
  const drawn = chart('Records that the slowest reader is behind', 'count', lines)
  const rows = [
    row('Serve', `${count(serving)} of ${count(configured)}`, serving! < configured!),
    row('Requests a second passed on', rate(of('readers_forwarded'))),
    row('Memory, together', bytes(readers.resident_bytes)),
    row('Processor, together', percent(of('readers_cpu'))),
    row('Started again', count(restarts), restarts! > 0),
  ]
  return [panel('readers', 'Readers', drawn, rows)]
}

function replication({ replication }: Status): Panel[] {
  if (replication === null) return []
  const { role, node, leader, takeovers, fenced } = replication
  const leads = role === 'leader'
  const behind = leads ? 'Records that the stream lacks' : 'Records behind the stream'
  const drawn = chart(behind, 'count', [line('records', 'lag')])
  const rows = [
    row('Leads', leads ? `this node, ${node}` : leader),
    row('Term', count(replication.term)),
    row('Missing for', latency(replication.lag_seconds)),
    row('Requests passed on to the leader', count(replication.forwarded)),
    row('Took over, was replaced', `${count(takeovers)}, ${count(fenced)}`),
  ]
  return [panel('replication', 'Replication', drawn, rows)]
}

function panel(id: string, title: string, chart: Chart, rows: Panel['rows']): Panel {
  return { id, title, chart, rows }
}

/** Returns the newest value of a column: a number, or null for a time that was not measured. */
function columnsOf({ latest }: Status): (column: string) => number | null {
  return (column) => latest[column] ?? emptyOf(column)
}

const noRequests = 'No requests in the last ten minutes'

function chart(
  title: string,
  unit: Chart['unit'],
  lines: readonly Line[],
  noData = noRequests,
): Chart {
  return { title, unit, lines, noData }
}

function quantiles(prefix: string): Line[] {
  return ['p50', 'p99'].map((name) => line(name, `${prefix}${name}`))
}

function line(label: string, column: string, max?: number | null): Line {
  return { label: worded(label), column, ...(max != null && { max }) }
}

function row(name: string, value: string, isBad = false): Row {
  return { name, value, isBad }
}

function limitRow(name: string, unit: Unit, held: Limited): Row {
  const limit = held.max === null ? '' : ` of ${unit(held.max)}`
  return row(name, `${unit(held.now)}${limit}`, isNear(held))
}

export function worded(name: string): string {
  return name.replaceAll('_', ' ')
}
