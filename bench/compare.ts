// Compares sides. They are measured alternately, in reverse order every other round, so that other
// load on the machine affects all of them. The result is the median of the rounds or, for a ratio,
// the median of the rounds' ratios.

import { type Percentile, percentiles, type Seen } from './generator.ts'
import { cpuSeconds } from './process.ts'

export interface Side {
  name: string
  /** The processes whose processor time is counted, with their children. */
  pids: readonly number[]
  load(amount: Amount, round: number): Promise<Seen>
}

export interface Amount {
  connections: number
  seconds: number
}

export interface Measured {
  perSecond: number
  latencyMs: Record<Percentile, number>
  errors: number
  requests: number
  /** The server's processor time. */
  cpuUsPerRequest: number
  /** The fraction of its core that the server used. */
  busy: number
}

export interface Result extends Measured {
  side: string
  /** Requests a second in each round. */
  rounds: number[]
  /** This side's throughput relative to the first side's: median, minimum and maximum of rounds. */
  ratio: number
  ratioMin: number
  ratioMax: number
  /** The first side's processor time per request, relative to this side's. */
  cpuRatio: number
}

export async function compare(
  sides: readonly Side[],
  amount: Amount,
  rounds: number,
  onStep: (what: string) => void = () => {},
): Promise<Result[]> {
  const measured = sides.map((): Measured[] => [])
  for (let round = 0; round < rounds; round++) {
    const order = [...sides.keys()]
    if (round % 2 === 1) order.reverse()
    for (const i of order) {
      onStep(`${sides[i].name}, ${amount.connections} connections`)
      measured[i].push(await measure(sides[i], amount, round))
    }
  }
  return sides.map(({ name }, i) => summarize(name, measured[i], measured[0]))
}

async function measure({ pids, load }: Side, amount: Amount, round: number): Promise<Measured> {
  const spent = () => pids.map(cpuSeconds).reduce((a, b) => a + b)
  const before = spent()
  const { requests, seconds, latencyMs, errors } = await load(amount, round)
  const cpu = spent() - before
  return {
    perSecond: requests / seconds,
    latencyMs,
    errors,
    requests,
    cpuUsPerRequest: (cpu / requests) * 1e6,
    busy: cpu / seconds,
  }
}

function summarize(side: string, rounds: Measured[], base: Measured[]): Result {
  const of = (value: (each: Measured) => number) => median(rounds.map(value))
  const sum = (value: (each: Measured) => number) => rounds.map(value).reduce((a, b) => a + b)
  const latency = percentiles.map((p) => [p, of(({ latencyMs }) => latencyMs[p])])
  const rates = rounds.map(({ perSecond }) => perSecond)
  const ratios = rates.map((rate, i) => rate / base[i].perSecond)
  return {
    side,
    rounds: rates,
    perSecond: of(({ perSecond }) => perSecond),
    latencyMs: Object.fromEntries(latency) as Measured['latencyMs'],
    errors: sum(({ errors }) => errors),
    requests: sum(({ requests }) => requests),
    cpuUsPerRequest: of(({ cpuUsPerRequest }) => cpuUsPerRequest),
    busy: of(({ busy }) => busy),
    ratio: median(ratios),
    ratioMin: Math.min(...ratios),
    ratioMax: Math.max(...ratios),
    cpuRatio: median(rounds.map((each, i) => base[i].cpuUsPerRequest / each.cpuUsPerRequest)),
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
