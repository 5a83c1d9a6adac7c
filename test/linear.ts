// Whether work takes time in proportion to the length of what it reads, by processor time. The
// least of several rounds is compared, which other processes cannot make less.

const roundsMin = 5
const roundsMax = 25
/** Of one measurement; shorter work is repeated. */
const measuredUs = 3_000
/** The longer input, by the shorter one: its length is doubled twice. */
export const times = 4
/** So much longer takes four times the time, or sixteen if each part is compared with each. */
const ratioMax = 8

/** Whether the work takes about so many times as long at so many times the length. */
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

/** Processor time, in microseconds. */
export function timeOf(work: (length: number) => void, length: number, repeats = 1): number {
  const before = process.cpuUsage()
  for (let i = 0; i < repeats; i++) work(length)
  const { user, system } = process.cpuUsage(before)
  return user + system
}
