// Judges by rule whether something grows that must not: memory, descriptors, latency, lag or the
// log, sampled over a run of several lives of a node.
//
// G1. The slope of a series is the median of those between all pairs of its samples (Theil-Sen), so
//     that neither the teeth of a saw nor single peaks count. The memory of a process that collects
//     its garbage every few minutes is judged by its floor: the lowest value of the second half of
//     the series, beside that of the first half.
// G2. A rule for lives takes the median of the slopes of the lives, each without its beginning, in
//     which caches fill. A rule for the run takes that of all of those samples together.
// G3. A rule fails if the slope exceeds what the load explains, and if what it exceeds it by, over
//     the time that was looked at, is more than the noise of the value.
// G4. Times depend on the machine's other work. They are judged only in runs that are long enough.

/** What was measured at one time. */
export interface Sample {
  second: number
  /** The number of the node's life. */
  life: number
  /** The records of the log. */
  records: number
  /** The measured values, by name. */
  values: Readonly<Record<string, number>>
}

export interface Rule {
  name: string
  unit: string
  over: 'life' | 'run'
  /** Whether only the lowest values count (G1). */
  isFloor: boolean
  /** How much it may grow in an hour, whatever is written. */
  perHour: number
  /** How much it may grow for each record of the log. */
  perRecord: number
  /** A growth that is not more than this, or than this share of the value, is noise. */
  noise: number
  noiseShare: number
  /** Judged only if the node was looked at for so long. */
  minutesMin: number
}

export interface Verdict {
  rule: Rule
  /** In an hour, and how many records were written in it. */
  slope: number
  records: number
  allowed: number
  /** The growth beyond what is allowed, over the time that was looked at. */
  excess: number
  isJudged: boolean
  isPassed: boolean
}

/** So much of each life is its beginning, at most. */
const beginningSeconds = 120
const beginningShare = 0.25

export function judge(rule: Rule, samples: readonly Sample[]): Verdict {
  const numbers = [...new Set(samples.map(({ life }) => life))]
  const lives = numbers.map((n) => settledOf(samples.filter(({ life }) => life === n)))
  const series = rule.over === 'run' ? [lives.flat()] : lives
  const known = series.filter((each) => each.length >= 3)
  const judged = ({ values }: Sample) => values[rule.name]!
  const slopeIn = rule.isFloor ? slopeOfFloor : slopeOf
  const slope = median(known.map((each) => slopeIn(each, judged)))
  const records = median(known.map((each) => slopeOf(each, (sample) => sample.records)))
  const allowed = rule.perHour + rule.perRecord * Math.max(0, records)
  const share = rule.isFloor ? 0.5 : 1
  const hours = share * median(known.map(hoursOf))
  const excess = (slope - allowed) * hours
  const middle = median(known.flat().map(judged))
  const isJudged = known.length > 0 && samples.at(-1)!.second >= rule.minutesMin * 60
  const isPassed = !isJudged || excess <= Math.max(rule.noise, rule.noiseShare * middle)
  return { rule, slope, records, allowed, excess, isJudged, isPassed }
}

/** Returns the samples of a life without its beginning. */
function settledOf(life: readonly Sample[]): Sample[] {
  const [begun, ended] = [life[0]!.second, life.at(-1)!.second]
  const beginning = Math.min(beginningSeconds, (ended - begun) * beginningShare)
  return life.filter(({ second }) => second >= begun + beginning)
}

/** Returns the slope of a value in an hour (G1). */
export function slopeOf(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const slopes: number[] = []
  for (const [i, one] of samples.entries()) {
    for (const other of samples.slice(i + 1)) {
      const hours = (other.second - one.second) / 3600
      if (hours > 0) slopes.push((value(other) - value(one)) / hours)
    }
  }
  return median(slopes)
}

/** Returns the growth of the lowest value from half to half, in an hour (G1). */
function slopeOfFloor(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const half = Math.floor(samples.length / 2)
  const lowest = (part: readonly Sample[]) => Math.min(...part.map(value))
  return (lowest(samples.slice(half)) - lowest(samples.slice(0, half))) / (hoursOf(samples) / 2)
}

function hoursOf(samples: readonly Sample[]): number {
  return (samples.at(-1)!.second - samples[0]!.second) / 3600
}

/** Returns the median; NaN if there is no value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}
