// What the dashboard shows of a status: panels, each with facts and the lines that its chart draws.
// The node writes the same facts into its page, for browsers without scripts.
//
// P1. A panel is added to the list here: the page, its tables and its charts follow.

import { held, type Line, type Panel } from './panel.ts'
import { readers, replication } from './processes.ts'
import type { Held, Status } from './status.ts'
import { bytes, count, duration, latency, percent, rate, unknown } from './units.ts'

const linesMax = 5

/** The panels, in their order. `route`: the one whose times are drawn; '': all together. */
export function panelsOf(status: Status, route = ''): Panel[] {
  return [
    requests(status),
    times(status, route),
    log(status),
    syncs(status),
    waiting(status),
    memory(status),
    eventLoop(status),
    refusals(status),
    checkpoints(status),
    ...readers(status),
    ...replication(status),
  ]
}

function requests({ latest, load, routes }: Status): Panel {
  const busiest = routes.slice(0, linesMax).map(({ route }) => {
    return { label: route, column: `requests:${route}` }
  })
  const answers = routes.reduce((sum, { answers }) => sum + answers, 0)
  return {
    id: 'requests',
    title: 'Requests',
    facts: [
      { name: 'Answered a second', value: rate(latest.requests ?? 0) },
      { name: 'Failed (5xx) a second', value: rate(latest.failed ?? 0), isBad: !!latest.failed },
      { name: 'Answered since the start', value: count(answers) },
      { name: 'Open connections', ...held(load.connections, count) },
    ],
    chart: {
      title: 'Answers a second',
      unit: rate,
      lines: [{ label: 'all routes', column: 'requests' }, ...busiest],
    },
  }
}

function times({ latest }: Status, route: string): Panel {
  const of = route === '' ? '' : `:${route}`
  return {
    id: 'times',
    title: 'Time to answer',
    facts: [
      { name: 'Half are faster than', value: latency(latest[`p50${of}`]) },
      { name: '99 of 100 are faster than', value: latency(latest[`p99${of}`]) },
    ],
    chart: {
      title: `How long answers take, ${route === '' ? 'all routes' : route}`,
      unit: latency,
      lines: [
        { label: 'p50', column: `p50${of}` },
        { label: 'p99', column: `p99${of}` },
      ],
    },
  }
}

function log({ log }: Status): Panel {
  const isBad = log !== null && log.health !== 'ok'
  const behind = log === null ? null : log.position - log.durable_position
  return {
    id: 'log',
    title: 'Log',
    facts: [
      { name: 'Durable position', value: count(log?.durable_position) },
      { name: 'Records not durable yet', value: count(behind) },
      { name: 'Storage', value: log?.health ?? 'not open yet', isBad },
    ],
    chart: {
      title: 'Records a second that became durable',
      unit: rate,
      lines: [{ label: 'records', column: 'records' }],
    },
  }
}

function syncs({ latest }: Status): Panel {
  return {
    id: 'syncs',
    title: 'Syncs',
    facts: [
      { name: 'Half are faster than', value: latency(latest.sync_p50) },
      { name: '99 of 100 are faster than', value: latency(latest.sync_p99) },
    ],
    chart: {
      title: 'How long a sync of the log takes',
      unit: latency,
      lines: [
        { label: 'p50', column: 'sync_p50' },
        { label: 'p99', column: 'sync_p99' },
      ],
    },
  }
}

function waiting({ load }: Status): Panel {
  return {
    id: 'waiting',
    title: 'Waiting',
    facts: [
      { name: 'Polls that wait for news', ...held(load.waiting, count) },
      { name: 'Answers that wait for the log', ...held(load.gate, count) },
      { name: 'Requests that wait for old text', ...held(load.cold_reads, count) },
      { name: 'Bodies and answers in memory', ...held(load.queue_bytes, bytes) },
    ],
    chart: {
      title: 'Waiting polls and connections',
      unit: count,
      lines: [
        { label: 'waiting polls', column: 'waiting' },
        { label: 'connections', column: 'connections' },
      ],
    },
  }
}

function memory({ memory }: Status): Panel {
  const { resident_bytes, heap_bytes, text_bytes, text_total_bytes } = memory
  return {
    id: 'memory',
    title: 'Memory',
    facts: [
      { name: 'Resident', ...held(resident_bytes, bytes) },
      { name: 'Text in memory', value: held(text_bytes, bytes).value },
      { name: 'All text', value: bytes(text_total_bytes) },
      { name: 'JavaScript heap', ...held(heap_bytes, bytes) },
    ],
    chart: {
      title: 'Memory, and its limits where they are near',
      unit: bytes,
      lines: [
        { label: 'resident', column: 'resident' },
        { label: 'text', column: 'text' },
        ...limit('limit', resident_bytes),
        ...limit('limit of text', text_bytes),
      ],
    },
  }
}

function eventLoop({ latest }: Status): Panel {
  return {
    id: 'loop',
    title: 'Event loop',
    facts: [
      { name: 'Late by, p50', value: latency(latest.loop_p50) },
      { name: 'Late by, at most', value: latency(latest.loop_max) },
      { name: 'Processor', value: percent(latest.cpu) },
    ],
    chart: {
      title: 'How late the event loop runs',
      unit: latency,
      lines: [
        { label: 'p50', column: 'loop_p50' },
        { label: 'at most', column: 'loop_max' },
      ],
    },
  }
}

function refusals({ refusals, latest }: Status): Panel {
  const some = Object.entries(refusals).filter(([, times]) => times > 0)
  const facts = some.map(([why, times]) => {
    return { name: words(why), value: count(times), isBad: !!latest[`refusals:${why}`] }
  })
  return {
    id: 'refusals',
    title: 'Refusals',
    facts: some.length === 0 ? [{ name: 'Since the start', value: 'none' }] : facts,
    chart: {
      title: 'Refusals a second',
      unit: rate,
      lines: some
        .sort(([, a], [, b]) => b - a)
        .slice(0, linesMax + 1)
        .map(([why]) => ({ label: words(why), column: `refusals:${why}` })),
    },
  }
}

function checkpoints({ checkpoints }: Status): Panel {
  const { taken, failed, position, age_seconds, duration_seconds, records_behind } = checkpoints
  const age = age_seconds === null ? 'an earlier process took it' : duration(age_seconds)
  return {
    id: 'checkpoints',
    title: 'Checkpoints',
    facts: [
      { name: 'Position of the newest', value: position === 0 ? 'none yet' : count(position) },
      { name: 'Age', value: position === 0 ? unknown : age },
      { name: 'Duration', value: latency(duration_seconds) },
      { name: 'Written', value: bytes(checkpoints.bytes) },
      { name: 'Records that a start replays', value: count(records_behind) },
      { name: 'Taken since the start', value: count(taken) },
      { name: 'Failed since the start', value: count(failed), isBad: failed > 0 },
    ],
    chart: {
      title: 'Records that a start would replay',
      unit: count,
      lines: [{ label: 'records', column: 'behind' }],
    },
    note: 'Dotted vertical lines in all charts mark when one was taken.',
  }
}

function limit(label: string, { max }: Held): Line[] {
  return max === null ? [] : [{ label, column: max }]
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}
