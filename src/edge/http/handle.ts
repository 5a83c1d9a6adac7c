// The path of a request through the edge. The first check that fails decides the answer:
//
//   state of the service → path → method → cross-site → length of the URL → token → id in the path
//   → query → key in the header → content type → body size → UTF-8 → end of the tick (tick.ts)
//   → JSON → key in the body → schema → the route's own refusals → gate
//
// This file makes the checks of the path and the head, together with head-checks.ts. From the body
// on, the request is a RunningRequest (running-request.ts).
//
// Routes are declarations (api/); the edge executes them, and names none. If this process follows
// another one, the other process runs the routes that write (checked-request.ts).

import type { Rejection } from '../../kernel/rejection.ts'
import { unknownPath } from '../api/errors.ts'
import type { Route, Service } from '../api/route.ts'
import { allowHeader, answer, refuse } from './answers.ts'
import { Batches } from './batch.ts'
import { rejectCaller } from './callers.ts'
import { bodyOf, type CheckedRequest, type Forward, receivedCall } from './checked-request.ts'
import { Cors } from './cors.ts'
import type { AvailabilityView, EdgeOptions, EdgeParts } from './edge-options.ts'
import type { Exchange, Responder } from './exchange.ts'
import type { Gate } from './gate.ts'
import { HeadChecks } from './head-checks.ts'
import { Load } from './load.ts'
import { Meter } from './meter.ts'
import { originForm, prefersHtml } from './parse.ts'
import { bytesMaxOf, isWrite, type Prepared, prepare } from './prepared-route.ts'
import { allow, type Match, Router } from './router.ts'
import { answerWhenDurable, RunningRequest } from './running-request.ts'
import { Tick } from './tick.ts'
import { beginVisit, type Visitor } from './visit.ts'

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
  readonly #byIndex = new Map<number, Prepared>()
  readonly #load: Load
  readonly #tick: Tick
  /** Null until the edge is open, as are the next two. */
  #parts: EdgeParts | null = null
  #checks: HeadChecks | null = null
  #batches: Batches | null = null

  constructor(
    routes: readonly Route[],
    availability: AvailabilityView,
    options: EdgeOptions = {},
    load = new Load(),
  ) {
    const { watches = [], cors = null, ticks } = options
    this.#options = options
    this.#load = load
    this.#tick = new Tick(() => this.#parts?.service.forum.journal.flush(), ticks)
    this.#availability = availability
    this.#watches = watches
    this.#cors = cors === null ? null : new Cors(cors)
    this.#errorPage = options.errorPage ?? null
    for (const route of routes) {
      const prepared = prepare(route, this.meter)
      this.#router.add(route, prepared)
      for (const one of [prepared, prepared.html]) if (one) this.#byIndex.set(one.routeIndex, one)
    }
  }

  /** Lets requests reach the routes from now on. */
  open(service: Service, gate: Gate): void {
    const [availability, tick, load] = [this.#availability, this.#tick, this.#load]
    this.#parts = { availability, tick, load, service, gate }
    const { trustProxy = null, showsHost = false } = this.#options
    this.#checks = new HeadChecks(service, { trustProxy, cors: this.#cors, showsHost })
    this.#batches = new Batches({
      edge: this,
      mayWait: (method, path) => this.#mayWait(method, path),
      ...{ tick, load, gate, forum: service.forum },
    })
    const { waiting, pageMaking } = service.forum
    tick.setPaced((count) => waiting.resume(count))
    waiting.onReady = () => tick.plan()
    pageMaking.onWork = () => tick.addSlices((now) => pageMaking.doSlice(now))
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
    return this.#errorPage === null
      ? null
      : beginVisit(exchange, this.#parts?.service ?? null, this.#errorPage)
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
      return answerWhenDurable(this.#parts!, exchange, route, call as Rejection)
    }
    exchange.hold()
    if (route.isBatch) return this.#batches!.take(exchange, prepared, call)
    const request = new RunningRequest(this.#parts!, exchange, prepared, call, forward)
    if (route.body === undefined) return request.begin(0)
    exchange.collect(bytesMax, (body) => request.take(body))
  }

  /**
   * Runs a request that has passed the checks in a process that follows this one
   * (checked-request.ts). `responder` must have `complete`.
   */
  run(responder: Responder, { routeIndex, call: sent, unread }: CheckedRequest): void {
    const { refusal } = this.#availability
    if (refusal !== null) return refuse(responder, refusal)
    if (this.forward !== null) return refuse(responder, 'no_leader')
    const prepared = this.#byIndex.get(routeIndex)!
    const { route } = prepared
    const { service } = this.#parts!
    const { caller, query } = sent
    const client = route.needsClient?.(service, caller, query) ? sent.client : ''
    const call = receivedCall(sent, client, responder)
    const request = new RunningRequest(this.#parts!, responder, prepared, call, null)
    if (unread === null) return request.begin(call.bodyBytes)
    const refused = rejectCaller(service.forum, call)
    if (refused !== null) return answerWhenDurable(this.#parts!, responder, route, refused)
    request.take(bodyOf(unread))
  }
}
