// Whether work takes time in proportion to the length of what it reads, by processor time. The
// least of several rounds is compared, which other processes cannot make less.

const roundsMin = 5
const roundsMax = 25
/** Of one measurement; shorter work is repeated. */
const measuredUs = 3_000
/** Twice the length takes twice the time, or four times if each part is compared with each. */
const ratioMax = 3

/** Whether the work takes about twice as long at twice the length. */
export function isLinear(work: (length: number) => void, length: number): boolean {
  let repeats = 1
  while (timeOf(work, length, repeats) < measuredUs) repeats *= 2
  let [single, double] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 1; round <= roundsMax; round++) {
    single = Math.min(single, timeOf(work, length, repeats))
    double = Math.min(double, timeOf(work, 2 * length, repeats))
    if (round >= roundsMin && double < ratioMax * single) return true
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
