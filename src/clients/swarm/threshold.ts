// Thresholds of --fail-if, which a run must not cross: `p99>50ms`, or `reply.p99>50ms,errors>0`.

import { ConfigError } from '../../base/arguments.ts'
import type { OperationReport, Report } from './report.ts'

const metrics = ['p50', 'p90', 'p99', 'p99.9', 'max', 'rate', 'errors'] as const
type Metric = (typeof metrics)[number]

export interface Threshold {
  text: string
  /** Null: for all requests together. */
  operation: string | null
  metric: Metric
  isAbove: boolean
  /** In milliseconds, requests per second, or errors. */
  limit: number
}

/** Matches `reply.p99>50ms`. A space in an operation's name may be written as a hyphen. */
const form =
  /^(?:([a-z][a-z -]*)\.)?(p50|p90|p99\.9|p99|max|rate|errors) *([<>]) *(\d+(?:\.\d+)?)(ms|s|\/s)?$/

/** Parses thresholds that are separated by commas. Throws ConfigError. */
export function parseThresholds(
  text: string | undefined,
  operations: readonly string[],
): Threshold[] {
  if (text === undefined) return []
  return text.split(',').map((part) => {
    const match = form.exec(part.trim())
    if (match === null)
      throw new ConfigError(`--fail-if: "${part}" is not like p99>50ms or errors>0`)
    const [whole, named, metric, sign, number, unit] = match
    const operation = named?.replaceAll('-', ' ') ?? null
    if (operation !== null && !operations.includes(operation)) {
      throw new ConfigError(`--fail-if: "${named}" is none of ${operations.join(', ')}`)
    }
    if (operation !== null && metric === 'errors') {
      throw new ConfigError(`--fail-if: "${part}": errors are counted for all requests together`)
    }
    const isTime = metric.startsWith('p') || metric === 'max'
    const units = isTime ? ['ms', 's'] : metric === 'rate' ? ['/s'] : []
    if (unit !== undefined && !units.includes(unit)) {
      throw new ConfigError(`--fail-if: ${metric} is not in ${unit}`)
    }
    const limit = Number(number) * (isTime && unit === 's' ? 1000 : 1)
    return { text: whole, operation, metric: metric as Metric, isAbove: sign === '>', limit }
  })
}

/** Returns a sentence for each threshold that the run has crossed. */
export function crossed(thresholds: readonly Threshold[], report: Report): string[] {
  return thresholds.flatMap((threshold) => {
    const { text, isAbove, limit } = threshold
    const value = measured(threshold, report)
    if (value === null) return [`${text}: there was no such request`]
    const isPassed = isAbove ? value > limit : value < limit
    return isPassed ? [`${text}: it is ${Number(value.toFixed(2))}`] : []
  })
}

function measured({ operation, metric }: Threshold, report: Report): number | null {
  if (metric === 'errors') return report.errors
  const named = operation ?? 'all'
  const found = [...report.operations, report.all].find((each) => each.operation === named)
  return found === undefined || found.count === 0 ? null : found[fieldOf(metric)]
}

function fieldOf(
  metric: Exclude<Metric, 'errors'>,
): Exclude<keyof OperationReport, 'operation' | 'histogram'> {
  return metric === 'p99.9' ? 'p999' : metric
}
