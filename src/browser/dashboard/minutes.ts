// The samples of a chart by minute, for a table: of times the longest, of other values the mean.

import type { History } from './history.ts'
import { emptyOf, type Line } from './status.ts'

export interface Minute {
  /** Minutes since 1970. */
  minute: number
  /** One for each line. */
  values: (number | null)[]
}

/** The minutes, newest first. `startedAt`: when the node started, in seconds since 1970. */
export function byMinute(history: History, startedAt: number, lines: readonly Line[]): Minute[] {
  const minuteOf = history.at.map((at) => Math.floor((startedAt + at) / 60))
  const minutes = [...new Set(minuteOf)].reverse()
  return minutes.map((minute) => ({
    minute,
    values: lines.map(({ column }) => {
      if (typeof column === 'number') return column
      const of = history.column(column).filter((_, i) => minuteOf[i] === minute)
      const known = of.filter((value) => value !== null)
      if (known.length === 0) return null
      if (emptyOf(column) === null) return Math.max(...known)
      return known.reduce((sum, value) => sum + value, 0) / known.length
    }),
  }))
}
