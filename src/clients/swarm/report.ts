// The report of a run: one object, for --json, and the same report as text.

import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import type { BatchCounts } from './batches.ts'
import type { ClaimCounts, Claims } from './claims.ts'
import type { Client } from './client.ts'
import type { AgentFeeds } from './feeds.ts'
import { type FoundLimit, limitInWords, limitTable } from './find-limit.ts'
import { Latencies } from './latencies.ts'
import { type Meter, timedOperations } from './meter.ts'
import { type PhaseReport, phaseTable } from './phases.ts'
import type { Plan } from './plan.ts'
import { grouped, groupedCount } from './progress.ts'
import type { Scenario } from './scenario.ts'
import type { FeedTally, VerifyResult } from './verify.ts'

/**
 * Latencies are in milliseconds, from the first try to the answer; `rate` is per second, from the
 * first request of its kind to the last answer.
 */
export type OperationReport = ReturnType<typeof operationReport>

type Batched = BatchCounts & { size: number }

/**
 * `published` is null for the verification of a saved run, which publishes nothing; `verification`
 * is null for a run that was interrupted. `all` is for the requests together. `errors` is the
 * number of lost answers, the sum of `retries`. With a `limit`, the operations are those of the
 * last step and of what followed it.
 */
export type Report = ReturnType<typeof reportOf>

export type Run = {
  setUp: SetUp
  client: Client
  status: Record<string, unknown>
  connections: number
  batch: number
  plan: Plan
  published: { feeds: AgentFeeds; replayedAnswers: number; claims: Claims | null } | null
  targetRate: number | null
  secondsPerPhase: Record<string, number>
  meter: Meter
  limit: FoundLimit | null
  scenario: Scenario | null
  phases: readonly PhaseReport[]
  verification: VerifyResult | null
}

/** Returns all results of a run, ready to be written as JSON. */
export function reportOf(run: Run) {
  const { client, status, plan, published } = run
  const statusText = (name: string) => (typeof status[name] === 'string' ? status[name] : 'unknown')
  return {
    url: client.url,
    server: {
      name: statusText('name'),
      version: statusText('version'),
      durability: statusText('durability'),
    },
    setUp: run.setUp,
    /** Of merged runs: their ids, joined by +. */
    runId: plan.runId,
    /** The number of runs that were merged; 1: this is the report of one. */
    processes: 1,
    /** When the run began, in ISO 8601; the times of requests and intervals count from here. */
    startedAt: new Date(performance.timeOrigin + run.meter.begunAt).toISOString(),
    connections: run.connections,
    /** What left in batches, and the number of requests in one at most; null: all left alone. */
    batch: client.batches && { size: run.batch, ...client.batches.counts },
    /** The messages that were due per second; null: as fast as they were answered. */
    targetRate: run.targetRate,
    identities: plan.agents.length,
    /** Those of the identities that only waited. */
    idle: plan.idle.length,
    threads: plan.threads.length,
    messages: plan.messageCount,
    published: published && {
      subscriptions: published.feeds.subscriptions,
      waits: published.feeds.waits,
      replayedAnswers: published.replayedAnswers,
      /** Null: there were no tasks. */
      claims: published.claims?.counts ?? null,
    },
    retries: client.retries,
    errors: client.errors,
    secondsPerPhase: run.secondsPerPhase,
    ...operationReports(client, run.meter.begunAt),
    intervals: run.meter.intervals,
    /** Null: there was none to find. */
    limit: run.limit,
    /** Null: the flags said what to do. */
    scenario: run.scenario,
    phases: run.phases,
    verification: run.verification,
  }
}

function operationReports(client: Client, begunAt: number) {
  const operations: OperationReport[] = []
  const [together, whole] = [new Latencies(), { from: Number.POSITIVE_INFINITY, to: 0 }]
  const since = (at: number) => (at - begunAt) / 1000
  for (const operation of timedOperations) {
    const timing = client.timings.get(operation)
    if (timing === undefined) continue
    const { latency, from, to } = timing
    operations.push(operationReport(operation, latency, since(from), since(to)))
    if (operation === 'wake') continue
    together.add(latency)
    whole.from = Math.min(whole.from, since(from))
    whole.to = Math.max(whole.to, since(to))
  }
  if (together.count === 0) whole.from = 0
  return { operations, all: operationReport('all', together, whole.from, whole.to) }
}

export function operationReport(operation: string, latency: Latencies, from: number, to: number) {
  const { count } = latency
  const ms = (percent: number) => latency.percentile(percent) / 1000
  return {
    operation,
    count,
    rate: count === 0 ? 0 : count / (to - from),
    p50: ms(50),
    p90: ms(90),
    p99: ms(99),
    p999: ms(99.9),
    max: latency.max / 1000,
    /** When the first request was due or sent, and the last one answered, in seconds of the run. */
    from,
    to,
    /** All of the latencies, in microseconds: see latencies.ts. */
    histogram: `${latency}`,
  }
}

/** Returns the report as text. Every count of a comparison is shown with its total. */
export function summary(report: Report): string {
  const { server, retries, verification, published } = report
  const lost = report.errors
  const idle = report.idle === 0 ? '' : `, of which ${grouped(report.idle)} only waited`
  const polls = report.operations.find(({ operation }) => operation === 'poll feed')?.count ?? 0
  const lines = [
    '',
    `${server.name} ${server.version} at ${report.url}, durability ${server.durability}`,
    `${runInWords(report)}, ${report.connections} connections`,
    setUpInWords(report.setUp),
    '',
    ...table([...report.operations, report.all]),
    latencyInWords(report),
    ...(report.batch === null ? [] : [batchInWords(report.batch)]),
    ...(report.limit === null ? [] : ['', ...limitLines(report.limit)]),
    ...(report.phases.length === 0 ? [] : ['', ...phaseTable(report.phases).map(row)]),
    '',
    `identities     ${grouped(report.identities)}${idle}`,
    `threads        ${grouped(report.threads)}`,
    `messages       ${grouped(report.messages)}`,
  ]
  if (published !== null) {
    lines.push(
      `subscriptions  ${grouped(published.subscriptions)}`,
      `polls          ${grouped(polls)}`,
    )
    const { news, empty } = published.waits
    if (news + empty > 0) {
      lines.push(`polls waited   ${grouped(news)} until there was news, ${grouped(empty)} in vain`)
    }
    if (published.claims !== null) lines.push(claimsInWords(published.claims))
  }
  lines.push(
    `retries        ${grouped(lost)}${lost === 0 ? '' : `: ${retriesInWords(retries)}`}`,
    ...(published?.replayedAnswers
      ? [`               ${grouped(published.replayedAnswers)} of them found the work done`]
      : []),
    '',
    ...(verification === null
      ? ['interrupted: what was published is not verified']
      : verdict(verification)),
  )
  return `${lines.join('\n')}\n`
}

/** `run 1a2b`, or `run 1a2b+3c4d of 2 processes`. */
export function runInWords({ runId, processes }: Report): string {
  return `run ${runId}${processes === 1 ? '' : ` of ${processes} processes`}`
}

function latencyInWords({ targetRate, limit, phases }: Report): string {
  const isPaced = targetRate !== null || limit !== null || phases.some(({ due }) => due !== null)
  const due = isPaced ? ` (of messages: from when they were due)` : ''
  const how = 'ms from the first try to the answer, retries included'
  return `${how}; rate from first request to last answer${due}`
}

/** `1,204 batches of 83.1 requests on average, at most 100`. */
export function batchInWords({ size, batches, requests, full }: Batched): string {
  const number = `${grouped(batches)} batch${batches === 1 ? '' : 'es'}`
  const average = (requests / Math.max(1, batches)).toFixed(1)
  const again = full === 0 ? '' : `; ${grouped(full)} answers did not fit, and were asked again`
  return `${number} of ${average} requests on average, at most ${size}${again}`
}

/** `claims         1,234 granted, 25 renewed, 300 refused; 24 late results refused, 0 lost`. */
function claimsInWords({ granted, renewed, refused, late, lost }: ClaimCounts): string {
  const [some, more] = [`${grouped(granted)} granted`, `${grouped(renewed)} renewed`]
  const expired = `${grouped(late)} expired, whose late results were refused`
  const slow = lost === 0 ? '' : `; ${grouped(lost)} lost to slow answers`
  return `claims         ${some}, ${more}, ${grouped(refused)} refused; ${expired}${slow}`
}

function limitLines(limit: FoundLimit): string[] {
  const lines = limitTable(limit).map(([rate, ...cells]) => {
    const outcome = cells.pop()
    return `${rate.padEnd(15)} ${cells.map((cell) => cell.padStart(9)).join(' ')}   ${outcome}`
  })
  return [...lines.map((line) => line.trimEnd()), limitInWords(limit)]
}

const retriesInWords = (retries: Report['retries']): string =>
  `${groupedCount(retries.connection, 'connection')} lost, ` +
  `${groupedCount(retries.timeout, 'timeout')}, ` +
  `${groupedCount(retries.unavailable, 'answer')} 503, ${groupedCount(retries.quota, 'answer')} 429`

export const row = (cells: readonly string[]): string =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(15) : cell.padStart(9))).join(' ')

function table(reports: OperationReport[]): string[] {
  const ms = (value: number) => value.toFixed(2)
  return [
    row(['', 'count', 'rate/s', 'p50 ms', 'p90', 'p99', 'p99.9', 'max']),
    ...reports.map((report) =>
      row([
        report.operation,
        grouped(report.count),
        grouped(Math.round(report.rate)),
        ms(report.p50),
        ms(report.p90),
        ms(report.p99),
        ms(report.p999),
        ms(report.max),
      ]),
    ),
  ]
}

function verdict(verification: VerifyResult): string[] {
  const { replays, threads, messages, gatheredFeeds, freshFeeds, searches, claims, differences } =
    verification
  const outOf = ({ exact, compared }: { exact: number; compared: number }) =>
    `${grouped(exact)} of ${grouped(compared)}`
  const feeds = (tally: FeedTally) =>
    `${outOf(tally)} feeds exact, ${groupedCount(tally.items, 'item')}`
  const once = threads.exact === threads.compared ? ', each once' : ''
  const lines = [
    `verified  ${outOf(messages)} messages identical, in order${once}`,
    `          ${outOf(threads)} threads exact`,
  ]
  if (gatheredFeeds !== null) {
    lines.push(
      `          ${feeds(gatheredFeeds)}, gathered while publishing, from where each joined`,
    )
  }
  lines.push(
    `          ${feeds(freshFeeds)}, read from the beginning`,
    `          ${outOf(replays)} keys replayed their first answer`,
  )
  if (searches !== null) {
    lines.push(`          ${outOf(searches)} searches found what was published, and nothing else`)
  }
  if (claims !== null) {
    lines.push(`          ${outOf(claims)} tasks done once, each held by one worker at a time`)
  }
  if (differences.count === 0) return [...lines, 'no difference']
  const shown = differences.first.length
  const head = groupedCount(differences.count, 'difference')
  const which = shown < differences.count ? `, the first ${shown}` : ''
  return [...lines, `${head}${which}:`, ...differences.first.map((what) => `  ${what}`)]
}

type SetUp = {
  /** As they were given, without the invitation, which is a secret. */
  flags: Record<string, string | boolean>
  /** Of the swarm. */
  version: string
  node: string
  machine: string
}

export function setUpOf(flags: SetUp['flags'], version: string): SetUp {
  const processor = cpus()[0]?.model.trim() ?? 'unknown processor'
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
  const machine = `${processor}, ${availableParallelism()} cores, ${memory}, ${type()} ${release()}`
  return { flags, version, node: process.version, machine }
}

/** `swarm 1.0.0, Node v22.1.0, …, --rate 500 --search 10`. */
export function setUpInWords({ flags, version, node, machine }: SetUp): string {
  const words = Object.entries(flags).map(([name, value]) =>
    value === true ? `--${name}` : `--${name} ${value}`,
  )
  return `swarm ${version}, Node ${node}, ${machine}\n${words.join(' ')}`
}
