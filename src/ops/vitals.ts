// What operators may know of a node: node/server.ts fills it in as the node starts, ops/ shows it.

import type { Journal } from '../../wal/journal/journal.ts'
import type { Availability } from '../http/handle.ts'
import type { Load } from '../http/load.ts'
import type { Meter } from '../http/meter.ts'
import type { State } from '../state/state.ts'

/** Of the checkpoints that this process took; `position` also of the one that it began with. */
export interface CheckpointStats {
  taken: number
  failed: number
  /** Of the newest: its place in the log, since when it is there, how long it took. */
  position: number
  ageSeconds(): number
  seconds: number
  bytes: number
  /** How long the newest one held up everything to begin; the rest is done in slices. */
  beginSeconds: number
}

/** Of the log (log.ts). */
export interface LogOutput {
  /** Lines that standard output did not take, since the start. */
  readonly linesDropped: number
  /** What an operator should know, a sentence each. */
  readonly warnings: string[]
}

/** Of the scrubs of page files by this process. */
export interface ScrubStats {
  /** Bytes of page files that were read. */
  bytes: number
  /** Damaged pages that were written anew: from parity, from memory by a checkpoint. */
  byParity: number
  byMemory: number
  /** Since a pass over all page files ended; NaN: none has. */
  ageSeconds(): number
  /** Damaged pages that the pass which ended last has found. */
  found: number
}

/** Known from the start. */
interface Positioned {
  version: string
  /** Which HTTP server answers. */
  http: string
  durability: string
  availability: Availability
  meter: Meter
  load: Load
  memoryBytesMax: number
  state: State
  logOutput: LogOutput
}

export interface Vitals extends Positioned {
  /** Null until the log is replayed. */
  journal: Journal | null
  /** Bytes of the log that have been replayed, and all there are. */
  replayed: { bytes: number; ofBytes: number }
  /** How many answers wait for the log. */
  gateLength(): number
  /** What is not as it should be, though requests are answered. */
  warnings(): string[]
  /** How often the system clock was set, by a minute or more. */
  clockStepsBack: number
  clockStepsAhead: number
  /** By how many milliseconds the system clock is behind forum time (forum/clock.ts). */
  clockBehindMs(): number
  clockWarnings(): string[]
  checkpoints: CheckpointStats
  scrub: ScrubStats
}

/** Of a process that has taken none. */
export const noCheckpoints: Readonly<CheckpointStats> = {
  taken: 0,
  failed: 0,
  position: 0,
  ageSeconds: () => Number.NaN,
  seconds: 0,
  bytes: 0,
  beginSeconds: 0,
}

/** Of a log that is not written to standard output. */
export const allWritten: LogOutput = { linesDropped: 0, warnings: [] }

/** Of a process that has scrubbed nothing. */
export const noScrub: Readonly<ScrubStats> = {
  bytes: 0,
  byParity: 0,
  byMemory: 0,
  ageSeconds: () => Number.NaN,
  found: 0,
}

/** The vitals of a node that has not replayed its log yet. */
export function newVitals(given: Positioned): Vitals {
  const replayed = { bytes: 0, ofBytes: 0 }
  return {
    ...given,
    journal: null,
    replayed,
    gateLength: () => 0,
    warnings: () => [],
    clockStepsBack: 0,
    clockStepsAhead: 0,
    clockBehindMs: () => 0,
    clockWarnings: () => [],
    checkpoints: noCheckpoints,
    scrub: noScrub,
  }
}
