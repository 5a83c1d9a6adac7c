// The path of a request through the edge. The first check that fails decides the answer:
//
//   state of the service → path → method → cross-site → length of the URL → token → id in the path
//   → query → key in the header → content type → body size → UTF-8 → end of the tick (tick.ts)
//   → JSON → key in the body → schema → the route's own refusals → gate
//
// A route that needs text that is on disk is run again from the start when the text is in memory
// (text/cold-reads.ts).
//
// Routes are declarations (api/); this file executes them, and names none.

import assert from 'node:assert/strict'
import { type ErrorPage, unknownPath } from '../api/errors.ts'
import type { Answer, Call, Outcome, Route, Service } from '../api/route.ts'
import { isRejection } from '../forum/forum.ts'
import { mayStillAct, rejectToken } from '../forum/identities.ts'
import { nobody } from '../state/state.ts'
import { allowHeader, answer, isView, keepBody, mayLeave, refuse, sendOutcome } from './answers.ts'
import { Callers } from './callers.ts'
import { clientAddress, type TrustProxy } from './client-address.ts'
import { Cors } from './cors.ts'
import { crossSite, hostOrigin, ownOrigins } from './cross-site.ts'
import type { EdgeOptions, Refusing } from './edge-options.ts'
import type { Exchange } from './exchange.ts'
import { ForwardingWatch } from './forwarding-watch.ts'
import type { Gate } from './gate.ts'
import { HeldRequest } from './held-request.ts'
import { overloaded, tooLarge } from './incoming-body.ts'
import { Load } from './load.ts'
import { Meter } from './meter.ts'
import { bodyText, isJson, originForm, prefersHtml } from './parse.ts'
import { isUrlTooLong, isWrite, type Prepared, prepare, readBody } from './prepared-route.ts'
import { readQuery } from './read-query.ts'
import { allow, type Match, Router } from './router.ts'
import { Tick } from './tick.ts'

/** The largest body that is read: every body the interface allows fits, in `\u` escapes too. */
export const bodyBytesMax = 256 * 1024

/** A longer page that would have to be copied is sent at once, not at the end of the tick. */
const waitingBytesMax = 4096

interface AnyCall extends Call<unknown, unknown> {
  bodyBytes: number
}

export class Edge {
  readonly meter = new Meter()
  /**
   * Where this node follows another one: passes requests that may append a record on to the leader,
   * before any check that depends on the state. Their body is not collected yet.
   */
  forward: ((exchange: Exchange, route: Route) => void) | null = null
  readonly #router = new Router<Prepared>()
  readonly #availability: Refusing
  readonly #trustProxy: TrustProxy | null
  readonly #forwarding: ForwardingWatch | null
  readonly #cors: Cors | null
  readonly #showsHost: boolean
  readonly #errorPage: ErrorPage | null
  readonly #callers = new Callers()
  readonly #load: Load
  readonly #tick: Tick
  #service: Service | null = null
  #ownOrigins: ReadonlySet<string> = new Set()
  #gate: Gate | null = null

  constructor(
    routes: readonly Route[],
    availability: Refusing,
    options: EdgeOptions = {},
    load = new Load(),
  ) {
    const { trustProxy = null, onForwarded, cors = null, showsHost = false, ticks } = options
    this.#load = load
    this.#tick = new Tick(() => this.#service?.forum.journal.flush(), ticks)
    this.#availability = availability
    this.#trustProxy = trustProxy
    const isWatched = trustProxy === null && onForwarded !== undefined
    this.#forwarding = isWatched ? new ForwardingWatch(onForwarded) : null
    this.#cors = cors === null ? null : new Cors(cors)
    this.#showsHost = showsHost
    this.#errorPage = options.errorPage ?? null
    for (const route of routes) this.#router.add(route, prepare(route, this.meter))
  }

  /** Lets requests reach the routes from now on. */
  open(service: Service, gate: Gate): void {
    this.#service = service
    this.#ownOrigins = ownOrigins(service.publicUrl)
    this.#gate = gate
    const { waiting, pageMaking } = service.forum
    this.#tick.setPaced((count) => waiting.resume(count))
    waiting.onReady = () => this.#tick.plan()
    pageMaking.onWork = () => this.#tick.addSlices((now) => pageMaking.doSlice(now))
  }

  /** Answers one request. */
  handle(exchange: Exchange): void {
    exchange.startedMs = this.meter.start()
    exchange.meter = this.meter.none
    this.#forwarding?.inspect(exchange)
    if (this.#cors !== null) exchange.moreHeaders = this.#cors.headers(exchange)
    const { refusal } = this.#availability
    if (refusal !== null) {
      this.#showErrors(exchange)
      return refuse(exchange, refusal)
    }
    const { path } = exchange
    const match = this.#router.find(path) ?? this.#router.find(originForm(path))
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
    if (chosen.isPage) this.#showErrors(exchange)
    this.#check(exchange, chosen, match.id)
  }

  /** Errors are pages, if the request comes from a browser and is not for the interface. */
  #showErrors(exchange: Exchange): void {
    const isShown = this.#errorPage !== null && !originForm(exchange.path).startsWith('/api/')
    if (isShown && prefersHtml(exchange.header('accept'))) exchange.errorPage = this.#errorPage
  }

  #answerOptions(exchange: Exchange, match: Match<Prepared>): void {
    const preflight = this.#cors?.preflight(exchange, allow(match.methods)) ?? ''
    answer(exchange, 204, allowHeader(match) + preflight, null)
  }

  #check(exchange: Exchange, prepared: Prepared, id: string): void {
    const { route, idPattern } = prepared
    const service = this.#service!
    if (isWrite(route)) {
      if (this.forward !== null) return this.forward(exchange, route)
      const code = crossSite(exchange, this.#ownOrigins, this.#cors)
      if (code !== null) return refuse(exchange, code)
    }
    if (isUrlTooLong(route, exchange, service)) return refuse(exchange, 'url_too_long')
    const caller = this.#callers.find(service.forum, exchange, route)
    if (caller === null) return this.forward!(exchange, route)
    if (typeof caller === 'string') return refuse(exchange, caller)
    if (typeof caller === 'object') return this.#pass(exchange, route, caller)
    if (idPattern !== null && !idPattern.test(id)) return refuse(exchange, 'invalid_id')

    const { query, refusal } = readQuery(prepared, exchange.query)
    if (refusal !== null) return refuse(exchange, refusal.code, refusal.detail)

    const key = route.idempotent ? exchange.header('idempotency-key') : ''
    const isNeeded = route.needsClient?.(service, caller, query)
    const client = isNeeded ? clientAddress(exchange, this.#trustProxy) : ''
    const origin = route.namesOrigin ? this.#originFor(exchange) : ''
    const call: AnyCall = {
      caller,
      id,
      query,
      body: null,
      client,
      key,
      origin,
      ifNoneMatch: route.hasEtag ? exchange.header('if-none-match') : '',
      connection: exchange,
      found: undefined,
      bodyBytes: 0,
    }
    if (route.body === undefined) {
      exchange.hold()
      return this.#tick.addWork(() => this.#run(exchange, route, call), 0)
    }

    if (!isJson(exchange.header('content-type'))) return refuse(exchange, 'json_required')
    exchange.collect(bodyBytesMax, (bytes) => {
      if (bytes === tooLarge) return refuse(exchange, 'too_large')
      if (bytes === overloaded) return refuse(exchange, 'overloaded')
      const text = bodyText(bytes) // now: the bytes may belong to the library
      if (text === null) return refuse(exchange, 'invalid_json')
      call.bodyBytes = bytes.length
      this.#tick.addWork(() => this.#readBody(exchange, prepared, call, text), bytes.length)
    })
  }

  #readBody(exchange: Exchange, prepared: Prepared, call: AnyCall, text: string): void {
    const refusal = readBody(prepared, call, text)
    if (refusal !== null) return refuse(exchange, refusal.code, refusal.detail)
    this.#run(exchange, prepared.route, call)
  }

  /** Runs the route; `held` is given when the request has waited for news. */
  #run(exchange: Exchange, route: Route, call: AnyCall, held: HeldRequest | null = null): void {
    // Meanwhile the service may have begun to stop, or the caller may have expired.
    const { refusal } = this.#availability
    if (refusal !== null && held === null) return refuse(exchange, refusal)
    const { forum } = this.#service!
    const { caller } = call
    if (caller !== nobody && !mayStillAct(forum, caller)) {
      return this.#finish(exchange, route, call, rejectToken(forum, caller), held)
    }
    if (route.find && !call.found) return this.#find(exchange, route, call)
    assert(!forum.coldReads.isNeeded, 'what a request notes as missing is its own')
    const outcome = route.run(this.#service!, call)
    if (!(outcome instanceof Promise)) return this.#finish(exchange, route, call, outcome, held)
    void outcome.then((later) => this.#finish(exchange, route, call, later, held))
  }

  /** Runs the route when what it needs was found elsewhere. */
  #find(exchange: Exchange, route: Route, call: AnyCall): void {
    this.#tick.noteParked()
    void route.find!(this.#service!, call).then((found) => {
      if (isRejection(found)) return this.#finish(exchange, route, call, found, null)
      this.#tick.addColdRead(() => {
        this.#run(exchange, route, { ...call, found })
        found.done()
      })
    })
  }

  /**
   * Passes the outcome on, unless the route is to be run again: when text that was missing is in
   * memory, or, if the request may wait and has found nothing, when there is news.
   */
  #finish(
    exchange: Exchange,
    route: Route,
    call: AnyCall,
    outcome: Outcome,
    held: HeldRequest | null,
  ): void {
    const { coldReads, waiting } = this.#service!.forum
    if (coldReads.isNeeded) {
      exchange.hold()
      this.#tick.noteParked()
      return coldReads.park(call, (parked) => {
        if ('rejected' in parked) return this.#finish(exchange, route, call, parked, held)
        const run = () => this.#run(exchange, route, call, held)
        this.#tick.addColdRead(() => coldReads.runAgain(parked, run))
      })
    }
    if (!isRejection(outcome) && outcome.making !== undefined) {
      return this.#make(exchange, route, call, outcome)
    }
    const wait = isRejection(outcome) ? undefined : outcome.wait
    if (wait !== undefined && held === null) {
      const { caller, client } = call
      const run = (again: HeldRequest) => this.#run(exchange, route, call, again)
      held = new HeldRequest(waiting, exchange, { caller, client, seconds: wait.seconds }, run)
    }
    if (held?.waitFor(wait?.topic)) return
    this.#pass(exchange, route, outcome)
  }

  /** Has a page made. If it must not be shown any more then, the route runs again. */
  #make(exchange: Exchange, route: Route, call: AnyCall, answer: Answer): void {
    exchange.hold()
    this.#tick.noteParked()
    this.#service!.forum.pageMaking.add(call, answer.making!, (made) => {
      if (made === null) this.#run(exchange, route, call)
      else if ('rejected' in made) this.#pass(exchange, route, made)
      else this.#pass(exchange, route, { ...answer, body: made, isCached: true })
    })
  }

  /** Sends the outcome when everything that it shows is durable, unless it may be wrong by now. */
  #pass(exchange: Exchange, route: Route, outcome: Outcome): void {
    exchange.hold()
    const { position = 0 } = outcome
    const bytes = isRejection(outcome) ? 0 : outcome.body.length
    if (position <= this.#service!.forum.journal.durable) {
      if (!mayLeave(outcome, route, this.#gate!)) return refuse(exchange, 'no_leader')
      // Copying a long page would cost more than waiting saves.
      if (bytes > waitingBytesMax && isView(outcome)) return sendOutcome(exchange, route, outcome)
      keepBody(outcome, 'end of tick')
      return this.#tick.addAnswer(() => sendOutcome(exchange, route, outcome))
    }
    // The outcome of a write must be reported, so only reads are refused here.
    if (!isWrite(route) && !this.#load.hasRoom(bytes)) {
      this.#load.refused.answers += 1
      return refuse(exchange, 'overloaded')
    }
    keepBody(outcome, 'durable')
    this.#load.answerBytes += bytes
    this.#gate!.keep(position, (isDurable) => {
      this.#load.answerBytes -= bytes
      if (isDurable) sendOutcome(exchange, route, outcome)
      else refuse(exchange, this.#gate!.failure)
    })
  }

  #originFor(exchange: Exchange): string {
    return (this.#showsHost ? hostOrigin(exchange) : null) ?? this.#service!.publicUrl
  }
}
