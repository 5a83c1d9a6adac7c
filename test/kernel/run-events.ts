// Runs a sequence of events on a new actor of one kind.

import type { ActorKind } from '../../src/kernel/actor.ts'

/** `taken` says for each event whether it was accepted; `state` and `context` are final ones. */
export function runEvents<C, E extends { type: string }, S extends string>(
  { compiled }: ActorKind<C, E, S>,
  events: readonly E[],
): { taken: boolean[]; state: S; context: C } {
  const actor = { state: compiled.initialState, context: compiled.initialContext() }
  const taken = events.map((event) => compiled.step(actor, event))
  return { taken, state: compiled.stateName(actor.state), context: actor.context }
}
