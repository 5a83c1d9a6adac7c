// The list of instruments: what programs rely on does not change, and every entry is consistent.

import t, { type Test } from 'tap'
import { LoopDelay } from '../../../src/operators/ops/instrument.ts'
import { instruments } from '../../../src/operators/ops/instruments/list.ts'
import { Samples } from '../../../src/operators/ops/samples.ts'
import { statusOf } from '../../../src/operators/ops/status.ts'
import { queueBytesOf, type Vitals } from '../../../src/operators/ops/vitals.ts'
import { vitalsOf, vitalsOfAll } from './vitals.ts'

function sectionsOf(t: Test, vitals: Vitals): Record<string, unknown> {
  const loopDelay = new LoopDelay()
  t.teardown(() => loopDelay.stop())
  const status = statusOf(vitals, new Samples(vitals, loopDelay, 0), 0, 1000)
  return JSON.parse(JSON.stringify(status))
}

/** Returns the type of a value. A number that may be unknown is a `number`, too. */
function typeOf(value: unknown): unknown {
  if (value === null) return 'number'
  if (typeof value !== 'object') return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, typeOf(field)]))
}

const held = { now: 'number', max: 'number' }
/** The sections of /status.json in format 1. Fields may be added, but none may be removed. */
const format1 = {
  log: {
    position: 'number',
    durable_position: 'number',
    health: 'string',
    segment: 'number',
    bytes: 'number',
  },
  load: { connections: held, waiting: held, gate: held, cold_reads: held, queue_bytes: held },
  memory: {
    resident_bytes: held,
    heap_bytes: held,
    text_bytes: held,
    text_total_bytes: 'number',
  },
  refusals: {
    connections: 'number',
    framing: 'number',
    slow_bodies: 'number',
    bodies: 'number',
    answers: 'number',
    writes: 'number',
    memory: 'number',
    sliced_reads: 'number',
    cold_reads: 'number',
    pages: 'number',
  },
  checkpoints: {
    taken: 'number',
    failed: 'number',
    position: 'number',
    age_seconds: 'number',
    duration_seconds: 'number',
    bytes: 'number',
    records_behind: 'number',
  },
  content: { identities: 'number', threads: 'number', messages: 'number' },
  readers: {
    configured: 'number',
    serving: 'number',
    restarts: 'number',
    forwarded: 'number',
    behind_records: 'number',
    resident_bytes: 'number',
    cpu_seconds: 'number',
  },
  replication: {
    role: 'string',
    term: 'number',
    lag_positions: 'number',
    lag_seconds: 'number',
    takeovers: 'number',
    fenced: 'number',
    forwarded: 'number',
    node: 'string',
    leader: 'string',
  },
  disk: { free_bytes: 'number', full_in_seconds: 'number' },
}
/** The columns of format 1. Some also exist once for each route or reason. */
const columns1 = [
  ['requests', 'failed', 'p50', 'p99', 'sync_p50', 'sync_p99', 'records', 'refusals', 'waiting'],
  ['messages', 'threads', 'identities'],
  ['gate', 'connections', 'checkpoints', 'resident', 'heap', 'text', 'cpu', 'loop_p50'],
  ['loop_max', 'behind', 'lag', 'readers_behind', 'readers_forwarded', 'readers_cpu'],
].flat()

t.test(
  'status.json: of a node that has everything: the fields and columns of format 1',
  async (t) => {
    const { format, ...sections } = sectionsOf(t, vitalsOfAll())
    t.equal(format, 1)
    t.match(typeOf(sections), { ...format1, refused_callers: {}, log_lines: {} })
    const columns = instruments.flatMap(({ columns = [] }) => columns.map(({ name }) => name))
    for (const name of columns1) t.ok(columns.includes(name), name)
  },
)

t.test(
  'status.json: of a node that starts alone: sections of what it lacks are null',
  async (t) => {
    t.match(sectionsOf(t, vitalsOf('starting', null)), {
      log: null,
      readers: null,
      replication: null,
    })
  },
)

t.test('instruments: each is declared once, and shown somewhere', async (t) => {
  const once = (names: string[]) => t.same(names, [...new Set(names)])
  once(instruments.flatMap(({ name }) => (name === '' ? [] : [name])))
  once(instruments.flatMap(({ status = [] }) => status))
  once(instruments.flatMap(({ columns = [] }) => columns.map(({ name }) => name)))
  for (const { kind, name, help, status, columns = [] } of instruments) {
    t.equal(kind === 'counter', name.endsWith('_total'), name)
    t.match(help, /^[A-Z1].*\.$/)
    t.ok(kind !== 'figure' || status !== undefined || columns.length > 0, help)
  }
})

t.test('queue bytes: a node with readers: those of all processes', async (t) => {
  const vitals = vitalsOfAll()
  Object.assign(vitals.load, { bodyBytes: 1000, answerBytes: 500 })
  t.same(queueBytesOf(vitals), { bodies: 1200, answers: 540 })
  t.match(sectionsOf(t, vitals), { load: { queue_bytes: { now: 1740 } } })
  t.same(queueBytesOf({ ...vitals, readers: null }), { bodies: 1000, answers: 500 })
})
