// What the dashboard says of a node: its figures, panels and problems, as the page shows them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Histogram } from '../../../src/base/histogram.ts'
import { LoopDelay } from '../../../src/operators/ops/instrument.ts'
import { dashboardPage, problemsOf } from '../../../src/operators/ops/page.ts'
import { figuresOf, groupsOf } from '../../../src/operators/ops/panels.ts'
import { Samples } from '../../../src/operators/ops/samples.ts'
import { statusOf } from '../../../src/operators/ops/status.ts'
import type { Vitals } from '../../../src/operators/ops/vitals.ts'
import type { Status } from '../../../src/people/browser/dashboard/status.ts'
import { unknown } from '../../../src/people/browser/dashboard/units.ts'
import type { Journal } from '../../../wal/journal/journal.ts'
import { follower, someReaders, vitalsOf } from './vitals.ts'

/** Returns the status of a node that starts, or of what `change` makes of it. */
function newStatus(change: (vitals: Vitals) => void = () => {}): Status {
  const vitals = vitalsOf('starting', null)
  Object.assign(vitals, { memoryBytesMax: 2 ** 40, textBytesMax: 2 ** 40 })
  const delay = new LoopDelay()
  const samples = new Samples(vitals, delay, 0)
  change(vitals)
  samples.take(1000)
  delay.stop()
  return statusOf(vitals, samples, 0, 1000)
}

const serving = (change: (vitals: Vitals) => void = () => {}) =>
  newStatus((vitals) => {
    vitals.availability.refusal = null
    change(vitals)
  })

/** Returns the rows of a panel by their names; a value that needs attention is in a list. */
function rowsOf(status: Status, id: string) {
  const panels = groupsOf(status).flatMap(({ panels }) => panels)
  const { rows } = panels.find((panel) => panel.id === id)!
  return Object.fromEntries(rows.map(({ name, value, isBad }) => [name, isBad ? [value] : value]))
}

t.test('panels: a node that starts: everything is known to be unknown', async (t) => {
  const status = newStatus()
  t.match(rowsOf(status, 'log'), { 'Durable position': unknown, Storage: 'not open yet' })
  t.same(rowsOf(status, 'refusals'), {})
  t.match(rowsOf(status, 'checkpoints'), { 'Age of the newest': unknown, 'Taken, failed': '0, 0' })
  t.match(rowsOf(status, 'syncs'), { Left: unknown, 'Full at this rate in': unknown })
  t.same(
    groupsOf(status).map(({ title }) => title),
    ['Traffic', 'Durability', 'Capacity'],
  )
  t.same(
    figuresOf(status).map(({ value, near }) => [value, near].join()),
    ['0,', '–,', '0,', '0,', `${figuresOf(status)[4]!.value},`, '0,', '0,', '0,'],
  )
})

t.test('panels: limits nearly reached, refusals, failures: what is bad', async (t) => {
  const status = serving((vitals) => {
    vitals.load.connections = () => 90
    Object.assign(vitals.load.limits, { connectionsMax: 100 })
    vitals.gate = { length: 9 }
    Object.assign(vitals.load.limits, { writesMax: 10 })
    vitals.load.refused.slow_bodies = 2
    vitals.checkpoints = { ...vitals.checkpoints, failed: 1 }
    vitals.meter.none.answers[5] = 3
    vitals.refusedCallers = { top: () => [[17, 412]] }
    vitals.waiting = { ...vitals.waiting, length: 90, max: 100 }
  })
  t.same(rowsOf(status, 'requests')['Failed (5xx) a second'], ['3'])
  t.same(rowsOf(status, 'refusals'), {
    'slow bodies, since the start': ['2'],
    'Identity 17, by rate limits': '412',
  })
  t.same(rowsOf(status, 'checkpoints')['Taken, failed'], ['0, 1'])
  t.same(rowsOf(status, 'waiting')['Answers waiting for the log'], ['9 of 10'])
  t.match(figuresOf(status)[3], { value: '90', near: 'near its limit, 100' })
  const page = dashboardPage(status)
  t.match(page, /<th scope="row">unknown path<\/th><td>3<\/td><td>–<\/td><td>–<\/td><td>3<\/td>/)
  t.match(page, /class="near">90 <span>near its limit, 100</)
  t.match(page, 'queues: connections, 90, is near its limit of 100')
})

t.test('panels: routes: the slowest ones have a line, whichever are busiest', async (t) => {
  const status = serving(({ meter }) => {
    for (const [name, bucket] of [
      ['fast', 0],
      ['slow', 9],
      ['idle', -1],
    ] as const) {
      const route = meter.add(name)
      if (bucket === -1) continue
      route.answers[2] = bucket === 0 ? 100 : 1
      route.times.counts[bucket] = 5
    }
  })
  t.same(
    status.routes.map(({ route }) => route),
    ['fast', 'slow'],
  )
  const [first, second] = Object.entries(rowsOf(status, 'times'))
  t.match(first, ['p99 of slow since the start', /^[\d.]+ ms$/])
  t.match(second, ['p99 of fast since the start', /µs$/])
})

t.test('panels: a follower, a leader: who leads, how far one is behind the other', async (t) => {
  const rowsWith = (replication: typeof follower) => {
    const status = newStatus((vitals) => {
      vitals.replication = replication
      vitals.state.term.node = 'other-node'
    })
    return rowsOf(status, 'replication')
  }
  t.same(rowsWith(follower), {
    Leads: 'other-node',
    Term: '3',
    'Missing for': '500 ms',
    'Requests passed on to the leader': '40',
    'Took over, was replaced': '1, 2',
  })
  const leader = { ...follower, role: 'leader', lagSeconds: () => Number.NaN } as const
  t.match(rowsWith(leader), { Leads: 'this node, this-node', 'Missing for': unknown })
})

t.test('panels: readers: how many serve, and the slowest', async (t) => {
  const readers = someReaders()
  const status = newStatus((vitals) => {
    vitals.readers = readers
    vitals.journal = { durable: 9, position: 9, health: 'ok', warnings: [] as string[] } as Journal
    Object.assign(vitals.journal, {
      stats: () => ({ syncs: new Histogram([]), segment: 1, bytes: 1 }),
    })
    readers.forwarded = 30
    readers.cpuSeconds = 1.5
  })
  t.same(rowsOf(status, 'readers'), {
    Serve: ['2 of 3'],
    'Requests a second passed on': '30',
    'Memory, together': '2 MiB',
    'Processor, together': '150 %',
    'Started again': ['1'],
  })
  t.match(status.readers, { forwarded: 30, cpu_seconds: 1.5, behind_records: 5 })
  t.match(status.ready, { warnings: ['readers: 2 of 3 serve'] })
})

t.test('page: a node that starts, is well, or is not: says so first, with a section', async (t) => {
  const starting = dashboardPage(newStatus())
  t.match(starting, 'data-state="starting">Starting</p>')
  t.match(
    starting,
    /role="status"><li>starting: 0% of the checkpoint read.* “Starting and stopping”/,
  )
  t.match(dashboardPage(serving()), 'id="problems" data-live role="status"></ul>')
  const degraded = serving((vitals) => {
    vitals.warnings = () => ['disk: <slow>']
    vitals.url = 'http://f.example'
    vitals.logOutput = { ...vitals.logOutput, newest: [{ at: 0, level: 'warn', event: 'a_b' }] }
  })
  const page = dashboardPage(degraded)
  t.match(page, /<li>disk: &lt;slow&gt; .*href="http:\/\/f.example\/docs\/operating.md#watching"/)
  t.match(page, /1 Jan 1970, 00:00<\/time><\/th><td>warn<\/td><td>a b<\/td>/)
  t.match(degraded.ready, { state: 'degraded', warnings: ['disk: <slow>'] })
})

t.test('problems: each kind: the section that the documents have for it', async (t) => {
  const headings = (name: string) => {
    const file = join(import.meta.dirname, `../../../../docs/${name}.md`)
    return readFileSync(file, 'utf8')
      .match(/^#+ .*$/gm)!
      .map((line) => line.replace(/^#+ /, ''))
  }
  const known = new Map(['operating', 'replication'].map((name) => [name, headings(name)]))
  const cases: [string, string][] = [
    ['memory: at its limit, writes are refused', 'Limits'],
    ['queues: full, 3 answers wait, writes are refused', 'Limits'],
    ['readers: 1 of 2 serve', 'Readers'],
    ['replication: the stream is full', 'What to watch'],
    ['the last checkpoint failed: no space', 'The data directory'],
    ['the system clock is an hour ahead', 'The clock'],
    ['text: a block is damaged', 'Bit rot'],
    ['log: standard output accepts no lines (EAGAIN), 3 dropped', 'Watching'],
  ]
  for (const [warning, section] of cases) {
    const status = serving((vitals) => {
      vitals.warnings = () => [warning]
    })
    const [found, ...others] = problemsOf(status)
    t.match(found, { text: warning, section })
    t.same(others, [])
    t.ok(known.get(found!.document)!.includes(found!.section), warning)
  }
  const full = serving((vitals) => {
    vitals.disk = { freeBytes: 2 ** 30, fullInSeconds: 86_400 }
  })
  t.match(problemsOf(full), [
    { text: 'disk: 1 GiB left, full in 1 d 0 h at this rate', section: 'A full disk' },
  ])
  const failed = serving((vitals) => {
    const stats = () => ({ syncs: new Histogram([]), segment: 1, bytes: 1 })
    const counted = { position: 1, durable: 1, warnings: [], stats }
    vitals.journal = { ...counted, health: 'storage_full' } as unknown as Journal
  })
  t.match(problemsOf(failed), [{ text: /storage_full/, section: 'A full disk' }])
  const lagging = serving((vitals) => {
    vitals.replication = { ...follower, lagSeconds: () => 40, isStale: () => true }
    vitals.warnings = () => ['replication: the stream was removed']
  })
  t.same(
    problemsOf(lagging).map(({ text }) => text),
    ['lagging: 12 positions and 40.0 s behind', 'replication: the stream was removed'],
  )
})
