// What a panel of the dashboard is made of.

import type { Held } from './status.ts'
import type { Unit } from './units.ts'

export interface Fact {
  name: string
  value: string
  /** Whether people should look at it. */
  isBad?: boolean
}

export interface Line {
  label: string
  /** The column of the samples, or a value that stays: a limit, which is drawn dashed. */
  column: string | number
}

export interface Chart {
  /** What it shows; a name for it. */
  title: string
  unit: Unit
  lines: Line[]
}

export interface Panel {
  id: string
  title: string
  /** What there is now. */
  facts: Fact[]
  chart: Chart
  /** A sentence below them. */
  note?: string
}

/** How much of a limit is used up: bad from nine tenths on. */
export function held({ now, max }: Held, unit: Unit): { value: string; isBad: boolean } {
  if (max === null || now === null) return { value: unit(now), isBad: false }
  return { value: `${unit(now)} of ${unit(max)}`, isBad: now >= 0.9 * max }
}
