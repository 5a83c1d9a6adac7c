// Many actors of one kind behind one interface, whether they are rows of columns (actor-table.ts)
// or plain objects (actor-objects.ts). `Ref` names one of them: a number, or the object.
//
// A1. Only `tell` changes an actor. It asserts that the event is accepted: a record is in the log,
//     so what it says has happened, and an actor that does not accept it is a bug.
// A2. Whoever can still decide asks `may` first; the answer is the machine's.

import assert from 'node:assert/strict'

export interface Actors<Ref, C, E extends { type: string }, S extends string> {
  /** The name of the actor's state. */
  state(ref: Ref): S
  /** One field of the actor's context. */
  get<K extends keyof C & string>(ref: Ref, field: K): C[K]
  /** Whether the actor accepts the event now. Changes nothing. */
  may(ref: Ref, event: E): boolean
  /** Tells the actor what has happened. Throws an AssertionError when it does not accept it. */
  tell(ref: Ref, event: E): void
}

/** Ends what must not go on: the log says that something happened which this actor rules out. */
export function assertAccepted(isAccepted: boolean, id: string, state: string, type: string): void {
  if (isAccepted) return // the message is made only where it is needed
  assert.fail(`A1: a ${id} that is ${state} does not accept '${type}'`)
}
