// Reads the log of a data directory, for the tools that work on one.

import { codeOf } from '../../wal/errors.ts'
import { type InspectOptions, inspectLog, type LogReport } from '../../wal/tools/inspect.ts'
import { ConfigError } from '../base/arguments.ts'

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
