// The report of a run: one object, for --json, and the same as text.

import { type Client, timedOperations } from './client.ts'
import type { AgentFeeds, Waits } from './feeds.ts'
import type { Plan } from './plan.ts'
import { grouped, groupedCount } from './progress.ts'
import type { FeedTally, VerifyResult } from './verify.ts'

/**
 * Latencies in milliseconds, from the first try to the answer; `rate` per second, from the first
 * request of its kind to the last answer.
 */
export type OperationReport = {
  operation: string
  count: number
  rate: number
  p50: number
  p90: number
  p99: number
  p999: number
  max: number
}

/** `published` is null for the verification of a saved run, which publishes nothing. */
export type Report = {
  url: string
  server: { name: string; version: string; durability: string }
  runId: string
  connections: number
  identities: number
  threads: number
  messages: number
  published: { subscriptions: number; waits: Waits; replayedAnswers: number } | null
  retries: Client['retries']
  secondsPerPhase: Record<string, number>
  operations: OperationReport[]
  verification: VerifyResult
}

export type Run = {
  client: Client
  status: Record<string, unknown>
  connections: number
  plan: Plan
  published: { feeds: AgentFeeds; replayedAnswers: number } | null
  secondsPerPhase: Record<string, number>
  verification: VerifyResult
}

/** All results of a run, ready to be written as JSON. */
export function reportOf(run: Run): Report {
  const { client, status, plan, published } = run
  const statusText = (name: string) => (typeof status[name] === 'string' ? status[name] : 'unknown')
  return {
    url: client.url,
    server: {
      name: statusText('name'),
      version: statusText('version'),
      durability: statusText('durability'),
    },
    runId: plan.runId,
    connections: run.connections,
    identities: plan.agents.length,
    threads: plan.threads.length,
    messages: plan.messageCount,
    published: published && {
      subscriptions: published.feeds.subscriptions,
      waits: published.feeds.waits,
      replayedAnswers: published.replayedAnswers,
    },
    retries: client.retries,
    secondsPerPhase: run.secondsPerPhase,
    operations: operationReports(client),
    verification: run.verification,
  }
}

function operationReports(client: Client): OperationReport[] {
  const reports: OperationReport[] = []
  for (const operation of timedOperations) {
    const timing = client.timings.get(operation)
    if (timing === undefined) continue
    const { latency, from, to } = timing
    const ms = (percentile: number) => latency.percentile(percentile) / 1000
    reports.push({
      operation,
      count: latency.count,
      rate: latency.count / ((to - from) / 1000),
      p50: ms(50),
      p90: ms(90),
      p99: ms(99),
      p999: ms(99.9),
      max: latency.max / 1000,
    })
  }
  return reports
}

/** The report as text. Every count of a comparison is shown with its total. */
export function summary(report: Report): string {
  const { server, retries, verification, published } = report
  const lost = Object.values(retries).reduce((sum, count) => sum + count, 0)
  const polls = report.operations.find(({ operation }) => operation === 'poll feed')?.count ?? 0
  const lines = [
    '',
    `${server.name} ${server.version} at ${report.url}, durability ${server.durability}`,
    `run ${report.runId}, ${report.connections} connections`,
    '',
    ...table(report.operations),
    'ms from the first try to the answer, retries included; rate from first request to last answer',
    '',
    `identities     ${grouped(report.identities)}`,
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
  }
  lines.push(
    `retries        ${grouped(lost)}${lost === 0 ? '' : `: ${retriesInWords(retries)}`}`,
    ...(published?.replayedAnswers
      ? [`               ${grouped(published.replayedAnswers)} of them found the work done`]
      : []),
    '',
    ...verdict(verification),
  )
  return `${lines.join('\n')}\n`
}

const retriesInWords = (retries: Report['retries']): string =>
  `${groupedCount(retries.connection, 'connection')} lost, ` +
  `${groupedCount(retries.timeout, 'timeout')}, ` +
  `${groupedCount(retries.unavailable, 'answer')} 503, ${groupedCount(retries.quota, 'answer')} 429`

function table(reports: OperationReport[]): string[] {
  const row = (cells: string[]) =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(15) : cell.padStart(9))).join(' ')
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
  const { replays, threads, messages, gatheredFeeds, freshFeeds, searches, differences } =
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
  if (differences.count === 0) return [...lines, 'no difference']
  const shown = differences.first.length
  const head = groupedCount(differences.count, 'difference')
  const which = shown < differences.count ? `, the first ${shown}` : ''
  return [...lines, `${head}${which}:`, ...differences.first.map((what) => `  ${what}`)]
}
