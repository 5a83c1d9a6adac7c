// A request whose head has passed the checks of handle.ts, until it has its outcome.
//
//   begin ──────────────────┐      ┌──── news, or the end of the wait ──── held-request.ts
//                           ▼      ▼                                             ▲
//   take ──▶ read body ──▶ run ──▶ finish ──▶ nothing yet, and the caller waits ─┘
//               │           ▲        ├──────▶ text is missing, or a page is to be made ─┐
//               ▼           │        ▼                                                  │
//           forwarded       │   answerWhenDurable, at once or by the gate               │
//                           └───────────────────────────────────────────────────────────┘
//
// R1. It always runs from the start, so that access, expiry and idempotency keys are decided anew.
// R2. If this process follows another one, that one runs the routes that write: `forward` is set,
//     and takes the request from the body on (checked-request.ts, C1).

import assert from 'node:assert/strict'
import type { State } from '../../forum/state.ts'
import { nobody } from '../../kernel/network.ts'
import { isRejection } from '../../kernel/rejection.ts'
import type { Answer, Outcome, Result, Route } from '../api/route.ts'
import { isView, keepBody, mayLeave, refuse, sendOutcome } from './answers.ts'
import { rejectCaller } from './callers.ts'
import { type AnyCall, type Forward, runForAnother, unreadBody } from './checked-request.ts'
import type { EdgeParts } from './edge-options.ts'
import type { Responder } from './exchange.ts'
import { HeldRequest } from './held-request.ts'
import { type Body, overloaded, type ParsedBody, tooLarge } from './incoming-body.ts'
import { codeOfLong, contentOf, isWrite, type Prepared, readBody } from './prepared-route.ts'

export class RunningRequest {
  readonly #parts: EdgeParts
  readonly #responder: Responder
  readonly #prepared: Prepared
  readonly #forward: Forward | null
  #call: AnyCall
  /** Not null if the request has waited for news. */
  #held: HeldRequest | null = null

  constructor(
    parts: EdgeParts,
    responder: Responder,
    prepared: Prepared,
    call: AnyCall,
    forward: Forward | null,
  ) {
    this.#parts = parts
    this.#responder = responder
    this.#prepared = prepared
    this.#call = call
    this.#forward = forward
  }

  /** Begins a request whose body is absent or has been read. */
  begin(bodyBytes: number): void {
    this.#addWork(bodyBytes, () => this.#go())
  }

  /** Takes the body, or why there is none. */
  take(body: Body): void {
    const [responder, prepared, call] = [this.#responder, this.#prepared, this.#call]
    // Decode the bytes now, because they may belong to the HTTP library.
    const content = typeof body === 'symbol' ? null : contentOf(body, prepared.route)
    if (content !== null) {
      call.bodyBytes = (body as Buffer | ParsedBody).length
      return this.#addWork(call.bodyBytes, () => this.#readBody(content))
    }
    const forward = this.#forward
    if (forward !== null) {
      const sent = unreadBody(body)
      const unread = typeof sent === 'string' ? sent : Buffer.from(sent)
      return this.#addWork(0, () => forward.checked(responder, prepared, call, unread))
    }
    if (body === tooLarge) refuse(responder, codeOfLong(prepared.route, call.session === null))
    else refuse(responder, body === overloaded ? 'overloaded' : 'invalid_json')
  }

  #readBody(content: string | ParsedBody): void {
    const [responder, prepared, call] = [this.#responder, this.#prepared, this.#call]
    const refusal = readBody(prepared, call, content)
    if (refusal === null) {
      const { service } = this.#parts
      responder.errorPage = prepared.route.onError?.(service, call) ?? responder.errorPage
      return this.#go()
    }
    if (this.#forward === null) return refuse(responder, refusal.code, refusal.detail)
    const text = typeof content === 'string' ? content : content.text
    this.#forward.checked(responder, prepared, call, Buffer.from(text))
  }

  /** Has work done at the end of the tick, or at once if it is part of a slice (batch.ts). */
  #addWork(bytes: number, work: () => void): void {
    if (this.#responder.shows === undefined) this.#parts.tick.addWork(work, bytes)
    else work()
  }

  #go(): void {
    if (this.#forward === null) this.#run()
    else this.#forward.checked(this.#responder, this.#prepared, this.#call, null)
  }

  #run(): void {
    const { availability, service, gate } = this.#parts
    const [responder, route, call] = [this.#responder, this.#prepared.route, this.#call]
    // Meanwhile the service may have begun to stop, or the caller may have expired.
    const { refusal } = availability
    if (refusal !== null && this.#held === null) return refuse(responder, refusal)
    const { forum } = service
    const isStale = call.caller !== nobody && !isWrite(route) && !gate.mayDecide
    if (isStale) return refuse(responder, 'no_leader') // G4: the caller may be blocked by now
    const refused = rejectCaller(forum, call)
    if (refused !== null) return this.#finish(refused)
    if (route.find && !call.found) return this.#find()
    assert(!forum.coldReads.isNeeded, 'what a request notes as missing is its own')
    const isOwn = responder.complete === undefined
    const outcome = isOwn ? route.run(service, call) : runForAnother(route, service, call)
    if (!(outcome instanceof Promise)) return this.#finish(outcome)
    void outcome.then((later) => {
      // The outcome of a write must be reported, whatever has become of its caller.
      this.#finish((!isWrite(route) && rejectCaller(forum, call)) || later)
    })
  }

  /** Calls the route's `find`, and then runs the route with what was found, as heavy work. */
  #find(): void {
    const { service, tick } = this.#parts
    tick.noteParked()
    void this.#prepared.route.find!(service, this.#call).then((found) => {
      if (isRejection(found)) return this.#finish(found)
      tick.addColdRead(() => {
        this.#call = { ...this.#call, found }
        this.#run()
        found.done()
      })
    })
  }

  /**
   * Passes the outcome on, unless the route must run again: once missing text is in memory, or once
   * there is news, if the request may wait and has found nothing.
   */
  #finish(outcome: Result): void {
    if (this.#parts.service.forum.coldReads.isNeeded) return this.#waitForText()
    assert(outcome !== null, 'a route without a result has noted what it needs')
    if (!isRejection(outcome) && outcome.making !== undefined) return this.#make(outcome)
    if (this.#waitsForNews(outcome)) return
    this.#answer(outcome)
  }

  #waitForText(): void {
    const { tick, service } = this.#parts
    const { coldReads } = service.forum
    this.#responder.hold()
    tick.noteParked()
    coldReads.park(this.#call, (parked) => {
      if ('rejected' in parked) return this.#finish(parked)
      tick.addColdRead(() => coldReads.runAgain(parked, () => this.#run()))
    })
  }

  /** Holds the request if it has found nothing and may wait; returns whether it is held. */
  #waitsForNews(outcome: Outcome): boolean {
    const wait = isRejection(outcome) ? undefined : outcome.wait
    if (wait !== undefined && this.#held === null) {
      const { waiting } = this.#parts.service.forum
      const { caller, client } = this.#call
      const waiter = { caller, client, seconds: wait.seconds }
      this.#held = new HeldRequest(waiting, this.#responder, waiter, () => this.#run())
    }
    return this.#held?.waitFor(wait?.topic) === true
  }

  /** Has a page made. If the finished page may no longer be shown, the route runs again. */
  #make(answer: Answer): void {
    const { tick, service } = this.#parts
    this.#responder.hold()
    tick.noteParked()
    service.forum.pageMaking.add(this.#call, answer.making!, (made) => {
      if (made === null) this.#run()
      else if ('rejected' in made) this.#answer(made)
      else this.#answer({ ...answer, ...made, isCached: true })
    })
  }

  #answer(outcome: Outcome): void {
    answerWhenDurable(this.#parts, this.#responder, this.#prepared.route, outcome)
  }
}

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
  const { position = isRejection(outcome) ? lastEnding(service.forum.state) : 0 } = outcome
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

/** Returns the position of the newest record that expired a thread or ended somebody's sessions. */
function lastEnding({ expiredPosition, identities }: State): number {
  return Math.max(expiredPosition, identities.rotatedPosition)
}
