// Writes /status.json, whose shape is browser/dashboard/status.ts.

import { getHeapStatistics } from 'node:v8'
import type {
  Held,
  LogStatus,
  ReadersStatus,
  Ready,
  Replication,
  RouteAnswers,
  Status,
} from '../browser/dashboard/status.ts'
import type { Meter } from '../http/meter.ts'
import { residentMemory } from '../http/open-files.ts'
import { readiness, warningsOf } from './readiness.ts'
import type { Samples } from './samples.ts'
import { readersBehind, recordsBehind, refusalsOf, type Vitals } from './vitals.ts'

/** The status of now, with the samples after number `after`; `nowMs` as performance.now(). */
export function statusOf(vitals: Vitals, samples: Samples, after: number, nowMs: number): Status {
  const { state, version, http, durability, waiting } = vitals
  const { identities, threads, messages } = state
  return {
    format: 1,
    node: {
      version,
      node_version: process.version,
      http,
      durability,
      started_at: Math.round(performance.timeOrigin),
      uptime_seconds: Math.round(nowMs / 10) / 100,
    },
    ready: readyOf(vitals),
    routes: routesOf(vitals.meter),
    log: logOf(vitals),
    load: { ...loadOf(vitals), waiting: held(waiting.length, waiting.max) },
    memory: memoryOf(vitals),
    refusals: refusalsOf(vitals),
    checkpoints: checkpointsOf(vitals),
    content: { identities: identities.count, threads: threads.count, messages: messages.count },
    readers: readersOf(vitals),
    replication: replicationOf(vitals),
    latest: samples.latest(),
    series: samples.since(after),
  }
}

function readyOf(vitals: Vitals): Ready {
  const { text } = readiness(vitals, false)
  const { refusal } = vitals.availability
  const warnings = warningsOf(vitals)
  const serving = text === 'ok\n' ? 'serving' : 'degraded'
  const state = ({ starting: 'starting', shutting_down: 'draining', ok: serving } as const)[
    refusal ?? 'ok'
  ]
  return { state, text: text.trimEnd(), warnings }
}

function routesOf({ routes }: Meter): RouteAnswers[] {
  return routes
    .map(({ name, answers }) => ({
      route: name,
      answers: answers.reduce((sum, count) => sum + count, 0),
      refused: answers[4],
      failed: answers[5],
    }))
    .filter(({ answers }) => answers > 0)
    .sort((a, b) => b.answers - a.answers)
}

function logOf({ journal }: Vitals): LogStatus | null {
  if (journal === null) return null
  const { position, durable, health } = journal
  const { segment, bytes } = journal.stats()
  return { position, durable_position: durable, health, segment, bytes }
}

function loadOf(vitals: Vitals): Omit<Status['load'], 'waiting'> {
  const { load, coldReads } = vitals
  const { connectionsMax, waitingMax, queueBytesMax } = load.limits
  return {
    connections: held(load.connections(), connectionsMax),
    gate: held(vitals.gateLength(), waitingMax),
    cold_reads: held(coldReads.length, coldReads.limits.parkedMax),
    queue_bytes: held(load.bodyBytes + load.answerBytes, queueBytesMax),
  }
}

function memoryOf({ state: { text }, memoryBytesMax, textBytesMax }: Vitals): Status['memory'] {
  const { used_heap_size: heapUsed, heap_size_limit: heapLimit } = getHeapStatistics()
  return {
    resident_bytes: held(residentMemory(), memoryBytesMax),
    heap_bytes: held(heapUsed, heapLimit),
    text_bytes: held(text.bytesInMemory + text.blocks.bytes, textBytesMax),
    text_total_bytes: text.bytes,
  }
}

function checkpointsOf(vitals: Vitals): Status['checkpoints'] {
  const { checkpoints } = vitals
  const { taken, failed, position, seconds, bytes } = checkpoints
  const age = known(checkpoints.ageSeconds())
  return {
    taken,
    failed,
    position,
    age_seconds: age && Math.round(age),
    duration_seconds: taken === 0 ? null : Number(seconds.toFixed(3)),
    bytes: taken === 0 ? null : bytes,
    records_behind: recordsBehind(vitals),
  }
}

function readersOf(vitals: Vitals): ReadersStatus | null {
  const { readers } = vitals
  if (readers === null) return null
  const { counts, restarts, forwarded, running, cpuSeconds } = readers
  return {
    ...counts,
    restarts,
    forwarded,
    behind_records: known(readersBehind(vitals)),
    resident_bytes: running.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    cpu_seconds: Number(cpuSeconds.toFixed(2)),
  }
}

function replicationOf({ replication }: Vitals): Replication | null {
  return (
    replication && {
      role: replication.role,
      term: replication.term(),
      lag_positions: known(replication.lagPositions()),
      lag_seconds: known(replication.lagSeconds()),
      takeovers: replication.takeovers(),
      fenced: replication.fenced(),
      forwarded: replication.forwarded(),
    }
  )
}

/** Without a limit where it is not a finite number. */
function held(now: number, max: number): Held {
  return { now: known(now), max: known(max) }
}

function known(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
