// Tests whether work takes processor time in proportion to the length of its input. The minimum of
// several rounds is compared, because other processes can only make a round longer.

const roundsMin = 5
const roundsMax = 100
/** The least processor time of one measurement. Shorter work is repeated. */
const measuredUs = 3_000
/** The ratio of the longer input's length to the shorter one's: two doublings. */
export const times = 4
/** At this ratio linear work takes four times the time, and quadratic work sixteen times. */
const ratioMax = 8

/** Returns whether the time grows by about the same factor as the length. */
export function isLinear(work: (length: number) => void, length: number): boolean {
  let repeats = 1
  while (timeOf(work, length, repeats) < measuredUs) repeats *= 2
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 1; round <= roundsMax; round++) {
    short = Math.min(short, timeOf(work, length, repeats))
    long = Math.min(long, timeOf(work, times * length, repeats))
    if (round >= roundsMin && long < ratioMax * short) return true
  }
  return false
}

/** Returns the processor time, in microseconds. */
export function timeOf(work: (length: number) => void, length: number, repeats = 1): number {
  const before = process.cpuUsage()
  for (let i = 0; i < repeats; i++) work(length)
  const { user, system } = process.cpuUsage(before)
  return user + system
}
