// One kind of record: how it stands in the log, and what it does to the state.
//
// K1. A record carries its whole effect, its receipt included: a command is one record.
// K2. `apply` is the only code that changes state, while serving and at recovery. It cannot say no:
//     a record is in the log, so it has happened. It reads no clock and no chance.
// K3. The fields of a code and version never change their meaning; another shape, another version.

import type { State } from '../../state/state.ts'

/** Every record has its type and its time, in milliseconds since the epoch. */
export interface Timed {
  type: string
  at: number
}

export interface RecordKind<R extends Timed> {
  /** Its number in the log; never used again for another kind. */
  code: number
  version: number
  /** In the order in which they stand in the log, after the time. */
  fields: readonly Exclude<keyof R, 'type' | 'at'>[]
  /** Fields that a later version put at the end: what rows written before it stand for. */
  added?: Partial<R>
  apply(state: State, position: number, record: R): void
}

/** Declares a kind of record; the type parameter is the record's shape. */
export function kind<R extends Timed>(declared: RecordKind<R>): RecordKind<R> {
  return declared
}
