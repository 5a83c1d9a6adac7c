// The phases of a scenario: runs one after the other, and reports the latencies of its messages.

import type { Latencies, Spread } from './latencies.ts'
import { Pace } from './pace.ts'
import { grouped } from './progress.ts'
import type { ScenarioPhase } from './scenario.ts'
import { runStep, type Stage } from './steps.ts'

/** The latencies count from when messages were due. */
export type PhaseReport = Spread & {
  name: string
  seconds: number
  /** The messages that were due; null: as many as were answered. Those not sent were too late. */
  due: number | null
  sent: number
  errors: number
}

/** Runs the phases, and adds a report of each to `reports` when it ends. */
export async function runPhases(
  stage: Stage,
  phases: readonly ScenarioPhase[],
  reports: PhaseReport[],
): Promise<void> {
  for (const { name, seconds, rate, burst } of phases) {
    const perSecond = burst ?? rate ?? null
    const due = perSecond === null ? null : perSecond * seconds
    const isBurst = burst !== undefined
    const pace = new Pace(perSecond, { isBurst, ...(due !== null && { count: due }) })
    const { phase, errors } = await runStep(stage, { name, pace, due, seconds, graceMs: 0 })
    const { latency } = pace
    const report = phaseReport({ name, seconds, due, errors }, latency)
    reports.push(report)
    phase.end(`: p50 ${report.p50.toFixed(2)} p99 ${report.p99.toFixed(2)} ms`)
  }
}

type PhaseCounts = Pick<PhaseReport, 'name' | 'seconds' | 'due' | 'errors'>

export function phaseReport(counts: PhaseCounts, latency: Latencies): PhaseReport {
  return { ...counts, sent: latency.count, ...latency.spread() }
}

export function phaseTable(reports: readonly PhaseReport[]): string[][] {
  return [
    ['phase', 'due', 'sent', 'rate/s', 'p50 ms', 'p90', 'p99', 'max', 'lost'],
    ...reports.map(({ name, seconds, due, sent, errors, p50, p90, p99, max }) => [
      name,
      due === null ? '-' : grouped(due),
      grouped(sent),
      grouped(Math.round(sent / seconds)),
      ...[p50, p90, p99, max].map((value) => value.toFixed(2)),
      grouped(errors),
    ]),
  ]
}
