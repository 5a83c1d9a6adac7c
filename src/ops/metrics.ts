// The metrics that a node shows at /metrics, in base units. No id or text of a caller is a label.

import { getHeapStatistics } from 'node:v8'
import type { Journal } from '../../wal/journal/journal.ts'
import { latencyBoundsSeconds, type Meter, timedEvery } from '../http/meter.ts'
import { openFiles, residentMemory } from '../http/open-files.ts'
import type { State } from '../state/state.ts'
import { coldText } from './cold-text-metrics.ts'
import { LoopDelay } from './loop-delay.ts'
import { counter, gauge, histogram } from './prometheus.ts'
import { readersMetrics } from './reader-metrics.ts'
import { replicationMetrics } from './replication.ts'
import { recordsBehind, refusalsOf, type Vitals } from './vitals.ts'

/** Starts to measure the event loop's delay; returns a function that renders all metrics. */
export function metrics(vitals: Vitals): () => string {
  const delay = new LoopDelay()
  const loopDelay = () => {
    const samples = [0.5, 0.9, 0.99, 1].map((quantile) => {
      return { labels: { quantile: `${quantile}` }, value: delay.quantile(quantile) }
    })
    delay.restart()
    return gauge(
      'agent_forum_event_loop_delay_seconds',
      'How late the event loop ran a timer since the last scrape, in seconds.',
      samples,
    )
  }
  return () =>
    [
      info(vitals),
      requests(vitals.meter),
      stateSizes(vitals.state),
      vitals.journal === null ? '' : journal(vitals.journal),
      gauge(
        'agent_forum_gate_waiting',
        'Answers that wait until the log is durable.',
        vitals.gateLength(),
      ),
      gauge(
        'agent_forum_sliced_reads',
        'Reads of feeds that take several iterations of the event loop.',
        vitals.slicedWork.length,
      ),
      waiting(vitals),
      coldText(vitals),
      load(vitals),
      readersMetrics(vitals.readers, vitals.journal?.position ?? 0),
      checkpoints(vitals),
      scrub(vitals),
      replicationMetrics(vitals),
      counter(
        'agent_forum_log_lines_dropped_total',
        'Log lines that were dropped because standard output did not accept them.',
        vitals.logOutput.linesDropped,
      ),
      counter(
        'agent_forum_clock_steps_back_total',
        'How often the system clock was set back by a minute or more.',
        vitals.clockStepsBack,
      ),
      counter(
        'agent_forum_clock_steps_ahead_total',
        'How often the system clock was set ahead by a minute or more: guests expire early.',
        vitals.clockStepsAhead,
      ),
      gauge(
        'agent_forum_clock_behind_seconds',
        'How far the system clock is behind the time of the forum, which never goes back.',
        vitals.clockBehindMs() / 1000,
      ),
      loopDelay(),
      processBasics(),
    ].join('')
}

function info({ version, http, durability, availability }: Vitals): string {
  const labels = { version, http, durability, node: process.version }
  const isServing = availability.refusal === null ? 1 : 0
  return (
    gauge('agent_forum_info', 'Version, HTTP server, durability and Node version, as labels.', [
      { labels, value: 1 },
    ]) + gauge('agent_forum_serving', '1 while requests are answered.', isServing)
  )
}

function requests({ routes }: Meter): string {
  const answers = routes.flatMap(({ name, answers }) =>
    [2, 4, 5].map((digit) => ({
      labels: { route: name, status: `${digit}xx` },
      value: answers[digit],
    })),
  )
  const latencies = routes.map(({ name, buckets, seconds }) => {
    return { labels: { route: name }, bounds: latencyBoundsSeconds, counts: buckets, sum: seconds }
  })
  return (
    counter('agent_forum_http_requests_total', 'Answers by route and class of status.', answers) +
    histogram(
      'agent_forum_http_request_duration_seconds',
      `From the request's head to its answer; one request in ${timedEvery} is timed.`,
      latencies,
    )
  )
}

function waiting({ waiting: { length, ended } }: Vitals): string {
  const ways = Object.entries(ended).map(([how, value]) => ({ labels: { how }, value }))
  return (
    gauge('agent_forum_waiting', 'Polls that wait for news.', length) +
    counter(
      'agent_forum_waiting_ended_total',
      'How polls stopped waiting; full: there were too many, so they did not wait.',
      ways,
    )
  )
}

function load(vitals: Vitals): string {
  const { load, memoryBytesMax, textBytesMax, waiting, coldReads } = vitals
  const { connectionsMax, waitingMax, queueBytesMax } = load.limits
  const queues = [
    { labels: { what: 'bodies' }, value: load.bodyBytes },
    { labels: { what: 'answers' }, value: load.answerBytes },
  ]
  const { parkedMax, bytesMax } = coldReads.limits
  const limits = {
    connections: connectionsMax,
    waiting: waiting.max,
    gate: waitingMax,
    queue_bytes: queueBytesMax,
    cold_reads: parkedMax,
    cold_read_bytes: bytesMax,
    memory_bytes: memoryBytesMax,
    text_memory_bytes: textBytesMax,
  }
  const refusals = Object.entries(refusalsOf(vitals)).map(([why, value]) => {
    return { labels: { why }, value }
  })
  return [
    gauge('agent_forum_connections', 'Open connections.', load.connections()),
    gauge(
      'agent_forum_queue_bytes',
      'Bytes of bodies being received and of answers waiting.',
      queues,
    ),
    gauge(
      'agent_forum_limit',
      'The limits that the flags set.',
      Object.entries(limits).map(([name, value]) => ({ labels: { of: name }, value })),
    ),
    counter(
      'agent_forum_refusals_total',
      'Requests refused and connections closed because of a limit.',
      refusals,
    ),
  ].join('')
}

function stateSizes({
  identities,
  threads,
  messages,
  subscriptions,
  receipts,
  text,
}: State): string {
  return [
    gauge('agent_forum_identities', 'Identities that were ever created.', identities.count),
    gauge('agent_forum_threads', 'Threads.', threads.count),
    gauge('agent_forum_messages', 'Messages.', messages.count),
    gauge(
      'agent_forum_subscriptions',
      'Pairs of an identity and a thread that are or were subscribed.',
      subscriptions.count,
    ),
    gauge('agent_forum_receipts', 'Idempotency keys that are remembered.', receipts.count),
    gauge(
      'agent_forum_text_bytes',
      'Bytes of rendered text in memory, and in page files; some are in both.',
      [
        { labels: { where: 'memory' }, value: text.bytesInMemory + text.blocks.bytes },
        { labels: { where: 'disk' }, value: text.bytes - text.unsavedBytes },
      ],
    ),
  ].join('')
}

function journal(journal: Journal): string {
  const { batches, records, bytes, syncs, segment } = journal.stats()
  const bounds = syncs.buckets.slice(0, -1).map(({ boundSeconds }) => boundSeconds)
  const counts = syncs.buckets.map(({ count }) => count)
  const prefix = 'agent_forum_journal'
  return [
    gauge(`${prefix}_position`, 'Position of the last record.', journal.position),
    gauge(
      `${prefix}_durable_position`,
      'Position up to which all records are durable.',
      journal.durable,
    ),
    gauge(`${prefix}_healthy`, '1 while the log accepts records.', journal.health === 'ok' ? 1 : 0),
    gauge(`${prefix}_segment`, 'Number of the segment that is being written.', segment),
    counter(`${prefix}_batches_total`, 'Frames written.', batches),
    counter(`${prefix}_records_total`, 'Records written.', records),
    counter(`${prefix}_bytes_total`, 'Bytes written, including padding.', bytes),
    histogram(`${prefix}_sync_duration_seconds`, 'Duration of syncs.', [
      { bounds, counts, sum: syncs.seconds },
    ]),
  ].join('')
}

function checkpoints(vitals: Vitals): string {
  const { checkpoints } = vitals
  const { taken, failed, position, seconds, bytes, beginSeconds } = checkpoints
  const age = checkpoints.ageSeconds()
  const prefix = 'agent_forum_checkpoint'
  return [
    counter(`${prefix}s_total`, 'Checkpoints taken.', taken),
    counter(`${prefix}_failures_total`, 'Checkpoints that failed.', failed),
    gauge(`${prefix}_position`, 'Position of the newest checkpoint.', position),
    gauge(`${prefix}_records_behind`, 'Records that a start would replay.', recordsBehind(vitals)),
    gauge(
      `${prefix}_age_seconds`,
      'Time since the newest checkpoint was taken; NaN if an earlier process took it.',
      age,
    ),
    gauge(`${prefix}_duration_seconds`, 'Duration of the newest checkpoint.', seconds),
    gauge(`${prefix}_bytes`, 'Bytes of pages that the newest checkpoint wrote.', bytes),
    gauge(
      `${prefix}_begin_seconds`,
      'How long the newest checkpoint blocked the event loop when it began.',
      beginSeconds,
    ),
  ].join('')
}

function scrub({ scrub: { bytes, byParity, byMemory, ageSeconds } }: Vitals): string {
  const rewritten = [
    { labels: { by: 'parity' }, value: byParity },
    { labels: { by: 'memory' }, value: byMemory },
  ]
  const prefix = 'agent_forum_scrub'
  return [
    counter(`${prefix}_bytes_total`, 'Bytes of page files that the scrub has read.', bytes),
    counter(`${prefix}_mended_total`, 'Damaged pages that were rewritten.', rewritten),
    gauge(
      `${prefix}_age_seconds`,
      'Time since all page files were read; NaN if this process has not read them all yet.',
      ageSeconds(),
    ),
  ].join('')
}

function processBasics(): string {
  const { user, system } = process.cpuUsage()
  const { used_heap_size: heapUsed, external_memory: external } = getHeapStatistics()
  return [
    counter(
      'process_cpu_seconds_total',
      'User and system CPU time in seconds.',
      (user + system) / 1e6,
    ),
    gauge('process_resident_memory_bytes', 'Resident memory in bytes.', residentMemory()),
    gauge(
      'process_start_time_seconds',
      'Start of the process, in seconds since the Unix epoch.',
      Math.round(performance.timeOrigin / 1000),
    ),
    gauge('process_open_fds', 'Open file descriptors.', openFiles()),
    gauge('nodejs_heap_size_used_bytes', 'Used bytes of the JS heap.', heapUsed),
    gauge(
      'nodejs_external_memory_bytes',
      'Bytes of memory outside the JS heap that V8 accounts for.',
      external,
    ),
  ].join('')
}
