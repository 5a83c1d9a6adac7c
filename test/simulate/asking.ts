// One request to the simulated node, and the outcome that the model predicts for it. The answer is
// compared when it leaves the node, which may be much later or never.

import assert from 'node:assert/strict'
import type { Exchange } from '../../src/edge/http/exchange.ts'
import type { Body } from '../../src/edge/http/incoming-body.ts'
import type { RouteMeter } from '../../src/edge/http/meter.ts'
import type { ForumRecord } from '../../src/forum/records.ts'
import { type ErrorCode, errors } from '../../src/kernel/rejection.ts'
import type { Machine } from './machine.ts'

export interface Request {
  method: 'get' | 'post' | 'put' | 'delete'
  path: string
  query?: string
  token?: string | undefined
  key?: string
  body?: object
  /** The fields of a form, which a browser sends instead of a body. */
  form?: Record<string, string>
  /** The cookie that a browser sends. */
  cookie?: string
  address: string
}

/** The answer that a caller must receive. */
export interface Expected {
  status: number
  /** The whole body, or a function that checks it. */
  body: string | ((body: string) => void)
  /** The position of the newest record that the answer shows. */
  newest: number
}

/** The record that the request must make, and the answer once it is durable. */
export interface ExpectedWrite {
  check: (record: ForumRecord) => void
  answer: () => Expected
  /** The answer if nothing can be written, unless that is a storage error. */
  otherwise?: Expected
}

/**
 * An answer that depends on other requests: `judge` checks it when it leaves, and returns the
 * position of the newest record that it shows.
 */
export interface DeferredCheck {
  judge: (status: number, body: string) => number
}

/** The outcome that the model predicts for a request. */
export type Forecast = Expected | ExpectedWrite | DeferredCheck

const storageCodes = ['storage_full', 'overloaded', 'storage_failed'] as const

/** Returns the refusal with this code. */
export function refused(code: ErrorCode, newest = 0): Expected {
  const { status } = errors[code]
  return { status, newest, body: (body) => assert.equal(JSON.parse(body).error, code) }
}

/** A request, and what is known about its outcome. */
export interface Asking {
  request: Request
  /**
   * Called each time before the node runs the request: one that was parked is answered by the state
   * at its last run.
   */
  forecast: () => Forecast
  /** Receives the body of an answer that is not a refusal. */
  then?: ((body: string) => void) | undefined
}

/** What the requests to the node belong to, by the connections as the node sees them. */
export const askedBy = new WeakMap<object, Asked>()

/** A request that has been sent. */
export class Asked {
  readonly #machine: Machine
  readonly #asking: Asking
  readonly #name: string
  readonly #place: string
  readonly #reports: readonly ((status: number, body: string) => void)[]
  /** Null until the node has run the request. */
  #expected: Expected | DeferredCheck | null = null
  #answered: { status: number; body: string } | null = null

  /** `place` says where it is sent, if it is not sent alone. */
  constructor(machine: Machine, asking: Asking, place = '') {
    const { request } = asking
    const { method, path, query, body = '', address } = request
    this.#machine = machine
    this.#asking = asking
    this.#place = place
    this.#name = `${method} ${path}${query === undefined ? '' : `?${query}`}`
    machine.trace(() => `${this.#name} ${JSON.stringify(body)} by ${address}`)
    this.#reports = [machine.seen.sent(request), machine.seenClaims.sent(request)]
  }

  /** Has the node run the request, or refuse a parked one, and compares what it does. */
  watch(run: () => void): void {
    const machine = this.#machine
    this.#expected = null
    machine.fresh = []
    const predicted = this.#asking.forecast()
    run()
    if (this.#expected !== null) return // it was parked again, and then refused at once
    const isRefused = machine.isStopping && !('judge' in predicted)
    this.#expected = isRefused ? refused('shutting_down') : outcomeOf(machine, predicted)
    this.#compare()
  }

  answer(status: number, body: string): void {
    assert.equal(this.#answered, null, 'a request is answered once')
    for (const report of this.#reports) report(status, body)
    this.#answered = { status, body }
    this.#compare()
  }

  /** Called if it has no answer of its own. */
  lose(): void {
    for (const report of this.#reports) report(503, '')
  }

  #compare(): void {
    const [machine, expected, answered] = [this.#machine, this.#expected, this.#answered]
    if (expected === null || answered === null) return
    const { status, body } = answered
    machine.trace(() => `  ${this.#name} → ${status} ${body}`)
    if ('judge' in expected) machine.promise(expected.judge(status, body))
    else if (isFailing(machine, expected, answered)) return
    else check(machine, this.#name, expected, answered)
    machine.count(this.#place + outcomeName(this.#asking.request, status, body))
    if (status < 300) this.#asking.then?.(body)
  }
}

/** Sends the request. Returns the connection, whose client may hang up. */
export function ask(machine: Machine, asking: Asking): SimulatedExchange {
  const asked = new Asked(machine, asking)
  const answer = (status: number, body: string) => asked.answer(status, body)
  const exchange = new SimulatedExchange(asking.request, answer)
  askedBy.set(exchange, asked)
  asked.watch(() => machine.handler(exchange))
  return exchange
}

function outcomeName({ method, path }: Request, status: number, body: string): string {
  const place = path.replace(/_[0-9a-f]{32}/, '_…')
  return `${method} ${place} ${status < 400 ? status : JSON.parse(body).error}`
}

function check(
  machine: Machine,
  name: string,
  expected: Expected,
  answered: { status: number; body: string },
): void {
  const { status, body } = answered
  assert.equal(status, expected.status, `${name}: ${body}`)
  if (typeof expected.body === 'string') assert.equal(body, expected.body, name)
  else expected.body(body)
  machine.promise(expected.newest)
}

function outcomeOf({ fresh, journal }: Machine, forecast: Forecast): Expected | DeferredCheck {
  if (!('check' in forecast)) {
    assert.equal(fresh.length, 0, 'it writes nothing')
    return forecast
  }
  assert.ok(fresh.length <= 1, 'a command makes one record')
  if (fresh.length === 0) {
    assert.notEqual(journal?.health, 'ok', 'a healthy journal accepts the record')
    return forecast.otherwise ?? { status: 503, newest: 0, body: isStorageCode }
  }
  forecast.check(fresh[0].record)
  return forecast.answer()
}

function isStorageCode(body: string): void {
  assert.ok(storageCodes.includes(JSON.parse(body).error), body)
}

/** Returns whether a storage failure explains the answer; the request's outcome is then unknown. */
function isFailing(
  machine: Machine,
  expected: Expected,
  answer: { status: number; body: string },
): boolean {
  if (answer.status !== 503 || expected.status === 503) return false
  // The request arrived in the event-loop iteration in which the storage failed, so the records
  // that its answer would show may not be durable.
  const hasFailed = machine.journal?.failure != null
  if (expected.newest === 0 && !hasFailed) return false
  if (JSON.parse(answer.body).error !== 'storage_failed') return false
  machine.isFailing = true
  return true
}

export class SimulatedExchange implements Exchange {
  isGone = false
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  readonly method: string
  readonly path: string
  readonly query: string
  readonly remoteAddress: string
  readonly #request: Request
  readonly #answer: (status: number, body: string, headers: string) => void
  #hungUp: () => void = () => {}

  constructor(request: Request, answer: (status: number, body: string, headers: string) => void) {
    this.method = request.method
    this.path = request.path
    this.query = request.query ?? ''
    this.remoteAddress = request.address
    this.#request = request
    this.#answer = answer
  }

  header(name: string): string {
    const { token, key, form, cookie = '' } = this.#request
    if (name === 'authorization' && token !== undefined) return `Bearer ${token}`
    if (name === 'idempotency-key') return key ?? ''
    if (name === 'host') return 'localhost'
    if (name === 'cookie') return cookie
    if (name === 'sec-fetch-site') return form === undefined ? '' : 'same-origin'
    if (name !== 'content-type') return ''
    return form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
  }

  allOf(name: string): string {
    return this.header(name)
  }

  collect(_bytesMax: number, done: (body: Body) => void): void {
    const { body = {}, form } = this.#request
    done(Buffer.from(form === undefined ? JSON.stringify(body) : `${new URLSearchParams(form)}`))
  }

  hold(): void {}

  onHangUp(call: () => void): void {
    this.#hungUp = call
  }

  /** The client hangs up. */
  hangUp(): void {
    this.isGone = true
    this.#hungUp()
  }

  answer(status: number, _type: string, headers: string, body: string | Uint8Array | null): void {
    if (this.isGone) return
    const text = body === null ? '' : Buffer.from(body as Uint8Array).toString()
    this.#answer(status, text, headers)
  }
}
