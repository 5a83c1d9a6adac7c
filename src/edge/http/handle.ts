// The path of a request through the edge. The first check that fails decides the answer:
//
//   state of the service → path → method → cross-site → length of the URL → token → id in the path
//   → query → key in the header → content type → body size → UTF-8 → end of the tick (tick.ts)
//   → JSON → key in the body → schema → the route's own refusals → gate
//
// A route that needs text from disk runs again from the start once the text is in memory
// (kernel/text/cold-reads.ts).
//
// Routes are declarations (api/); this file executes them, and names none. If this process follows
// another one, the other process runs the routes that write (checked-request.ts).

import assert from 'node:assert/strict'
import { nobody } from '../../kernel/network.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { unknownPath } from '../api/errors.ts'
import type { Answer, Outcome, Result, Route, Service } from '../api/route.ts'
import { allowHeader, answer, isView, keepBody, mayLeave, refuse, sendOutcome } from './answers.ts'
import { Batches } from './batch.ts'
import { rejectCaller } from './callers.ts'
import {
  type AnyCall,
  bodyOf,
  type CheckedRequest,
  type Forward,
  receivedCall,
  runForAnother,
  unreadBody,
} from './checked-request.ts'
import { Cors } from './cors.ts'
import type { AvailabilityView, EdgeOptions } from './edge-options.ts'
import type { Exchange, Responder } from './exchange.ts'
import type { Gate } from './gate.ts'
import { HeadChecks } from './head-checks.ts'
import { HeldRequest } from './held-request.ts'
import { type Body, overloaded, type ParsedBody, tooLarge } from './incoming-body.ts'
import { Load } from './load.ts'
import { Meter } from './meter.ts'
import { originForm, prefersHtml } from './parse.ts'
import {
  bytesMaxOf,
  codeOfLong,
  contentOf,
  isWrite,
  type Prepared,
  prepare,
  readBody,
} from './prepared-route.ts'
import { allow, type Match, Router } from './router.ts'
import { Tick } from './tick.ts'
import { beginVisit, type Visitor } from './visit.ts'

/** A longer page that would have to be copied is sent immediately, not at the end of the tick. */
const waitingBytesMax = 4096

export class Edge {
  readonly meter = new Meter()
  /** Forwards requests that may append a record; null unless this process follows another one. */
  forward: Forward | null = null
  readonly #router = new Router<Prepared>()
  readonly #availability: AvailabilityView
  readonly #watches: NonNullable<EdgeOptions['watches']>
  readonly #cors: Cors | null
  readonly #options: EdgeOptions
  readonly #errorPage: NonNullable<EdgeOptions['errorPage']> | null
  readonly #byPlace = new Map<number, Prepared>()
  readonly #load: Load
  readonly #tick: Tick
  #service: Service | null = null
  #checks: HeadChecks | null = null
  #batches: Batches | null = null
  #gate: Gate | null = null

  constructor(
    routes: readonly Route[],
    availability: AvailabilityView,
    options: EdgeOptions = {},
    load = new Load(),
  ) {
    const { watches = [], cors = null, ticks } = options
    this.#options = options
    this.#load = load
    this.#tick = new Tick(() => this.#service?.forum.journal.flush(), ticks)
    this.#availability = availability
    this.#watches = watches
    this.#cors = cors === null ? null : new Cors(cors)
    this.#errorPage = options.errorPage ?? null
    for (const route of routes) {
      const prepared = prepare(route, this.meter)
      this.#router.add(route, prepared)
      for (const one of [prepared, prepared.html]) if (one) this.#byPlace.set(one.place, one)
    }
  }

  /** Lets requests reach the routes from now on. */
  open(service: Service, gate: Gate): void {
    this.#service = service
    const { trustProxy = null, showsHost = false } = this.#options
    this.#checks = new HeadChecks(service, { trustProxy, cors: this.#cors, showsHost })
    this.#gate = gate
    this.#batches = new Batches({
      edge: this,
      mayWait: (method, path) => this.#mayWait(method, path),
      ...{ tick: this.#tick, load: this.#load, gate, forum: service.forum },
    })
    const { waiting, pageMaking } = service.forum
    this.#tick.setPaced((count) => waiting.resume(count))
    waiting.onReady = () => this.#tick.plan()
    pageMaking.onWork = () => this.#tick.addSlices((now) => pageMaking.doSlice(now))
  }

  /** Answers one request. */
  handle(exchange: Exchange): void {
    exchange.startedMs = this.meter.start()
    exchange.meter = this.meter.none
    for (const watch of this.#watches) watch.inspect(exchange)
    if (this.#cors !== null) exchange.moreHeaders = this.#cors.headers(exchange)
    const { refusal } = this.#availability
    if (refusal !== null) {
      this.#showErrors(exchange)
      return refuse(exchange, refusal)
    }
    const match = this.#router.find(exchange.path) ?? this.#router.find(originForm(exchange.path))
    if (match === null) {
      this.#showErrors(exchange)
      return refuse(exchange, 'not_found', unknownPath)
    }
    if (exchange.method === 'options') return this.#answerOptions(exchange, match)
    const prepared = match.methods.get(exchange.method)
    if (prepared === undefined) {
      this.#showErrors(exchange)
      return refuse(exchange, 'method_not_allowed', undefined, allowHeader(match))
    }
    const { html } = prepared
    const chosen = html !== null && prefersHtml(exchange.header('accept')) ? html : prepared
    exchange.meter = chosen.meter
    const visitor = chosen.isPage ? this.#showErrors(exchange) : null
    this.#check(exchange, chosen, match.id, visitor)
  }

  #showErrors(exchange: Exchange): Visitor {
    return this.#errorPage === null ? null : beginVisit(exchange, this.#service, this.#errorPage)
  }

  /** Returns whether the request polls something that can have news. */
  #mayWait(method: string, path: string): boolean {
    const prepared = this.#router.find(path)?.methods.get(method)
    return prepared?.route.query?.properties?.wait !== undefined
  }

  #answerOptions(exchange: Exchange, match: Match<Prepared>): void {
    const preflight = this.#cors?.preflight(exchange, allow(match.methods)) ?? ''
    answer(exchange, 204, allowHeader(match) + preflight, null)
  }

  #check(exchange: Exchange, prepared: Prepared, id: string, visitor: Visitor): void {
    const { route } = prepared
    const forward = isWrite(route) && route.isBatch !== true ? this.forward : null
    const bytesMax = bytesMaxOf(route, visitor === null)
    if (route.isForm) {
      const code = this.#checks!.refuseForm(exchange)
      if (code !== null) return refuse(exchange, code)
    }
    // A reader may not have read the records of a new session yet, like those of a new token.
    const isNewer = visitor === 'absent' && this.forward?.takesChecked === true
    const isWhole = forward !== null && (route.isForm || !forward.takesChecked)
    if (isWhole || isNewer) return this.forward!.whole(exchange, route, bytesMax)
    const session = visitor === 'absent' ? null : visitor
    const from = { session, isPassedOn: forward !== null }
    const call = this.#checks!.callOf(exchange, prepared, id, from)
    if (call === null) return this.forward!.whole(exchange, route, bytesMax)
    if ('rejected' in call) {
      if (forward !== null) return forward.whole(exchange, route, bytesMax) // C1
      if (call.position === undefined) return refuse(exchange, call.rejected, call.detail)
      return this.#pass(exchange, route, call as Rejection)
    }
    exchange.hold()
    if (route.isBatch) return this.#batches!.take(exchange, prepared, call)
    if (route.body === undefined) {
      return this.#addWork(exchange, 0, () => this.#go(exchange, prepared, call, forward))
    }
    exchange.collect(bytesMax, (body) => {
      this.#take(exchange, prepared, call, body, forward)
    })
  }

  #take(
    responder: Responder,
    prepared: Prepared,
    call: AnyCall,
    body: Body,
    forward: Forward | null,
  ): void {
    // Decode the bytes now, because they may belong to the HTTP library.
    const content = typeof body === 'symbol' ? null : contentOf(body, prepared.route)
    if (content !== null) {
      call.bodyBytes = (body as Buffer | ParsedBody).length
      const read = () => this.#readBody(responder, prepared, call, content, forward)
      return this.#addWork(responder, call.bodyBytes, read)
    }
    if (forward !== null) {
      const sent = unreadBody(body)
      const unread = typeof sent === 'string' ? sent : Buffer.from(sent)
      const pass = () => forward.checked(responder, prepared, call, unread)
      return this.#addWork(responder, 0, pass)
    }
    if (body === tooLarge) refuse(responder, codeOfLong(prepared.route, call.session === null))
    else refuse(responder, body === overloaded ? 'overloaded' : 'invalid_json')
  }

  #readBody(
    responder: Responder,
    prepared: Prepared,
    call: AnyCall,
    content: string | ParsedBody,
    forward: Forward | null,
  ): void {
    const refusal = readBody(prepared, call, content)
    if (refusal === null) {
      responder.errorPage = prepared.route.onError?.(this.#service!, call) ?? responder.errorPage
      return this.#go(responder, prepared, call, forward)
    }
    if (forward === null) return refuse(responder, refusal.code, refusal.detail)
    const text = typeof content === 'string' ? content : content.text
    forward.checked(responder, prepared, call, Buffer.from(text))
  }

  /** Has work done at the end of the tick, or at once if it is part of a slice (batch.ts). */
  #addWork(responder: Responder, bytes: number, work: () => void): void {
    if (responder.shows === undefined) this.#tick.addWork(work, bytes)
    else work()
  }

  /** Runs the route here, or forwards the call to the process that this one follows. */
  #go(responder: Responder, prepared: Prepared, call: AnyCall, forward: Forward | null): void {
    if (forward === null) this.#run(responder, prepared.route, call)
    else forward.checked(responder, prepared, call, null)
  }

  /**
   * Runs a request that has passed the checks in a process that follows this one
   * (checked-request.ts). `responder` must have `settle`.
   */
  run(responder: Responder, { place, call: sent, unread }: CheckedRequest): void {
    const { refusal } = this.#availability
    if (refusal !== null) return refuse(responder, refusal)
    if (this.forward !== null) return refuse(responder, 'no_leader')
    const prepared = this.#byPlace.get(place)!
    const { route } = prepared
    const service = this.#service!
    const { caller, query } = sent
    const client = route.needsClient?.(service, caller, query) ? sent.client : ''
    const call = receivedCall(sent, client, responder)
    if (unread === null) {
      return this.#tick.addWork(() => this.#run(responder, route, call), call.bodyBytes)
    }
    const refused = rejectCaller(service.forum, call)
    if (refused !== null) return this.#pass(responder, route, refused)
    this.#take(responder, prepared, call, bodyOf(unread), null)
  }

  /** Runs the route. `held` is not null if the request has waited for news. */
  #run(responder: Responder, route: Route, call: AnyCall, held: HeldRequest | null = null): void {
    // Meanwhile the service may have begun to stop, or the caller may have expired.
    const { refusal } = this.#availability
    if (refusal !== null && held === null) return refuse(responder, refusal)
    const { forum } = this.#service!
    const isStale = call.caller !== nobody && !isWrite(route) && !this.#gate!.mayDecide
    if (isStale) return refuse(responder, 'no_leader') // G4: the caller may be blocked by now
    const refused = rejectCaller(forum, call)
    if (refused !== null) return this.#finish(responder, route, call, refused, held)
    if (route.find && !call.found) return this.#find(responder, route, call)
    assert(!forum.coldReads.isNeeded, 'what a request notes as missing is its own')
    const isOwn = responder.settle === undefined
    const service = this.#service!
    const outcome = isOwn ? route.run(service, call) : runForAnother(route, service, call)
    if (!(outcome instanceof Promise)) return this.#finish(responder, route, call, outcome, held)
    void outcome.then((later) => {
      // The outcome of a write must be reported, whatever has become of its caller.
      const shown = (!isWrite(route) && rejectCaller(forum, call)) || later
      this.#finish(responder, route, call, shown, held)
    })
  }

  /** Calls the route's `find`, and then runs the route with what was found, as heavy work. */
  #find(responder: Responder, route: Route, call: AnyCall): void {
    this.#tick.noteParked()
    void route.find!(this.#service!, call).then((found) => {
      if (isRejection(found)) return this.#finish(responder, route, call, found, null)
      this.#tick.addColdRead(() => {
        this.#run(responder, route, { ...call, found })
        found.done()
      })
    })
  }

  /**
   * Passes the outcome on, unless the route must run again: once missing text is in memory, or once
   * there is news, if the request may wait and has found nothing.
   */
  #finish(
    responder: Responder,
    route: Route,
    call: AnyCall,
    outcome: Result,
    held: HeldRequest | null,
  ): void {
    const { coldReads, waiting } = this.#service!.forum
    if (coldReads.isNeeded) {
      responder.hold()
      this.#tick.noteParked()
      return coldReads.park(call, (parked) => {
        if ('rejected' in parked) return this.#finish(responder, route, call, parked, held)
        const run = () => this.#run(responder, route, call, held)
        this.#tick.addColdRead(() => coldReads.runAgain(parked, run))
      })
    }
    assert(outcome !== null, 'a route without a result has noted what it needs')
    if (!isRejection(outcome) && outcome.making !== undefined) {
      return this.#make(responder, route, call, outcome)
    }
    const wait = isRejection(outcome) ? undefined : outcome.wait
    if (wait !== undefined && held === null) {
      const { caller, client } = call
      const run = (again: HeldRequest) => this.#run(responder, route, call, again)
      held = new HeldRequest(waiting, responder, { caller, client, seconds: wait.seconds }, run)
    }
    if (held?.waitFor(wait?.topic)) return
    this.#pass(responder, route, outcome)
  }

  /** Has a page made. If the finished page may no longer be shown, the route runs again. */
  #make(responder: Responder, route: Route, call: AnyCall, answer: Answer): void {
    responder.hold()
    this.#tick.noteParked()
    this.#service!.forum.pageMaking.add(call, answer.making!, (made) => {
      if (made === null) this.#run(responder, route, call)
      else if ('rejected' in made) this.#pass(responder, route, made)
      else this.#pass(responder, route, { ...answer, ...made, isCached: true })
    })
  }

  /** Sends the outcome once everything that it shows is durable, unless it may be wrong by now. */
  #pass(responder: Responder, route: Route, outcome: Outcome): void {
    responder.hold()
    const { position = 0 } = outcome
    const bytes = isRejection(outcome) ? 0 : outcome.body.length
    const isDurable = position <= this.#service!.forum.journal.durable
    if (isDurable && !mayLeave(outcome, route, this.#gate!)) return refuse(responder, 'no_leader')
    if (responder.shows !== undefined) {
      responder.shows(position)
      return sendOutcome(responder, route, outcome)
    }
    if (isDurable) {
      // Copying a long page would cost more than waiting saves.
      if (bytes > waitingBytesMax && isView(outcome)) return sendOutcome(responder, route, outcome)
      keepBody(outcome, 'end of tick')
      return this.#tick.addAnswer(() => sendOutcome(responder, route, outcome))
    }
    // The outcome of a write must be reported, so only reads are refused here.
    if (!isWrite(route) && !this.#load.hasRoom(bytes)) {
      this.#load.refused.answers += 1
      return refuse(responder, 'overloaded')
    }
    keepBody(outcome, 'durable')
    this.#load.answerBytes += bytes
    this.#gate!.keep(position, (failure) => {
      this.#load.answerBytes -= bytes
      if (failure === null) sendOutcome(responder, route, outcome)
      else refuse(responder, failure)
    })
  }
}
