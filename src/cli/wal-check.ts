// agent-forum wal verify and inspect: read a log that no process has open, and report on it.

import { codeOf } from '../../wal/errors.ts'
import {
  describeReport,
  type InspectOptions,
  inspectLog,
  type LogReport,
  summarizeReport,
} from '../../wal/tools/inspect.ts'
import { ConfigError } from '../base/arguments.ts'
import { decode } from '../forum/records.ts'
import { progressBar } from './progress-bar.ts'

/** Prints its findings; resolves to the exit code. `counting`: also counts records of each kind. */
export async function checkLog(
  data: string,
  { counting, json }: { counting: boolean; json: boolean },
): Promise<number> {
  const counts = new Map<string, number>()
  const bar = progressBar('read')
  const report = await readLog(data, {
    onRecord(_, row) {
      const { type } = decode(row)
      counts.set(type, (counts.get(type) ?? 0) + 1)
    },
    onProgress: bar.at,
  }).finally(bar.stop)
  const { error } = report
  if (error !== null && error.exitCode !== 77) throw error
  const code = error?.exitCode ?? 0
  process.exitCode = code // also if nobody reads the findings to their end
  if (json) {
    const found = {
      data,
      ...summarizeReport(report),
      ...(counting && { records: Object.fromEntries(counts) }),
    }
    process.stdout.write(`${JSON.stringify(found)}\n`)
    return code
  }
  const lines = describeReport(report)
  if (counting) {
    for (const [type, count] of counts) lines.push(`${type}: ${count}`)
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  return code
}

/**
 * Returns the report of `inspectLog`. Throws a ConfigError if there is no log at all, because a
 * mistyped directory must not be taken for a whole log.
 */
export async function readLog(data: string, options: InspectOptions): Promise<LogReport> {
  const report = await inspectLog(data, options)
  const isMissing = codeOf(report.error?.cause) === 'ENOENT'
  if (report.files.length === 0 && (report.error === null || isMissing)) {
    throw new ConfigError(`there is no log in ${data}`)
  }
  return report
}
