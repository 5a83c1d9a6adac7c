// The target of --find-limit, and the search for the highest rate that keeps it: which rate is
// tried next, and which one is the limit. It runs nothing itself: its caller runs a step at each
// rate that it yields, and says whether the rate was kept.
//
//   double the rate while it is kept ─▶ bisect, to within 5 % ─▶ run the highest kept rate again
//                                                    ▲  not kept: the next lower one that was │
//                                                    └────────────────────────────────────────┘
// S1. A rate that is not kept is tried a second time before it counts as too high, because a single
//     pause of a machine would otherwise end the search far below the limit.
// S2. The limit was kept in at least two steps, one of them the last. Null: no rate was.

import { ConfigError } from '../../base/arguments.ts'

/** A percentile of the latencies, and the limit below which it must stay. */
export interface Target {
  text: string
  percentile: number
  limitMs: number
}

const targetForm = /^p(\d\d?(?:\.\d{1,3})?) *< *(\d+(?:\.\d+)?)(ms|s)$/

/** Parses a target. Throws ConfigError. */
export function parseTarget(text: string): Target {
  const [, percent, number, unit] = targetForm.exec(text.trim()) ?? []
  const percentile = Number(percent)
  const limitMs = Number(number) * (unit === 's' ? 1000 : 1)
  if (percentile > 0 && limitMs > 0) return { text, percentile, limitMs }
  throw new ConfigError(
    `--find-limit takes a percentile and its limit, like p99<20ms, not "${text}"`,
  )
}

/** The bisection ends when the rates between which the limit lies differ by no more than this. */
export const precision = 0.05

/** Yields rates from 1 to `max`, beginning with `first`; returns the highest that is kept. */
export function* searchLimit(
  first: number,
  max: number,
): Generator<number, number | null, boolean> {
  const kept: number[] = []
  let [low, high] = [0, max + 1]
  for (let rate = first; high - low > Math.max(1, low * precision); ) {
    if (yield* isKept(rate)) {
      kept.push(rate)
      low = rate
    } else high = rate
    rate = high > max ? Math.min(low * 2, max) : Math.floor((low + high) / 2)
  }
  for (const rate of kept.reverse()) {
    if (yield* isKept(rate)) return rate
  }
  return null
}

/** Tries a rate, and once more if it is not kept (S1). */
function* isKept(rate: number): Generator<number, boolean, boolean> {
  return (yield rate) || (yield rate)
}
