// --merge: the reports of several processes, which have put load on a node together, as one.
//
// M1. Only what ran together, and alike, is merged: runs that overlapped in time, of one node, with
//     the same flags. Anything else is refused with what differs.
// M2. Histograms are added, so percentiles are those of all requests; nothing is averaged.
// M3. Times are those of the clocks of the machines. An interval counts in the second, from the
//     start of the first run, that is nearest to its end.

import { ConfigError } from '../../base/arguments.ts'
import { differencesInSetUp, type Earlier, readReport } from './comparison.ts'
import { Differences } from './differences.ts'
import { Latencies } from './latencies.ts'
import type { Interval } from './meter.ts'
import { outputFlags } from './options.ts'
import { phaseReport } from './phases.ts'
import { type OperationReport, operationReport, type Report } from './report.ts'
import type { FeedTally, Tally, VerifyResult } from './verify.ts'

/** A report, and when it began, in seconds from the start of the first of them. */
type Run = { file: string; report: Report; offset: number }

/** Returns the merged report. Throws ConfigError. */
export async function mergedReport(files: readonly string[]): Promise<Report> {
  const read: Pick<Run, 'file' | 'report'>[] = []
  for (const file of files) read.push({ file, report: await readMergeable(file) })
  const first = Math.min(...read.map(({ report }) => Date.parse(report.startedAt)))
  const runs = read.map(({ file, report }): Run => {
    return { file, report, offset: (Date.parse(report.startedAt) - first) / 1000 }
  })
  mustBeAlike(runs)
  return merge(runs)
}

async function readMergeable(file: string): Promise<Report> {
  const report = await readReport(file)
  if (!isMergeable(report)) {
    throw new ConfigError(`${file}: is of a version whose reports cannot be merged`)
  }
  if (report.limit !== null) {
    throw new ConfigError(`${file}: is a search for the highest rate, which each process has alone`)
  }
  return report
}

function isMergeable(report: Earlier): report is Report {
  return typeof report.startedAt === 'string' && typeof report.all.histogram === 'string'
}

/** See M1. */
function mustBeAlike(runs: readonly Run[]): void {
  const [first, ...others] = runs
  const ids = new Map<string, string>()
  for (const { file, report } of runs) {
    for (const id of report.runId.split('+')) {
      const other = ids.get(id)
      if (other !== undefined) throw new ConfigError(`${file}: has the same run as ${other}`)
      ids.set(id, file)
    }
  }
  for (const { file, report } of others) {
    const differences = differencesInSetUp(loadOf(first.report), loadOf(report))
    if (differences.length > 0) {
      throw new ConfigError(
        `${file}: is another kind of run than ${first.file}: ${differences.join(', ')}`,
      )
    }
  }
  const begins = ({ offset, report }: Run) => offset + report.all.from
  const ends = ({ offset, report }: Run) => offset + report.all.to
  const last = runs.reduce((a, b) => (begins(a) > begins(b) ? a : b))
  const over = runs.find((run) => ends(run) <= begins(last))
  if (over !== undefined) {
    throw new ConfigError(`${over.file}: had ended when ${last.file} began`)
  }
}

/** The report without what may differ between processes that put load on a node together. */
function loadOf(report: Report): Partial<Report> {
  const { url, server, connections, targetRate, identities, idle, setUp } = report
  const { node, version, flags } = setUp
  return {
    url,
    server,
    connections,
    targetRate,
    identities,
    idle,
    setUp: { node, version, flags, machine: '' },
  }
}

function merge(runs: readonly Run[]): Report {
  const reports = runs.map(({ report }) => report)
  const [first] = reports
  const total = (of: (report: Report) => number) => reports.reduce((sum, each) => sum + of(each), 0)
  const isPublished = reports.every(({ published }) => published !== null)
  return {
    ...first,
    setUp: mergedSetUp(reports),
    runId: reports.map(({ runId }) => runId).join('+'),
    processes: total(({ processes }) => processes),
    startedAt: runs.find(({ offset }) => offset === 0)!.report.startedAt,
    connections: total(({ connections }) => connections),
    batch: first.batch && {
      size: first.batch.size,
      batches: total(({ batch }) => batch!.batches),
      requests: total(({ batch }) => batch!.requests),
      full: total(({ batch }) => batch!.full),
    },
    targetRate: first.targetRate && total(({ targetRate }) => targetRate!),
    identities: total(({ identities }) => identities),
    idle: total(({ idle }) => idle),
    threads: total(({ threads }) => threads),
    messages: total(({ messages }) => messages),
    published: isPublished
      ? {
          subscriptions: total(({ published }) => published!.subscriptions),
          waits: reports.map(({ published }) => published!.waits).reduce(summed),
          replayedAnswers: total(({ published }) => published!.replayedAnswers),
          claims: reports
            .map(({ published }) => published!.claims)
            .reduce((sum, each) => sum && each && summed(sum, each)),
        }
      : null,
    retries: reports.map(({ retries }) => retries).reduce(summed),
    errors: total(({ errors }) => errors),
    secondsPerPhase: Object.fromEntries(
      Object.keys(first.secondsPerPhase).map((phase) => {
        return [phase, Math.max(...reports.map((each) => each.secondsPerPhase[phase] ?? 0))]
      }),
    ),
    operations: mergedOperations(runs),
    all: mergedOperation(runs.map(({ report, offset }) => ({ of: report.all, offset }))),
    intervals: mergedIntervals(runs),
    phases: first.phases.map((phase, index) => {
      const parts = reports.map(({ phases }) => phases[index]).filter((part) => part !== undefined)
      const sum = (of: (part: typeof phase) => number) =>
        parts.reduce((all, part) => all + of(part), 0)
      const due = phase.due === null ? null : sum((part) => part.due!)
      return phaseReport({ ...phase, due, errors: sum(({ errors }) => errors) }, added(parts))
    }),
    verification: mergedVerification(reports),
  }
}

function mergedSetUp(reports: readonly Report[]): Report['setUp'] {
  const [{ setUp }] = reports
  const machines = new Set(reports.map((report) => report.setUp.machine))
  const isLoad = ([flag]: [string, unknown]) => !(outputFlags as readonly string[]).includes(flag)
  const flags = Object.fromEntries(Object.entries(setUp.flags).filter(isLoad))
  return { ...setUp, flags, machine: [...machines].join(' and ') }
}

type Counted = { histogram: string; max: number }

/** Returns the latencies of all parts (M2). */
function added(parts: readonly Counted[]): Latencies {
  const all = new Latencies()
  for (const { histogram, max } of parts) all.add(Latencies.parse(histogram, max * 1000))
  return all
}

type Part = { of: OperationReport; offset: number }

function mergedOperation(parts: readonly Part[]): OperationReport {
  const from = Math.min(...parts.map(({ of, offset }) => offset + of.from))
  const to = Math.max(...parts.map(({ of, offset }) => offset + of.to))
  return operationReport(parts[0].of.operation, added(parts.map(({ of }) => of)), from, to)
}

function mergedOperations(runs: readonly Run[]): OperationReport[] {
  const parts = new Map<string, Part[]>()
  for (const { report, offset } of runs) {
    for (const of of report.operations) {
      const known = parts.get(of.operation) ?? []
      parts.set(of.operation, [...known, { of, offset }])
    }
  }
  return [...parts.values()].map(mergedOperation)
}

/** See M3. A second without an interval, as at the end of a slower process, is left out. */
function mergedIntervals(runs: readonly Run[]): Interval[] {
  const seconds = new Map<number, Map<Run, Interval[]>>()
  for (const run of runs) {
    for (const interval of run.report.intervals) {
      const nearest = Math.max(1, Math.round(run.offset + interval.second))
      const ofRuns = seconds.get(nearest) ?? new Map<Run, Interval[]>()
      ofRuns.set(run, [...(ofRuns.get(run) ?? []), interval])
      seconds.set(nearest, ofRuns)
    }
  }
  return [...seconds]
    .sort(([a], [b]) => a - b)
    .map(([second, ofRuns]) => mergedInterval(second, [...ofRuns.values()]))
}

function mergedInterval(second: number, ofRuns: readonly Interval[][]): Interval {
  const all = ofRuns.flat()
  const latency = added(all)
  // A run has two in a second, or none, where its intervals drift past the seconds of the first.
  const rateOf = (own: readonly Interval[]) =>
    own.reduce((sum, { rate }) => sum + rate, 0) / own.length
  return {
    second,
    phase: [...new Set(all.map(({ phase }) => phase))].join(', '),
    requests: latency.count,
    errors: all.reduce((sum, { errors }) => sum + errors, 0),
    rate: ofRuns.reduce((sum, own) => sum + rateOf(own), 0),
    ...latency.spread(),
  }
}

function mergedVerification(reports: readonly Report[]): VerifyResult | null {
  const results = reports.flatMap(({ verification }) => verification ?? [])
  if (results.length < reports.length) return null
  const differences = new Differences()
  for (const { differences: own } of results) differences.include(own)
  const tally = <T extends Tally>(of: (result: VerifyResult) => T | null): T | null => {
    const tallies = results.map(of)
    return tallies.reduce((sum, each) => sum && each && summed(sum, each))
  }
  return {
    replays: tally(({ replays }) => replays)!,
    threads: tally(({ threads }) => threads)!,
    messages: tally(({ messages }) => messages)!,
    gatheredFeeds: tally<FeedTally>(({ gatheredFeeds }) => gatheredFeeds),
    freshFeeds: tally<FeedTally>(({ freshFeeds }) => freshFeeds)!,
    searches: tally(({ searches }) => searches),
    claims: tally(({ claims }) => claims),
    differences,
  }
}

function summed<T extends Record<string, number>>(a: T, b: T): T {
  const other: Record<string, number> = b
  const numbers = Object.entries(a).map(([name, value]) => [name, value + other[name]])
  return Object.fromEntries(numbers) as T
}
