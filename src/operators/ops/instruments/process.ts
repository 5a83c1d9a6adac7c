// Instruments of the process: its version, memory and event loop, and the content of the forum.

import { getHeapStatistics } from 'node:v8'
import { openFiles, residentMemory } from '../../../base/process.ts'
import { by, counter, figure, gauge } from '../instrument.ts'
import type { Vitals } from '../vitals.ts'

export const memory = [
  gauge('process_resident_memory_bytes', 'Resident memory in bytes.', residentMemory, {
    limit: { of: 'memory_bytes', read: ({ memoryBytesMax }) => memoryBytesMax },
    status: 'memory.resident_bytes',
    columns: [{ name: 'resident' }],
  }),
  gauge(
    'text_bytes',
    'Bytes of rendered text in memory, and in page files; some are in both.',
    by('where', (vitals) => {
      const { bytes, unsavedBytes } = vitals.state.text
      return { memory: textInMemory(vitals), disk: bytes - unsavedBytes }
    }),
  ),
  figure('Bytes of rendered text in memory.', textInMemory, {
    limit: { of: 'text_memory_bytes', read: ({ textBytesMax }) => textBytesMax },
    status: 'memory.text_bytes',
    columns: [{ name: 'text' }],
  }),
  figure('Bytes of all rendered text.', ({ state }) => state.text.bytes, {
    status: 'memory.text_total_bytes',
  }),
  gauge('nodejs_heap_size_used_bytes', 'Used bytes of the JS heap.', heapUsed, {
    limit: { read: () => getHeapStatistics().heap_size_limit },
    status: 'memory.heap_bytes',
    columns: [{ name: 'heap' }],
  }),
  gauge(
    'nodejs_external_memory_bytes',
    'Bytes of memory outside the JS heap that V8 accounts for.',
    () => getHeapStatistics().external_memory,
  ),
]

/** Authors who mention themselves are not counted, because such a mention is in no feed. */
const mentions = ({ state }: Vitals) => state.feeds.mentionCount

export const content = [
  gauge('messages', 'Messages published so far.', ({ state }) => state.messages.count, {
    status: 'content.messages',
    columns: [{ name: 'messages' }],
  }),
  gauge('mentions', 'Mentions of identities in messages; each is in a feed.', mentions),
  gauge('threads', 'Threads published so far.', ({ state }) => state.threads.count, {
    status: 'content.threads',
    columns: [{ name: 'threads' }],
  }),
  gauge('identities', 'Identities created so far.', ({ state }) => state.identities.count, {
    status: 'content.identities',
    columns: [{ name: 'identities' }],
  }),
  gauge(
    'subscriptions',
    'Pairs of an identity and a thread that are or were subscribed.',
    ({ state }) => state.subscriptions.count,
  ),
  gauge('claims', 'Claims of threads that are held.', ({ state }) => state.claims.count),
  counter(
    'claims_ended_total',
    'Claims that have ended, as records say that this process has applied, by how they ended.',
    by('how', ({ state }) => ({ ...state.claims.ended })),
  ),
  counter(
    'threads_expired_total',
    'Threads that have expired, as records say that this process has applied.',
    ({ state }) => state.threads.expired,
  ),
  gauge('receipts', 'Idempotency keys that are remembered.', ({ state }) => state.receipts.count),
]

export const eventLoop = [
  gauge(
    'event_loop_delay_seconds',
    'Delay of timers of the event loop during the last one to two minutes, in seconds.',
    (_, delays) =>
      [50, 90, 99, 100].map((percentile) => {
        return { labels: { percentile: `${percentile}` }, value: delays.quantile(percentile / 100) }
      }),
  ),
  figure(
    'Median delay of timers of the event loop, in seconds.',
    (_, delays) => delays.quantile(0.5),
    { columns: [{ name: 'loop_p50' }] },
  ),
  figure(
    'Longest delay of timers of the event loop, in seconds.',
    (_, delays) => delays.quantile(1),
    { columns: [{ name: 'loop_max' }] },
  ),
  counter('process_cpu_seconds_total', 'User and system CPU time in seconds.', cpuSeconds, {
    columns: [{ name: 'cpu', as: 'rate' }],
  }),
]

export const basics = [
  gauge(
    'info',
    'Version, HTTP server, durability and Node version, as labels.',
    ({ version, http, durability }) => [
      { labels: { version, http, durability, node: process.version }, value: 1 },
    ],
  ),
  gauge('serving', '1 while requests are answered.', ({ availability }) =>
    Number(availability.refusal === null),
  ),
  gauge(
    'process_start_time_seconds',
    'Start of the process, in seconds since the Unix epoch.',
    () => Math.round(performance.timeOrigin / 1000),
  ),
  gauge('process_open_fds', 'Open file descriptors.', openFiles),
  counter(
    'log_lines_dropped_total',
    'Log lines that were dropped because standard output did not accept them.',
    ({ logOutput }) => logOutput.linesDropped,
  ),
  counter(
    'clock_steps_back_total',
    'Times the system clock was set back by a minute or more.',
    ({ clock }) => clock.stepsBack,
  ),
  counter(
    'clock_steps_ahead_total',
    'Times the system clock was set ahead by a minute or more: guests expire early.',
    ({ clock }) => clock.stepsAhead,
  ),
  gauge(
    'clock_behind_seconds',
    'Lag of the system clock behind the time of the forum, which never goes back.',
    ({ clock }) => clock.behindMs() / 1000,
  ),
]

function textInMemory({ state: { text } }: Vitals): number {
  return text.bytesInMemory + text.blocks.bytes
}

function heapUsed(): number {
  return getHeapStatistics().used_heap_size
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
