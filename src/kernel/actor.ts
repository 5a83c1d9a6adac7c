// Declares kinds of actors. A kind is an xstate machine, the layout of its context, the shapes of
// its events, and the codes that stand for its states on disk. One module declares one kind, and
// everything else about the kind is derived from that declaration: columns and checkpoint rows
// (tables), the statecharts and the table in ARCHITECTURE.md, and the generators of the property
// tests.
//
// K1. `codes` are stored on disk: a code is never renumbered, and never reused for another state.
//     test/forum/codes.test.ts pins them.
// K2. The states of a machine are the stages of an actor's life. What an actor *is* (public or
//     private, guest or persistent) never changes, so it belongs in the context.
// K3. `layout` contains exactly the fields of the machine's context.
//
// Neighbours: compile.ts runs the machine as a table; kernel/actor-table.ts and
// kernel/actor-objects.ts hold many actors of one kind.

import assert from 'node:assert/strict'
import type { AnyStateMachine } from 'xstate'
import { type CompiledMachine, compile } from './compile.ts'

/** The storage type of a field. Positions, times and numbers that may be negative need `f64`. */
export type FieldKind = 'f64' | 'u32' | 'u8' | 'text'

/** The fields of a context, in the order in which checkpoint rows hold them. */
type Layout = { readonly [field: string]: FieldKind }

/** The context that a layout describes: strings for `text` fields, numbers for all others. */
export type ContextOf<L extends Layout> = {
  -readonly [K in keyof L]: L[K] extends 'text' ? string : number
}

/** Returns the context of a new actor, whose fields are 0 and ''. */
export function blank<L extends Layout>(layout: L): ContextOf<L> {
  const fields = Object.entries(layout).map(([name, kind]) => [name, kind === 'text' ? '' : 0])
  return Object.fromEntries(fields) as ContextOf<L>
}

/** The kinds of each event's fields. A list of strings means that the field is one of them. */
type EventShapes = {
  readonly [event: string]: { readonly [field: string]: FieldKind | readonly string[] }
}

/** The union of the events that the shapes describe, discriminated by `type`. */
export type EventOf<S extends EventShapes> = {
  [T in keyof S & string]: { type: T } & { -readonly [F in keyof S[T]]: FieldOf<S[T][F]> }
}[keyof S & string]

type FieldOf<F> = F extends readonly (infer Choice)[] ? Choice : F extends 'text' ? string : number

/** A declared kind of actor. `C` is its context, `E` the union of its events, `S` its states. */
export interface ActorKind<C, E extends { type: string }, S extends string = string> {
  readonly id: string
  readonly machine: AnyStateMachine
  readonly codes: { readonly [state in S]: number }
  readonly layout: { readonly [K in keyof C]: FieldKind }
  readonly events: EventShapes
  /** The machine as a table, in which states are represented by their codes. */
  readonly compiled: CompiledMachine<C, E, S>
}

/** The context of a declared kind, as in `ContextIn<typeof thread>`. */
export type ContextIn<K> = K extends ActorKind<infer C, infer _E, infer _S> ? C : never
export type EventIn<K> = K extends ActorKind<infer _C, infer E, infer _S> ? E : never
/** The names of a declared kind's states. */
export type StateIn<K> = K extends ActorKind<infer _C, infer _E, infer S> ? S : never

/** Any kind of actor, for code that uses only the declaration. */
// biome-ignore lint/suspicious/noExplicitAny: contexts and events have no common type
export type AnyActorKind = ActorKind<any, any>

/**
 * Declares a kind of actor.
 *
 * @throws Error when the machine cannot run as a table (compile.ts, H1), or when `codes`, `layout`
 *   or `events` do not match the machine's states, context and events exactly.
 */
export function actor<
  const L extends Layout,
  const V extends EventShapes,
  const S extends string,
>(declared: {
  machine: AnyStateMachine
  codes: { readonly [state in S]: number }
  layout: L
  events: V
}): ActorKind<ContextOf<L>, EventOf<V>, S> {
  const { machine, codes, layout, events } = declared
  const compiled = compile<ContextOf<L>, EventOf<V>, S>(machine, codes)
  assertSameNames(machine.id, 'layout', layout, compiled.initialContext())
  assertSameNames(machine.id, 'events', events, compiled.eventNames)
  return { id: machine.id, machine, codes, layout, events, compiled }
}

function assertSameNames(id: string, what: string, declared: object, found: object): void {
  const names = (value: object) => (Array.isArray(value) ? value : Object.keys(value)).toSorted()
  assert.deepEqual(names(declared), names(found), `machine '${id}': ${what} of the declaration`)
}
