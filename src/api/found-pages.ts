// Answers with pages that take several event-loop iterations to find (forum/sliced-work.ts).
//
// P1. Such an answer is taken up later, when another one may have been written: so it is a copy.
// P2. A text on it may have to be read from disk, and then the request runs again. What was found
//     is kept until then: to look for it again would take as long, and the text be gone by then.

import { isRejection, type Rejection } from '../forum/rejection.ts'
import type { Outcome, Service } from './route.ts'

/** What was found for calls that run again (P2). */
const kept = new WeakMap<object, unknown>()

/** What was found for the call when it ran before; undefined: it is to be looked for. */
export function takeFound<Found>(call: object): Found | undefined {
  const found = kept.get(call) as Found | undefined
  kept.delete(call)
  return found
}

/** Keeps what was found for a call that is to run again (P2). */
export function keepFound(call: object, found: object): void {
  kept.set(call, found)
}

/** The answer that `write` makes of what is found. */
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
