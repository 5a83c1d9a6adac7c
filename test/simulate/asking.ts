// One request to the simulated node, and what the model says must come of it. The answer is
// compared when it leaves, which may be much later, or never.

import assert from 'node:assert/strict'
import { type ErrorCode, errors } from '../../src/api/errors.ts'
import type { ForumRecord } from '../../src/forum/records.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import type { Body } from '../../src/http/incoming-body.ts'
import type { RouteMeter } from '../../src/http/meter.ts'
import type { Machine } from './machine.ts'

export interface Request {
  method: 'get' | 'post' | 'delete'
  path: string
  query?: string
  token?: string | undefined
  key?: string
  body?: object
  address: string
}

/** What a caller must be told. */
export interface Told {
  status: number
  /** All of it, or what must hold of it. */
  body: string | ((body: string) => void)
  /** Position of the newest record that it tells of. */
  newest: number
}

/** One record, and what is told of it. */
export interface Writing {
  check: (record: ForumRecord) => void
  tell: () => Told
  /** What is told where nothing can be written; else that the storage takes nothing. */
  without?: Told
}

/** An answer that depends on others: it is judged when it leaves, and tells of `newest`. */
export interface Later {
  judge: (status: number, body: string) => number
}

/** What must come of a request. */
export type Forecast = Told | Writing | Later

const storageCodes = ['storage_full', 'overloaded', 'storage_failed'] as const

/** The lawful no with this code. */
export function refused(code: ErrorCode, newest = 0): Told {
  const { status } = errors[code]
  return { status, newest, body: (body) => assert.equal(JSON.parse(body).error, code) }
}

/** Sends the request; `then` gets the body of an answer that is no refusal. */
export function ask(
  machine: Machine,
  request: Request,
  forecast: Forecast,
  then: (body: string) => void = () => {},
): void {
  const { method, path, query } = request
  const name = `${method} ${path}${query === undefined ? '' : `?${query}`}`
  machine.trace(() => `${name} ${JSON.stringify(request.body ?? '')} by ${request.address}`)
  machine.fresh = []
  let told: Told | Later | null = null
  let answered: { status: number; body: string } | null = null
  const compare = () => {
    if (told === null || answered === null) return
    const { status, body } = answered
    machine.trace(() => `  ${name} → ${status} ${body}`)
    if ('judge' in told) machine.told(told.judge(status, body))
    else if (isFailing(machine, told, answered)) return
    else check(machine, name, told, answered)
    machine.count(outcomeName(request, status, body))
    if (status < 300) then(body)
  }
  const exchange = new SimulatedExchange(request, (status, body) => {
    assert.equal(answered, null, 'each is answered once')
    answered = { status, body }
    compare()
  })
  machine.handler(exchange)
  told = outcomeOf(machine, forecast)
  compare()
}

function outcomeName({ method, path }: Request, status: number, body: string): string {
  const place = path.replace(/_[0-9a-f]{32}/, '_…')
  return `${method} ${place} ${status < 400 ? status : JSON.parse(body).error}`
}

function check(
  machine: Machine,
  name: string,
  told: Told,
  { status, body }: { status: number; body: string },
): void {
  assert.equal(status, told.status, `${name}: ${body}`)
  if (typeof told.body === 'string') assert.equal(body, told.body, name)
  else told.body(body)
  machine.told(told.newest)
}

function outcomeOf({ fresh, journal }: Machine, forecast: Forecast): Told | Later {
  if (!('check' in forecast)) {
    assert.equal(fresh.length, 0, 'it writes nothing')
    return forecast
  }
  assert.ok(fresh.length <= 1, 'a command is one record')
  if (fresh.length === 0) {
    assert.notEqual(journal?.health, 'ok', 'what can be written is written')
    return forecast.without ?? { status: 503, newest: 0, body: isStorageCode }
  }
  forecast.check(fresh[0].record)
  return forecast.tell()
}

function isStorageCode(body: string): void {
  assert.ok(storageCodes.includes(JSON.parse(body).error), body)
}

/** The storage fails: whoever waits is refused, and cannot know what became of the request. */
function isFailing(
  machine: Machine,
  told: Told,
  answer: { status: number; body: string },
): boolean {
  if (answer.status !== 503 || told.status === 503) return false
  // Asked in the turn in which it failed: what it tells of may not be durable any more.
  const hasFailed = machine.journal?.failure != null
  if (told.newest === 0 && !hasFailed) return false
  if (JSON.parse(answer.body).error !== 'storage_failed') return false
  machine.isFailing = true
  return true
}

class SimulatedExchange implements Exchange {
  readonly isGone = false
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  readonly method: string
  readonly path: string
  readonly query: string
  readonly remoteAddress: string
  readonly #request: Request
  readonly #answer: (status: number, body: string) => void

  constructor(request: Request, answer: (status: number, body: string) => void) {
    this.method = request.method
    this.path = request.path
    this.query = request.query ?? ''
    this.remoteAddress = request.address
    this.#request = request
    this.#answer = answer
  }

  header(name: string): string {
    const { token, key } = this.#request
    if (name === 'authorization' && token !== undefined) return `Bearer ${token}`
    if (name === 'idempotency-key') return key ?? ''
    return name === 'content-type' ? 'application/json' : ''
  }

  allOf(name: string): string {
    return this.header(name)
  }

  collect(_bytesMax: number, done: (body: Body) => void): void {
    done(Buffer.from(JSON.stringify(this.#request.body ?? {})))
  }

  hold(): void {}

  answer(status: number, _type: string, _headers: string, body: string | Uint8Array | null): void {
    this.#answer(status, body === null ? '' : Buffer.from(body as Uint8Array).toString())
  }
}
