// Binary search, for columns and lists that are read by index.

/**
 * Returns the number of leading indexes of `0..count` for which `isBefore` holds. Most readers have
 * seen all but the newest items, so the search gallops backwards from the end before it bisects.
 */
export function partition(count: number, isBefore: (index: number) => boolean): number {
  let high = count
  let low = 0
  for (let step = 1; high > 0; step *= 2) {
    const probe = Math.max(0, high - step)
    if (isBefore(probe)) {
      low = probe + 1
      break
    }
    high = probe
  }
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
