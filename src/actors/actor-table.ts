// Many actors of one machine whose context holds only numbers: a column for the state and one for
// every field. Millions of them cost the garbage collector nothing.
//
//              states   createdAt   messageCount   …
//   actor 0      2       17…           3
//   actor 1      1       17…           9
//
// A1. An actor is its row: a step reads and writes the row's cells and nothing else.
// A2. A cell holds exactly what the machine assigned; a value its column cannot hold throws.
//
// How: the machine runs on one actor whose context is a window on a row: each field is a getter and
// a setter on its column, so a step touches only the fields that the machine touches.
//
// Neighbours: compile.ts steps; state/column.ts holds; checkpoints copy the columns.

import assert from 'node:assert/strict'

import type { Column } from '../state/column.ts'
import { Float64Column, Uint8Column, Uint32Column } from '../state/column.ts'
import type { Actor, CompiledMachine } from './compile.ts'

/** What each field of a context is held in. Positions and times need `f64`. */
export type Layout<C> = { readonly [K in keyof C]: 'f64' | 'u32' | 'u8' }

const columnKinds = { f64: Float64Column, u32: Uint32Column, u8: Uint8Column }

/** Actors of one machine, numbered densely from 0. */
export class ActorTable<C extends Record<string, number>, E extends { type: string }> {
  /** The number of each actor's state. */
  readonly states = new Uint8Column()
  /** A column for each field of the context, by actor number. */
  readonly columns: { readonly [K in keyof C]: Column }
  readonly #machine: CompiledMachine<C, E>
  readonly #initial: C
  readonly #window: Actor<C>
  #row = 0

  constructor(machine: CompiledMachine<C, E>, layout: Layout<C>) {
    this.#machine = machine
    this.#initial = machine.initialContext()
    assert.deepEqual(Object.keys(layout).sort(), Object.keys(this.#initial).sort())
    const columns = Object.entries(layout).map(([field, kind]) => [field, new columnKinds[kind]()])
    this.columns = Object.fromEntries(columns)
    this.#window = { state: machine.initialState, context: this.#windowOn(this.columns) }
  }

  /** How many actors there are. */
  get count(): number {
    return this.states.length
  }

  /** The columns by name, the states among them. */
  get stores(): Record<string, Column> {
    return { states: this.states, ...this.columns }
  }

  /** Adds an actor in the initial state and context; returns its number. */
  add(): number {
    for (const field in this.#initial) this.columns[field].push(this.#initial[field])
    return this.states.push(this.#machine.initialState)
  }

  /** Runs one event on actor `n`; true when a row was taken. RangeError when it is not there. */
  step(n: number, event: E): boolean {
    const window = this.#window
    const before = this.states.get(n)
    this.#row = n
    window.state = before
    const taken = this.#machine.step(window, event)
    if (window.state !== before) this.states.set(n, window.state)
    return taken
  }

  /** The number of actor `n`'s state. */
  state(n: number): number {
    return this.states.get(n)
  }

  /** One field of actor `n`'s context. */
  get(n: number, field: keyof C): number {
    return this.columns[field].get(n)
  }

  #windowOn(columns: { readonly [K in keyof C]: Column }): C {
    // A prototype of its own keeps it fast: of two objects that grow from the same start and define
    // the same field by different accessors, V8 makes the second a dictionary (80 -> 240 ns).
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
