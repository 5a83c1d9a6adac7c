// Actors of one kind as plain objects, for kinds with few actors or with texts in the context. The
// object is the reference.
//
// R1. A saved actor is a row: the code of its state, then the fields in the order of the layout.

import type { ActorKind } from '../actors/actor.ts'
import type { Actor } from '../actors/compile.ts'
import { type Actors, assertAccepted } from './actors.ts'

export class ActorObjects<C, E extends { type: string }, S extends string>
  implements Actors<Actor<C>, C, E, S>
{
  readonly #kind: ActorKind<C, E, S>
  readonly #fields: readonly (keyof C & string)[]

  constructor(kind: ActorKind<C, E, S>) {
    this.#kind = kind
    this.#fields = Object.keys(kind.layout) as (keyof C & string)[]
  }

  /** A new actor in the initial state and context. */
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

  may(actor: Actor<C>, event: E): boolean {
    return this.#kind.compiled.may(actor, event)
  }

  tell(actor: Actor<C>, event: E): void {
    const { compiled } = this.#kind
    const isAccepted = compiled.step(actor, event)
    assertAccepted(isAccepted, compiled.id, this.state(actor), event.type)
  }

  /** The actor as a checkpoint saves it. */
  rowOf({ state, context }: Actor<C>): unknown[] {
    return [state, ...this.#fields.map((field) => context[field])]
  }

  /** Restores the actor from a row of `rowOf`. */
  ofRow([state, ...values]: unknown[]): Actor<C> {
    const context = Object.fromEntries(this.#fields.map((field, i) => [field, values[i]]))
    return { state: state as number, context: context as C }
  }
}
