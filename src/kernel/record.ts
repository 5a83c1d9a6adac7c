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
  fields: readonly Exclude<keyof R, 'type' | 'at'>[]
  apply(state: State, position: number, record: R): void
}

/** In a declaration, the type of a field. */
interface Field<T> {
  /** For the compiler: fields have no value. */
  readonly value?: T
  readonly isOptional?: true
}

interface OptionalField<T> extends Field<T> {
  readonly isOptional: true
}

export function field<T>(): Field<T> {
  return {}
}

/** Records may lack the field. */
export function optional<T>(_: Field<T>): OptionalField<T> {
  return { isOptional: true }
}

export const number = field<number>()
export const numbers = field<readonly number[]>()
export const text = field<string>()
export const texts = field<readonly string[]>()
export const flag = field<boolean>()

type Fields = Readonly<Record<string, Field<unknown>>>
type ValueOf<D> = D extends Field<infer T> ? T : never
type OptionalIn<F extends Fields> = {
  [N in keyof F]: F[N] extends OptionalField<unknown> ? N : never
}[keyof F]

/** A record with these fields. */
export type RecordWith<F extends Fields> = Timed & {
  -readonly [N in Exclude<keyof F, OptionalIn<F>>]: ValueOf<F[N]>
} & { -readonly [N in OptionalIn<F>]?: ValueOf<F[N]> }

interface DeclaredKind<F extends Fields> {
  code: number
  version: number
  /** In their order in the log. */
  fields: F
  apply(state: State, position: number, record: RecordWith<F>): void
}

/** Declares a kind of record. The values that `apply` gets have the types of the fields. */
export function kind<F extends Fields>(declared: DeclaredKind<F>): RecordKind<RecordWith<F>> {
  return { ...declared, fields: Object.keys(declared.fields) as never[] }
}
