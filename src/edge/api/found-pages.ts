// Answers with pages whose search takes several event-loop iterations (kernel/sliced-work.ts).
//
// P1. Such an answer is sent later, when the page buffer may hold another one, so its body is a
//     copy.
// P2. If a text on the page has to be read from disk, the request runs again. The result of the
//     search is kept until then, because a second search would take as long, and by its end the
//     text could have left memory again.

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Outcome, Service } from './route.ts'

/** Results of searches, kept for calls that run again (P2). */
const kept = new WeakMap<object, unknown>()

/**
 * Returns the result that an earlier run of the call has kept, and forgets it. Undefined means that
 * the search has yet to be done.
 */
export function takeFound<Found>(call: object): Found | undefined {
  const found = kept.get(call) as Found | undefined
  kept.delete(call)
  return found
}

/** Keeps the result of a search for a call that is going to run again (P2). */
export function keepFound(call: object, found: object): void {
  kept.set(call, found)
}

/** Resolves with the answer that `write` makes of the search's result. */
export async function answerLater<Found extends object>(
  { forum }: Service,
  call: object,
  finding: Promise<Found | Rejection>,
  write: (found: Found) => Outcome,
): Promise<Outcome> {
  const found = await finding
  if (isRejection(found)) return found
  const outcome = write(found)
  if (isRejection(outcome)) return outcome
  if (forum.coldReads.isNeeded) keepFound(call, found)
  return { ...outcome, body: Buffer.from(outcome.body), isOwn: true }
}
