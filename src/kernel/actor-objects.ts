// Holds actors of one kind as plain objects, for kinds with few actors or with texts in the
// context. Callers refer to an actor by its object.
//
// R1. An actor is saved as a row: the code of its state, then the fields in layout order.

import type { ActorKind } from './actor.ts'
import type { Actor } from './compile.ts'

export class ActorObjects<C, E extends { type: string }, S extends string> {
  readonly #kind: ActorKind<C, E, S>
  readonly #fields: readonly (keyof C & string)[]

  constructor(kind: ActorKind<C, E, S>) {
    this.#kind = kind
    this.#fields = Object.keys(kind.layout) as (keyof C & string)[]
  }

  create(): Actor<C> {
    const { initialState, initialContext } = this.#kind.compiled
    return { state: initialState, context: initialContext() }
  }

  state(actor: Actor<C>): S {
    return this.#kind.compiled.stateName(actor.state)
  }

  get<K extends keyof C & string>(actor: Actor<C>, field: K): C[K] {
    return actor.context[field]
  }

  /** Returns whether the actor accepts the event now. Changes nothing. */
  may(actor: Actor<C>, event: E): boolean {
    return this.#kind.compiled.may(actor, event)
  }

  /** Sends the actor an event that has happened (kernel/compile.ts, T4). */
  tell(actor: Actor<C>, event: E): void {
    this.#kind.compiled.tell(actor, event)
  }

  rowOf({ state, context }: Actor<C>): unknown[] {
    return [state, ...this.#fields.map((field) => context[field])]
  }

  /** Restores an actor from a row that `rowOf` returned. */
  ofRow([state, ...values]: unknown[]): Actor<C> {
    const context = Object.fromEntries(this.#fields.map((field, i) => [field, values[i]]))
    return { state: state as number, context: context as C }
  }
}
