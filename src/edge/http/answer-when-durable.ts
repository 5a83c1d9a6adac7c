// The last step of a request: its outcome is sent when everything that it shows is durable, at the
// end of the tick or from the gate.

import { isRejection } from '../../kernel/rejection.ts'
import type { Outcome, Route } from '../api/route.ts'
import { isView, keepBody, mayLeave, refuse, sendOutcome } from './answers.ts'
import type { EdgeParts } from './edge-options.ts'
import type { Responder } from './exchange.ts'
import { isWrite } from './prepared-route.ts'

/** A longer page that would have to be copied is sent immediately, not at the end of the tick. */
const waitingBytesMax = 4096

/** Sends the outcome once everything that it shows is durable, unless it may be wrong by now. */
export function answerWhenDurable(
  { service, tick, load, gate }: EdgeParts,
  responder: Responder,
  route: Route,
  outcome: Outcome,
): void {
  responder.hold()
  const { position = isRejection(outcome) ? service.forum.state.expiredPosition : 0 } = outcome
  const bytes = isRejection(outcome) ? 0 : outcome.body.length
  const isDurable = position <= service.forum.journal.durable
  if (isDurable && !mayLeave(outcome, route, gate)) return refuse(responder, 'no_leader')
  if (responder.shows !== undefined) {
    responder.shows(position)
    return sendOutcome(responder, route, outcome)
  }
  if (isDurable) {
    // Copying a long page would cost more than waiting saves.
    if (bytes > waitingBytesMax && isView(outcome)) return sendOutcome(responder, route, outcome)
    keepBody(outcome, 'end of tick')
    return tick.addAnswer(() => sendOutcome(responder, route, outcome))
  }
  // The outcome of a write must be reported, so only reads are refused here.
  if (!isWrite(route) && !load.hasRoom(bytes)) {
    load.refused.answers += 1
    return refuse(responder, 'overloaded')
  }
  keepBody(outcome, 'durable')
  load.answerBytes += bytes
  gate.keep(position, (failure) => {
    load.answerBytes -= bytes
    if (failure === null) sendOutcome(responder, route, outcome)
    else refuse(responder, failure)
  })
}
