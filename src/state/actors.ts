// Many actors of one kind behind one interface, whether they are rows of columns (actor-table.ts)
// or plain objects (actor-objects.ts). `Ref` names one of them: a number, or the object.
//
// A1. Only `tell` changes an actor. It asserts that the event is accepted: a record in the log has
//     happened, so an actor that does not accept it is a bug.
// A2. Code that can still reject calls `may` first; the machine decides.

import assert from 'node:assert/strict'

export interface Actors<Ref, C, E extends { type: string }, S extends string> {
  /** The name of the actor's state. */
  state(ref: Ref): S
  /** One field of the actor's context. */
  get<K extends keyof C & string>(ref: Ref, field: K): C[K]
  /** Whether the actor accepts the event now. Changes nothing. */
  may(ref: Ref, event: E): boolean
  /** Sends the actor an event that has happened. Throws an AssertionError if it is not accepted. */
  tell(ref: Ref, event: E): void
}

/** Throws when the log contains an event that the actor's state rules out. */
export function assertAccepted(isAccepted: boolean, id: string, state: string, type: string): void {
  if (isAccepted) return // before the message is built
  assert.fail(`A1: a ${id} that is ${state} does not accept '${type}'`)
}
