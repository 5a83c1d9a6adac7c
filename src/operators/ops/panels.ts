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
  const answered = routes.reduce((sum, { answers }) => sum + answers, 0)
  return {
    id: 'requests',
    title: 'Requests',
    chart: chart('Answers a second', 'rate', [line('all routes', 'requests'), ...busiest]),
    rows: [
      row('Failed (5xx) a second', rate(failed), failed !== 0),
      row('Answered since the start', count(answered)),
    ],
  }
}

function times({ routes }: Status): Panel {
  const slowest = routes
    .filter(({ p99_seconds }) => p99_seconds !== null)
    .sort((a, b) => b.p99_seconds! - a.p99_seconds!)
    .slice(0, slowRoutes)
  const lines = slowest.map(({ route }) => line(`p99 of ${route}`, `p99:${route}`))
  return {
    id: 'times',
    title: 'Time to answer',
    chart: chart('All routes, and the slowest ones', 'latency', [
      line('p50', 'p50'),
      line('p99', 'p99'),
      ...lines,
    ]),
    rows: slowest.map(({ route, p99_seconds }) => {
      return row(`p99 of ${route} since the start`, latency(p99_seconds))
    }),
  }
}

function refusals({ refusals, refused_callers, latest }: Status): Panel {
  const known = Object.entries(refusals).filter(([, value]) => value > 0)
  const most = known.sort(([, a], [, b]) => b - a).slice(0, linesOfRefusals)
  const callers = refused_callers.slice(0, callersShown).map(({ identity, refused }) => {
    return row(`Identity ${count(identity)}, by rate limits`, count(refused))
  })
  return {
    id: 'refusals',
    title: 'Refusals',
    chart: {
      ...chart(
        'Refusals a second because of a limit',
        'rate',
        most.map(([why]) => line(why, `refusals:${why}`)),
      ),
      noData: 'None since the start',
    },
    rows: [
      ...most.map(([why, value]) => {
        return row(`${worded(why)}, since the start`, count(value), !!latest[`refusals:${why}`])
      }),
      ...callers,
    ],
  }
}

function log({ log }: Status): Panel {
  const pending = log && (log.position ?? 0) - (log.durable_position ?? 0)
  const health = log?.health ?? 'not open yet'
  return {
    id: 'log',
    title: 'Log',
    chart: chart('Records a second that became durable', 'rate', [line('records', 'records')]),
    rows: [
      row('Durable position', count(log?.durable_position)),
      row('Records not durable yet', count(pending)),
      row('Storage', health, log !== null && health !== 'ok'),
    ],
  }
}

const daysLeftMin = 7
const daySeconds = 86_400

/** Returns whether the disk will be full soon if it goes on filling up as it has. */
export function isFillingUp({ disk }: Status): boolean {
  return disk.full_in_seconds !== null && disk.full_in_seconds < daysLeftMin * daySeconds
}

function syncs(status: Status): Panel {
  const { free_bytes, full_in_seconds } = status.disk
  return {
    id: 'syncs',
    title: 'Disk',
    chart: {
      ...chart('How long a sync of the log takes', 'latency', [
        line('p50', 'sync_p50'),
        line('p99', 'sync_p99'),
      ]),
      noData: 'No syncs in the last ten minutes',
    },
    rows: [
      row('Left', bytes(free_bytes)),
      row('Full at this rate in', duration(full_in_seconds), isFillingUp(status)),
      row('Written to the log', bytes(status.log?.bytes)),
    ],
  }
}

function checkpoints({ checkpoints: shown }: Status): Panel {
  const { age_seconds, duration_seconds, bytes: written, taken, failed } = shown
  return {
    id: 'checkpoints',
    title: 'Checkpoints',
    chart: chart('Records that a start would replay', 'count', [line('records', 'behind')]),
    rows: [
      row('Age of the newest', duration(age_seconds)),
      row('Duration', latency(duration_seconds)),
      row('Written', bytes(written)),
      row('Taken, failed', `${count(taken)}, ${count(failed)}`, failed! > 0),
    ],
  }
}

function memory({ memory }: Status): Panel {
  const { resident_bytes, text_bytes, text_total_bytes, heap_bytes } = memory
  return {
    id: 'memory',
    title: 'Memory',
    chart: chart('Memory, and its limits where they are near', 'bytes', [
      line('resident', 'resident', resident_bytes.max),
      line('text', 'text', text_bytes.max),
    ]),
    rows: [
      limitRow('JavaScript heap', bytes, heap_bytes),
      row('All text', bytes(text_total_bytes)),
    ],
  }
}

function waiting({ load }: Status): Panel {
  return {
    id: 'waiting',
    title: 'Waiting',
    chart: chart('Waiting polls and connections', 'count', [
      line('waiting polls', 'waiting', load.waiting.max),
      line('connections', 'connections', load.connections.max),
    ]),
    rows: [
      limitRow('Answers waiting for the log', count, load.gate),
      limitRow('Requests waiting for old text', count, load.cold_reads),
      limitRow('Bodies and answers', bytes, load.queue_bytes),
    ],
  }
}

function eventLoop(status: Status): Panel {
  return {
    id: 'loop',
    title: 'Event loop',
    chart: chart('How late it runs', 'latency', [
      line('p50', 'loop_p50'),
      line('at most', 'loop_max'),
    ]),
    rows: [row('Processor', percent(columnsOf(status)('cpu')))],
  }
}

function search(status: Status): Panel[] {
  const { search } = status
  if (search === null) return []
  const cpu = columnsOf(status)('search_cpu')
  return [
    {
      id: 'search',
      title: 'Search',
      chart: chart('Messages that are not indexed yet', 'count', [
        line('messages', 'search_missing'),
      ]),
      rows: [
        row('Messages indexed', count(search.messages)),
        row('Engine', search.engine || 'none'),
        row('Files, memory', `${bytes(search.bytes)}, ${bytes(search.resident_bytes)}`),
        row('Processor', percent(cpu)),
        row('Started again', count(search.restarts), search.restarts! > 0),
      ],
    },
  ]
}

function readers(status: Status): Panel[] {
  const { readers } = status
  if (readers === null) return []
  const { serving, configured, resident_bytes, restarts } = readers
  const of = columnsOf(status)
  return [
    {
      id: 'readers',
      title: 'Readers',
      chart: chart('Records that the slowest reader is behind', 'count', [
        line('records', 'readers_behind'),
      ]),
      rows: [
        row('Serve', `${count(serving)} of ${count(configured)}`, serving! < configured!),
        row('Requests a second passed on', rate(of('readers_forwarded'))),
        row('Memory, together', bytes(resident_bytes)),
        row('Processor, together', percent(of('readers_cpu'))),
        row('Started again', count(restarts), restarts! > 0),
      ],
    },
  ]
}

function replication({ replication }: Status): Panel[] {
  if (replication === null) return []
  const { role, node, leader, term, lag_seconds, forwarded, takeovers, fenced } = replication
  const leads = role === 'leader'
  const behind = leads ? 'Records that the stream lacks' : 'Records behind the stream'
  return [
    {
      id: 'replication',
      title: 'Replication',
      chart: chart(behind, 'count', [line('records', 'lag')]),
      rows: [
        row('Leads', leads ? `this node, ${node}` : leader),
        row('Term', count(term)),
        row('Missing for', latency(lag_seconds)),
        row('Requests passed on to the leader', count(forwarded)),
        row('Took over, was replaced', `${count(takeovers)}, ${count(fenced)}`),
      ],
    },
  ]
}

/** Returns the newest value of a column: a number, or null for a time that was not measured. */
function columnsOf({ latest }: Status): (column: string) => number | null {
  return (column) => latest[column] ?? emptyOf(column)
}

function chart(title: string, unit: Chart['unit'], lines: readonly Line[]): Chart {
  return { title, unit, lines, noData: 'No requests in the last ten minutes' }
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

/** Returns a name of the program in words. */
export function worded(name: string): string {
  return name.replaceAll('_', ' ')
}
