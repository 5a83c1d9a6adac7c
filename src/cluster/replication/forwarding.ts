// Requests that a follower forwards to the leader, and their answers. The messages are independent
// of their transport.
//
//   caller ──▶ follower's edge ──▶ Forwarder ──request──▶ ForwardedExchange ──▶ leader's edge
//   caller ◀── follower's gate ◀──────────────────answer─┘ with the position that it shows
//
// W1. The leader makes all checks that depend on the state, in their documented order and with the
//     caller's headers and address, as if the caller had called it directly.
// W2. An answer leaves when this follower may show its position, so callers read their own writes.
// W3. Every request is answered once. Where no leader is known, or the outcome is unknown because
//     the leader has gone, the answer is 503 `no_leader`: callers repeat the request with its key.
//     Where both are processes of one node, that node is ending: 503 `shutting_down`.
// W4. An answer waits for this follower until `answeredMs` after its request was sent, and becomes
//     503 `overloaded` then, because the follower's disk may be full, or its connection to the log
//     lost, for hours. It counts as in flight until this follower has its position, which bounds
//     the number of waiting answers.
//
// W5. Where both are processes of one node, the follower makes the checks, and the leader decides
//     (edge/http/checked-request.ts). Between nodes, which may run different versions, W1 holds.
// W6. A forwarded poll does not wait for news at the leader, which would not notice that its caller
//     hangs up. It is forwarded only because its token is new here, where the next one waits.
//
// Neighbours: edge/http/handle.ts decides which requests are forwarded. The channel is trusted
// (W1), so only a socket of this user or an authenticated connection may carry these messages.

import { Packr } from 'msgpackr'
import type { Outcome, Route, Service } from '../../edge/api/route.ts'
import { refuse, sendOutcome } from '../../edge/http/answers.ts'
import {
  type AnyCall,
  bodyOf,
  type CheckedRequest,
  type Forward,
  RemoteResponder,
  rendered,
  type UnreadBody,
  unreadBody,
} from '../../edge/http/checked-request.ts'
import { clientAddress, type TrustProxy } from '../../edge/http/client-address.ts'
import type { Exchange, Handler, Responder } from '../../edge/http/exchange.ts'
import type { Gate, GateFailure } from '../../edge/http/gate.ts'
import type { Body } from '../../edge/http/incoming-body.ts'
import type { Load } from '../../edge/http/load.ts'
import { isPage, type Prepared, preferOf } from '../../edge/http/prepared-route.ts'

/** The headers that write routes and their checks read. */
const headerNames = [
  'authorization',
  'idempotency-key',
  'content-type',
  'accept',
  'origin',
  'host',
  'sec-fetch-site',
  'purpose',
  'sec-purpose',
  'cookie',
  'prefer',
] as const
type HeaderName = (typeof headerNames)[number]
const headerIndexes = new Map<string, number>(headerNames.map((name, index) => [name, index]))

export interface ForwardedRequest {
  method: string
  path: string
  query: string
  /** The caller's address, as clientAddress returns it. */
  address: string
  /** The values of `headerNames`. */
  headers: readonly string[]
  /** Null: the route reads no body. A string: why the body was not kept. */
  body: Uint8Array | 'too_large' | 'overloaded' | null
}

type AnswerBody = string | Uint8Array | null

export interface ForwardedAnswer {
  status: number
  type: string
  /** Header lines, each after a CRLF. */
  headers: string
  body: AnswerBody
  /** The answer shows nothing after this position. */
  position: number
}

/**
 * When a request is answered at the latest, after it was sent: a caller hears within ten seconds
 * that a write is not decided. An answer that comes late still has `catchUpMsMin`.
 */
const answeredMs = 9_000
const catchUpMsMin = 500

const packr = new Packr({ useRecords: false })

/** Encodes a request with the id that its answer will have. */
export function encodeRequest(id: number, request: ForwardedRequest): Buffer {
  const { method, path, query, address, headers, body } = request
  return packr.pack([id, method, path, query, address, headers, body])
}

/**
 * Decodes a message of `encodeRequest`; throws if it is not one. The body is a view of the message,
 * which the edge decodes at once.
 */
export function decodeRequest(bytes: Uint8Array): { id: number; request: ForwardedRequest } {
  const values = packr.unpack(bytes) as [number, string, string, string, string, string[], never]
  if (!Array.isArray(values) || !Array.isArray(values[5])) throw new Error('not a request')
  const [id, method, path, query, address, headers, body] = values
  return { id, request: { method, path, query, address, headers, body } }
}

/** Encodes an answer at once, because its body may be a view that is overwritten afterwards. */
export function encodeAnswer(id: number, answer: ForwardedAnswer): Buffer {
  const { status, type, headers, body, position } = answer
  return packr.pack([id, status, type, headers, body, position])
}

/** Decodes a message of `encodeAnswer`; throws if it is not one. */
export function decodeAnswer(bytes: Uint8Array): { id: number; answer: ForwardedAnswer } {
  const values = packr.unpack(bytes) as [number, number, string, string, AnswerBody, number]
  if (!Array.isArray(values)) throw new Error('not an answer')
  const [id, status, type, headers, view, position] = values
  const body = view instanceof Uint8Array ? Buffer.from(view) : view
  return { id, answer: { status, type, headers, body, position } }
}

export interface LeaderLink {
  /**
   * Sends a request to the leader. Calls `done` once, possibly before it returns: with the answer,
   * or with null if there is no leader or the outcome is unknown.
   */
  request(request: ForwardedRequest, done: (answer: ForwardedAnswer | null) => void): void
  /**
   * Sends a request that has passed the checks, in the same way; absent: only whole ones are sent.
   */
  checked?(request: CheckedRequest, done: (outcome: Outcome | null) => void): void
}

export interface ForwarderParts {
  link: LeaderLink
  gate: Gate
  journal: { readonly durable: number }
  load: Load
  trustProxy: TrustProxy | null
  /** Renders the leader's decisions. */
  service: Service
  /** Whether the leader currently accepts checked requests; by default it never does. */
  takesChecked?: () => boolean
  /** The refusal without a leader (W3); `no_leader` by default. */
  whenLost?: GateFailure
  /** Overrides `answeredMs` and `catchUpMsMin` (W4). */
  waitMs?: number
}

interface Answered {
  /** The length of the request's body. */
  bytes: number
  sentMs: number
  /** The answer shows nothing after this position. */
  position: number
}

/** The follower's side: forwards the requests of its edge to the leader. */
export class Forwarder implements Forward {
  /** Requests that wait for the leader, and answers that wait for this follower. */
  inFlight = 0
  /** The total number of requests sent. */
  sent = 0
  readonly #parts: ForwarderParts

  constructor(parts: ForwarderParts) {
    this.#parts = parts
  }

  get takesChecked(): boolean {
    return this.#parts.takesChecked?.() ?? false
  }

  whole(exchange: Exchange, route: Route, bytesMax: number): void {
    const request: ForwardedRequest = {
      method: exchange.method,
      path: exchange.path,
      query: exchange.query,
      address: clientAddress(exchange, this.#parts.trustProxy),
      headers: headerNames.map((name) => headerOf(exchange, route, name)),
      body: null,
    }
    if (route.body === undefined) {
      exchange.hold()
      return this.#send(exchange, request)
    }
    exchange.collect(bytesMax, (bytes) => {
      request.body = unreadBody(bytes) // encoded at once, while the bytes are valid
      this.#send(exchange, request)
    })
  }

  checked(
    responder: Responder,
    { routeIndex, route }: Prepared,
    call: AnyCall,
    unread: UnreadBody | null,
  ): void {
    const { link, service } = this.#parts
    const bytes = call.bodyBytes + (unread?.length ?? 0)
    if (!this.#begin(responder, bytes)) return
    const sentMs = performance.now()
    link.checked!({ routeIndex, call, unread }, (outcome) => {
      const { position = 0 } = outcome ?? {}
      this.#end(responder, { bytes, sentMs, position }, () => {
        if (outcome === null) this.#refuseLost(responder)
        else sendOutcome(responder, route, rendered(outcome, route, service, call))
      })
    })
  }

  #send(responder: Responder, request: ForwardedRequest): void {
    const bytes = request.body?.length ?? 0
    if (!this.#begin(responder, bytes)) return
    const sentMs = performance.now()
    this.#parts.link.request(request, (answer) => {
      const { position = 0 } = answer ?? {}
      this.#end(responder, { bytes, sentMs, position }, () => {
        if (answer === null) this.#refuseLost(responder)
        else pass(responder, answer)
      })
    })
  }

  /**
   * Counts a request and the bytes of its body; refuses it and returns false if there is no room.
   */
  #begin(responder: Responder, bytes: number): boolean {
    const { load } = this.#parts
    if (this.inFlight >= load.limits.writesMax || !load.hasRoom(bytes)) {
      load.refused.writes += 1
      refuse(responder, 'overloaded')
      return false
    }
    this.inFlight += 1
    this.sent += 1
    load.answerBytes += bytes
    return true
  }

  /**
   * Ends a request that the leader has answered: `leave` runs once this follower may show
   * the position of the answer.
   */
  #end(responder: Responder, answered: Answered, leave: () => void): void {
    const { load, journal } = this.#parts
    load.answerBytes -= answered.bytes
    if (answered.position > journal.durable) return this.#keep(responder, answered, leave)
    this.inFlight -= 1
    leave()
  }

  /** Answers once this follower may show the answer's position (W2, W4). */
  #keep(responder: Responder, { sentMs, position }: Answered, leave: () => void): void {
    const { gate, load } = this.#parts
    const leftMs = sentMs + answeredMs - performance.now()
    const { waitMs = Math.max(catchUpMsMin, leftMs) } = this.#parts
    let isAnswered = false
    const timer = setTimeout(() => {
      isAnswered = true
      load.refused.writes += 1
      refuse(responder, 'overloaded')
    }, waitMs)
    gate.keep(position, (failure) => {
      this.inFlight -= 1
      clearTimeout(timer)
      if (isAnswered) return
      if (failure === null) leave()
      else refuse(responder, failure)
    })
  }

  #refuseLost(responder: Responder): void {
    refuse(responder, this.#parts.whenLost ?? 'no_leader')
  }
}

/**
 * Returns a header as the leader must see it. Whether a form was sent by a page of the service is
 * known only here, because the leader may have another origin.
 */
function headerOf(exchange: Exchange, route: Route, name: HeaderName): string {
  const { isForm } = route
  if (isForm && name === 'origin') return ''
  if (isForm && name === 'sec-fetch-site') return 'same-origin'
  if (name === 'prefer') return preferOf(exchange)
  return name === 'cookie' && !isPage(route) ? '' : exchange.header(name)
}

/** Sends the leader's answer. */
function pass(responder: Responder, answer: ForwardedAnswer): void {
  const { status, type, headers, body } = answer
  responder.answer(status, type, headers, body)
  responder.meter!.count(status, responder.startedMs)
}

/**
 * The leader's side: has its edge answer a request. `reply` must encode the answer before it
 * returns. An answer leaves when what it shows is durable, so `durable` returns the position it
 * shows.
 */
export function answerForwarded(
  handler: Handler,
  request: ForwardedRequest,
  durable: () => number,
  reply: (answer: ForwardedAnswer) => void,
): void {
  handler(new ForwardedExchange(request, durable, reply))
}

class ForwardedExchange extends RemoteResponder implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  /** The follower has already evaluated the headers of proxies: this is the caller's address. */
  readonly remoteAddress: string
  readonly #request: ForwardedRequest
  readonly #durable: () => number
  readonly #reply: (answer: ForwardedAnswer) => void

  constructor(
    request: ForwardedRequest,
    durable: () => number,
    reply: (answer: ForwardedAnswer) => void,
  ) {
    super()
    this.method = request.method
    this.path = request.path
    this.query = request.query
    this.remoteAddress = request.address
    this.#request = request
    this.#durable = durable
    this.#reply = reply
  }

  header(name: string): string {
    const index = headerIndexes.get(name)
    return index === undefined ? '' : (this.#request.headers[index] ?? '')
  }

  allOf(name: string): string {
    return this.header(name)
  }

  collect(_bytesMax: number, done: (body: Body) => void): void {
    const { body } = this.#request
    done(body === null ? Buffer.alloc(0) : bodyOf(body))
  }

  /** Ends the wait at once (W6). */
  onWait(end: () => void): void {
    end()
  }

  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void {
    this.#reply({ status, type, headers, body, position: this.#durable() })
  }
}
