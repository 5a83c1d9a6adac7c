// Tests whether work takes processor time in proportion to the length of its input.

const roundsMin = 5
const roundsMax = 100
/** The least processor time of one measurement, in microseconds. Shorter work is repeated. */
const measuredUs = 10_000
/** How much longer than `length` the longer input is, and how much shorter the shorter one. */
export const times = 4
/**
 * As much input in pieces of 16 times the length takes linear work about as long, where less of it
 * fits into a processor's caches up to four times as long, and quadratic work 16 times as long.
 */
const ratioMax = 6

/**
 * Returns whether the time grows by about the same factor as the length. The work on one long input
 * is compared with that on 16 short ones: where a processor is shared with other machines,
 * whatever takes longer is interrupted more often. The minimum of several rounds counts, because
 * an interruption can only make a round longer. A string of the longer input should have less than
 * 128 KB: V8 gives a larger one memory of its own, at four times the cost for each character.
 */
export function isLinear(work: (length: number) => void, length: number): boolean {
  let repeats = 1
  while (timeOf(work, times * length, repeats) < measuredUs) repeats *= 2
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 1; round <= roundsMax; round++) {
    short = Math.min(short, timeOf(work, length / times, times * times * repeats))
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
