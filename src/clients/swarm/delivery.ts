// Delivers a report: prints it, writes it to files, compares it with an earlier one and with
// limits, and derives the exit code from it.
//
// D1. Files that cannot be read or written are reported before the run, not after it.

import { open, writeFile } from 'node:fs/promises'
import { ConfigError } from '../../base/arguments.ts'
import {
  compare,
  comparisonLines,
  type Earlier,
  readReport,
  setUpDifferences,
} from './comparison.ts'
import { htmlReport } from './html-report.ts'
import type { Destinations } from './options.ts'
import type { Output, Progress } from './progress.ts'
import { type Report, summary } from './report.ts'
import { crossed } from './threshold.ts'

/** Where a run writes: the report to stdout, progress and warnings to stderr. */
export type Outputs = { stdout: Output; stderr: Output }

export const standardOutput = '-'
const exitCodes = { same: 0, differs: 1, thresholdPassed: 2, interrupted: 130 }

export class Delivery {
  readonly #to: Destinations
  readonly #earlier: Earlier | null
  readonly #outputs: Outputs
  readonly #progress: Progress

  private constructor(
    to: Destinations,
    earlier: Earlier | null,
    outputs: Outputs,
    progress: Progress,
  ) {
    this.#to = to
    this.#earlier = earlier
    this.#outputs = outputs
    this.#progress = progress
  }

  /** Checks the files (D1). Throws ConfigError. */
  static async prepare(to: Destinations, outputs: Outputs, progress: Progress): Promise<Delivery> {
    const earlier = to.compare === null ? null : await readReport(to.compare)
    for (const file of [to.json, to.html, to.csv]) {
      if (file !== null && file !== standardOutput) await mustBeWritable(file)
    }
    return new Delivery(to, earlier, outputs, progress)
  }

  /** Resolves to the exit code. */
  async deliver(report: Report): Promise<number> {
    const { json, html, csv, failIf } = this.#to
    const { stdout } = this.#outputs
    const earlier = this.#earlier
    const compared = earlier && compare(earlier, report)
    const warnings = earlier === null ? [] : setUpDifferences(earlier, report)
    const isLines = json === standardOutput
    if (isLines) stdout.write(`${JSON.stringify(report)}\n`)
    else if (json !== null) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`)
    if (html !== null) await writeFile(html, htmlReport(report, compared, warnings))
    if (csv !== null) await writeFile(csv, intervalsAsCsv(report))
    if (!isLines) stdout.write(summary(report))

    const say = (line: string) => {
      if (isLines) this.#progress.say(line)
      else stdout.write(`${line}\n`)
    }
    for (const warning of warnings) say(warning)
    for (const line of compared === null ? [] : comparisonLines(compared)) say(line)
    const failures = crossed(failIf, report)
    for (const failure of failures) say(`--fail-if ${failure}`)
    const { verification } = report
    if (verification === null) return exitCodes.interrupted
    if (verification.differences.count > 0) return exitCodes.differs
    const isPassed = failures.length > 0 || report.limit?.rate === null
    return isPassed ? exitCodes.thresholdPassed : exitCodes.same
  }
}

export async function mustBeWritable(file: string): Promise<void> {
  try {
    await (await open(file, 'a', 0o600)).close()
  } catch (error) {
    throw new ConfigError(`${file}: cannot be written: ${(error as Error).message}`)
  }
}

/** Returns a line for each interval, by the time at which it ended. */
function intervalsAsCsv({ startedAt, intervals }: Report): string {
  const begunMs = Date.parse(startedAt)
  const rows = intervals.map(({ second, phase, requests, errors, rate, p50, p90, p99, max }) => {
    const time = new Date(begunMs + second * 1000).toISOString()
    const latencies = [p50, p90, p99, max].map((ms) => ms.toFixed(3))
    return [time, second.toFixed(3), quoted(phase), requests, errors, rate.toFixed(1), ...latencies]
  })
  const head = 'time,second,phase,requests,errors,rate,p50_ms,p90_ms,p99_ms,max_ms'
  return `${[head, ...rows].join('\n')}\n`
}

/** RFC 4180, 2. A scenario names its phases. */
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
