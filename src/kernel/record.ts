// One kind of record: its format in the log, and its effect on the state.
//
// K1. A record carries its whole effect, its receipt included: a command is one record.
// K2. `apply` is the only code that changes state, while serving and at recovery. It cannot reject:
//     a record in the log has happened. It uses neither a clock nor randomness.
// K3. The fields of a code and version never change their meaning; a new shape is a new version.

import type { State } from '../forum/state.ts'

/** Every record has its type and its time, in milliseconds since the epoch. */
export interface Timed {
  type: string
  at: number
}

export interface RecordKind<R extends Timed> {
  /** Its number in the log, which is never reused for another kind. */
  code: number
  version: number
  /** The fields in their order in the log, after the time. */
  fields: readonly FieldOf<R>[]
  apply(state: State, position: number, record: R): void
}

type FieldOf<R extends Timed> = Exclude<keyof R, 'type' | 'at'>

/** In a declaration, `fields` has every field of the shape, or it does not compile. */
interface DeclaredKind<R extends Timed> extends Omit<RecordKind<R>, 'fields'> {
  fields: Readonly<Record<FieldOf<R>, true>>
}

/** Declares a kind of record; the type parameter is the record's shape. */
export function kind<R extends Timed>(declared: DeclaredKind<R>): RecordKind<R> {
  return { ...declared, fields: Object.keys(declared.fields) as FieldOf<R>[] }
}
