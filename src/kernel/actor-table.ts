// Holds many actors of one kind whose context contains only numbers, in one column for the state
// and one for each field. Millions of them cost the garbage collector nothing.
//
//              states   author   messageCount   …
//   actor 0      1        17          3
//   actor 1      1         9          9
//
// R1. An actor is its row: a step reads and writes the row's cells, and nothing else.
// R2. A cell contains exactly the value that the machine assigned. A value that its column cannot
//     hold throws.
//
// The machine runs on a single actor object whose context is a window onto a row: each field is a
// getter and a setter on its column, so a step accesses only the fields that the machine accesses.
//
// Neighbours: kernel/compile.ts runs the steps; kernel/columns/column.ts holds the values, which
// checkpoints save.

import type { ActorKind, FieldKind } from './actor.ts'
import { type Column, Float64Column, Uint8Column, Uint32Column } from './columns/column.ts'
import type { Actor } from './compile.ts'

const columnKinds = { f64: Float64Column, u32: Uint32Column, u8: Uint8Column }

/** Actors of one kind, numbered densely from 0. */
export class ActorTable<
  C extends Record<string, number>,
  E extends { type: string },
  S extends string,
> {
  readonly states = new Uint8Column()
  /** A column for each field of the context, by actor number. */
  readonly columns: { readonly [K in keyof C]: Column }
  readonly #kind: ActorKind<C, E, S>
  readonly #initial: C
  readonly #window: Actor<C>
  #row = 0

  /** Throws if a field of the kind's layout is a text. */
  constructor(kind: ActorKind<C, E, S>) {
    this.#kind = kind
    this.#initial = kind.compiled.initialContext()
    const columns = Object.entries<FieldKind>(kind.layout).map(([field, type]) => {
      if (type === 'text') throw new Error(`${kind.id}.${field} is a text, which no column holds`)
      return [field, new columnKinds[type]()]
    })
    this.columns = Object.fromEntries(columns)
    const context = this.#windowOn(this.columns)
    this.#window = { state: kind.compiled.initialState, context }
  }

  get count(): number {
    return this.states.length
  }

  /** The columns by name, including the states: the stores that a checkpoint saves. */
  get stores(): Record<string, Column> {
    return { states: this.states, ...this.columns }
  }

  /** Adds an actor in the initial state and context; returns its number. */
  add(): number {
    for (const field in this.#initial) this.columns[field].push(this.#initial[field])
    return this.states.push(this.#kind.compiled.initialState)
  }

  state(n: number): S {
    return this.#kind.compiled.stateName(this.states.get(n))
  }

  /** Returns one field of the actor's context. */
  get<K extends keyof C & string>(n: number, field: K): C[K] {
    return this.columns[field].get(n) as C[K]
  }

  /** Returns whether the actor accepts the event now. Changes nothing. */
  may(n: number, event: E): boolean {
    this.#row = n
    this.#window.state = this.states.get(n)
    return this.#kind.compiled.may(this.#window, event)
  }

  /** Sends the actor an event that has happened (kernel/compile.ts, T4). */
  tell(n: number, event: E): void {
    const window = this.#window
    const before = this.states.get(n)
    this.#row = n
    window.state = before
    this.#kind.compiled.tell(window, event)
    if (window.state !== before) this.states.set(n, window.state)
  }

  #windowOn(columns: { readonly [K in keyof C]: Column }): C {
    // A prototype of its own keeps the object fast: when two objects of the same initial shape
    // define different accessors for a field, V8 turns the second into a dictionary (80 -> 240 ns
    // per step).
    const context = Object.create({})
    for (const [field, column] of Object.entries<Column>(columns)) {
      Object.defineProperty(context, field, {
        enumerable: true,
        get: () => column.get(this.#row),
        set: (value: number) => column.set(this.#row, value),
      })
    }
    return context
  }
}
