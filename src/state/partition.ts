// A search in what is ordered, for columns and lists that are read by index.

/**
 * Length of the leading part of `0..count` for which `isBefore` holds. Most who ask know all but
 * the newest: it looks back from the end in growing steps, then halves the last one.
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
