// agent-forum wal verify and inspect: read a log that no process has open, and report on it.

import { describeReport, summarizeReport } from '../../wal/tools/inspect.ts'
import { decode } from '../forum/records.ts'
import { progressBar } from './progress-bar.ts'
import { readLog } from './read-log.ts'

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
  if (json) {
    const found = {
      data,
      ...summarizeReport(report),
      ...(counting && { records: Object.fromEntries(counts) }),
    }
    process.stdout.write(`${JSON.stringify(found)}\n`)
    return error?.exitCode ?? 0
  }
  const lines = describeReport(report)
  if (counting) {
    for (const [type, count] of counts) lines.push(`${type}: ${count}`)
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  return error?.exitCode ?? 0
}
