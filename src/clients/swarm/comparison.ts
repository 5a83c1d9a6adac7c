// --compare: this run beside an earlier one, from the report that --json FILE wrote.

import { readFile } from 'node:fs/promises'
import { ConfigError, unreadable } from '../../base/arguments.ts'
import { type OperationReport, type Report, row } from './report.ts'

export interface Compared {
  operation: string
  /** Of the earlier run and of this one, in requests per second; the others in milliseconds. */
  rate: [before: number, now: number]
  p50: [before: number, now: number]
  p99: [before: number, now: number]
}

export type Earlier = Pick<Report, 'operations' | 'all'> & Partial<Report>

/** Returns the report in the file: the last of its JSON lines, or all of it. Throws ConfigError. */
export async function readReport(file: string): Promise<Earlier> {
  let value: unknown
  try {
    const text = await readFile(file, 'utf8')
    value = JSON.parse(text.startsWith('{\n') ? text : text.trim().split('\n').at(-1)!)
  } catch (error) {
    throw new ConfigError(unreadable(file, error))
  }
  const { all, operations } = (value ?? {}) as Partial<Earlier>
  const isReport = (each: unknown) => typeof (each as OperationReport)?.p99 === 'number'
  if (Array.isArray(operations) && [...operations, all].every(isReport)) return value as Earlier
  throw new ConfigError(`${file}: is not a report that --json has written`)
}

/** Returns the operations that both runs have performed. */
export function compare(before: Earlier, now: Earlier): Compared[] {
  const earlier = new Map([...before.operations, before.all].map((each) => [each.operation, each]))
  return [...now.operations, now.all].flatMap((each) => {
    const other = earlier.get(each.operation)
    if (other === undefined) return []
    return {
      operation: each.operation,
      rate: [other.rate, each.rate],
      p50: [other.p50, each.p50],
      p99: [other.p99, each.p99],
    }
  })
}

const comparedFlags = [
  ...['batch', 'burst', 'duration', 'mentions'],
  ...['scenario', 'search', 'sizes', 'skew', 'wait'],
]

/** The conditions of a run that affect its figures. An older report may lack some of them. */
const setUp = {
  url: ({ url }: Partial<Report>) => url,
  version: ({ server }: Partial<Report>) => server?.version,
  durability: ({ server }: Partial<Report>) => server?.durability,
  connections: ({ connections }: Partial<Report>) => connections,
  rate: ({ targetRate }: Partial<Report>) => targetRate,
  identities: ({ identities }: Partial<Report>) => identities,
  idle: ({ idle }: Partial<Report>) => idle,
  threads: ({ threads }: Partial<Report>) => threads,
  swarm: ({ setUp }: Partial<Report>) => setUp?.version,
  node: ({ setUp }: Partial<Report>) => setUp?.node,
  machine: ({ setUp }: Partial<Report>) => setUp?.machine,
  ...Object.fromEntries(comparedFlags.map((flag) => [flag, flagOf(flag)])),
}

function flagOf(flag: string) {
  return ({ setUp }: Partial<Report>) => setUp && (setUp.flags[flag] ?? 'none')
}

/** Returns everything in which the set-ups of two runs differ, as `rate none -> 100`. */
export function differencesInSetUp(before: Partial<Report>, now: Partial<Report>): string[] {
  return Object.entries(setUp).flatMap(([name, of]) => {
    const [first, second] = [of(before), of(now)]
    return first === undefined || first === second
      ? []
      : `${name} ${first ?? 'none'} -> ${second ?? 'none'}`
  })
}

/** Returns a warning that names everything in which the set-ups of the runs differ, or nothing. */
export function setUpDifferences(before: Earlier, now: Report): string[] {
  const differences = differencesInSetUp(before, now)
  return differences.length === 0 ? [] : [`the set-ups differ: ${differences.join(', ')}`]
}

/** Returns the values of both runs, with their ratios, as a table. */
export function comparisonLines(compared: readonly Compared[]): string[] {
  const cellsOf = ([before, now]: [number, number], digits: number) => [
    before.toFixed(digits),
    now.toFixed(digits),
    before === 0 ? '-' : (now / before).toFixed(2),
  ]
  const head = ['rate/s', 'p50 ms', 'p99 ms'].flatMap((name) => [name, 'now', 'ratio'])
  return [
    row(['', ...head]),
    ...compared.map(({ operation, rate, p50, p99 }) => {
      return row([operation, ...cellsOf(rate, 0), ...cellsOf(p50, 2), ...cellsOf(p99, 2)])
    }),
  ]
}
