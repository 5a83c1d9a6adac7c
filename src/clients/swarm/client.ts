// One HTTP client for the whole swarm: a pool of connections, retries and latencies. With a size
// for batches, what is timed leaves in batches (batches.ts), and the rest alone.
//
//   send ──▶ answer 2xx, 4xx ─────────────────────────────▶ returned
//     ▲        lost: no connection, no answer in time, 503, 429
//     └── wait ◀┘   (Retry-After, or a growing pause with jitter; until the patience ends)
//
// H1. A lost answer does not tell what the server did. So the same request is sent again, byte for
//     byte, with the same idempotency key, which makes it safe to retry a publication.
// H2. A request ends with an answer, or with Unreachable when its patience has ended.
// H3. The latency of a request runs from its first try to its answer, including lost tries and
//     pauses: it is how long an agent waited. For a message at a constant rate it runs from when
//     the message was due (pace.ts). It includes this process's own work, which dominates with many
//     connections to a fast server.
// H4. An answer's body is decoded strictly: bytes that are not UTF-8 never become a string. Two
//     strings decoded in this way are equal exactly if their UTF-8 bytes are equal.

import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { Batches, type HttpAnswer } from './batches.ts'
import { Unreachable } from './failures.ts'
import { Latencies } from './latencies.ts'
import { Meter, type TimedOperation } from './meter.ts'

export type Request = {
  operation: TimedOperation
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  token?: string
  key?: string
  body?: object
  /** The time from which its latency counts; by default, when it is sent. */
  dueAt?: number
  /** Ends the request: `send` then throws the reason of the signal. */
  signal?: AbortSignal
}

/** `tries` is 1 when no answer was lost. A body that is not JSON is `undefined`. */
export type ReceivedAnswer = { status: number; body: unknown; tries: number }

/** Latencies in microseconds; `from` and `to` are milliseconds of performance.now(). */
export type Timing = { latency: Latencies; from: number; to: number }

type Cause = 'connection' | 'timeout' | 'unavailable' | 'quota'
/** Why an answer was lost, in a word and in a sentence, and how long to wait at least. */
type Loss = { cause: Cause; why: string; waitMs: number }

export type ClientOptions = {
  url: string
  connections: number
  patienceMs: number
  answerTimeoutMs?: number
  /** The number of requests that leave together at most; by default, each leaves alone. */
  batchSize?: number
  /** Counts every answer, and every one that is lost. */
  meter?: Meter
}

const answerTimeoutMsDefault = 10_000
const pauseMsFirst = 50
const pauseMsMax = 2_000

// Enough for 100 messages of 8000 characters, each character a twelve-byte pair of escapes.
const answerBytesMax = 100 * 8000 * 12 + 1024 * 1024

/** See H1 to H4. `answerTimeoutMs` is the silence after which an answer counts as lost. */
export class Client {
  readonly retries: Record<Cause, number> = { connection: 0, timeout: 0, unavailable: 0, quota: 0 }
  readonly timings = new Map<TimedOperation, Timing>()
  readonly url: string
  /** The token of requests that have none, for a forum that is closed to non-members; '': none. */
  memberToken: () => string = () => ''
  /** Null: every request leaves alone. */
  readonly batches: Batches | null
  readonly #meter: Meter
  readonly #pool: Pool
  readonly #patienceMs: number
  readonly #ending = new AbortController()
  #answeredOnce = false

  constructor({ url, connections, patienceMs, ...options }: ClientOptions) {
    const { answerTimeoutMs: timeoutMs = answerTimeoutMsDefault, meter = new Meter() } = options
    const { batchSize: size = 1 } = options
    const post = (body: string) => {
      return this.#exchange({ method: 'POST', path: '/api/batch' }, body)
    }
    this.batches = size > 1 ? new Batches({ size, connections, post }) : null
    this.url = url
    this.#meter = meter
    this.#patienceMs = patienceMs
    // Every request that waits for a retry adds a listener.
    setMaxListeners(0, this.#ending.signal)
    this.#pool = new Pool(url, {
      connections,
      pipelining: 1,
      connectTimeout: timeoutMs,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxResponseSize: answerBytesMax,
    })
  }

  /** Sends until answered. Throws Unreachable: patience has ended, or nothing has ever answered. */
  async send(request: Request): Promise<ReceivedAnswer> {
    const sentAt = performance.now()
    for (let tries = 1; ; tries++) {
      const outcome = await this.#attempt(request)
      if (!('cause' in outcome)) {
        this.#took(request.operation, request.dueAt ?? sentAt)
        return { ...outcome, tries }
      }
      this.#ending.signal.throwIfAborted()
      // A wrong address is reported at once; a server that has answered before may come back.
      if (!this.#answeredOnce) throw new Unreachable(`no server at ${this.url}: ${outcome.why}`)
      const waitMs = Math.max(outcome.waitMs, pauseMs(tries))
      if (performance.now() - sentAt + waitMs > this.#patienceMs) {
        throw new Unreachable(
          `${request.method} ${request.path}: gave up after ${tries} tries: ${outcome.why}`,
        )
      }
      this.retries[outcome.cause]++
      this.#meter.lost()
      await sleep(waitMs, undefined, { signal: this.#ending.signal })
    }
  }

  /** The number of answers that were lost, and whose requests were sent again. */
  get errors(): number {
    return Object.values(this.retries).reduce((sum, count) => sum + count, 0)
  }

  /** Aborted when the client is closed. */
  get closing(): AbortSignal {
    return this.#ending.signal
  }

  /** Closes every connection; requests in flight fail. */
  async close(): Promise<void> {
    this.#ending.abort()
    await this.#pool.destroy()
  }

  async #attempt(request: Request): Promise<Omit<ReceivedAnswer, 'tries'> | Loss> {
    try {
      const { status, body, retryAfter } = await this.#answerTo(request)
      if (status !== 503 && status !== 429) return { status, body }
      return {
        cause: status === 503 ? 'unavailable' : 'quota',
        why: `answered ${status} ${errorOf(body)}`,
        waitMs: retryAfter * 1000,
      }
    } catch (error) {
      request.signal?.throwIfAborted()
      return lossBy(error)
    }
  }

  #answerTo(request: Request): Promise<HttpAnswer> {
    const { operation, method, path, key, body } = request
    const token = request.token ?? this.memberToken()
    if (this.batches === null || operation === null) {
      const text = body === undefined ? null : JSON.stringify(body)
      return this.#exchange({ ...request, token }, text)
    }
    return this.batches.send({
      method,
      path,
      ...(token !== '' && { token }),
      ...(key !== undefined && { key }),
      ...(body !== undefined && { body }),
    })
  }

  async #exchange(head: Head, body: string | null): Promise<HttpAnswer> {
    const { method, path, signal = null } = head
    const headers = headersOf(head, body !== null)
    const response = await this.#pool.request({ method, path, headers, body, signal })
    const bytes = await response.body.arrayBuffer()
    this.#answeredOnce = true
    const seconds = Number(response.headers['retry-after'] ?? 0)
    const retryAfter = Number.isFinite(seconds) ? seconds : 0
    return { status: response.statusCode, body: parse(bytes), retryAfter }
  }

  #took(operation: TimedOperation, startedAt: number): void {
    const microseconds = this.time(operation, startedAt, performance.now())
    if (operation !== null) this.#meter.answered(microseconds)
  }

  /** Records what took from one time of performance.now() to another. Returns microseconds. */
  time(operation: TimedOperation, from: number, to: number): number {
    let timing = this.timings.get(operation)
    if (timing === undefined) {
      timing = { latency: new Latencies(), from, to }
      this.timings.set(operation, timing)
    }
    const microseconds = Math.max(1, Math.round((to - from) * 1000))
    timing.latency.record(microseconds)
    timing.to = to
    return microseconds
  }
}

/** Returns the `error` and `message` of an answer, for a sentence about it. */
export function errorOf(body: unknown): string {
  const { error, message } = (body ?? {}) as { error?: unknown; message?: unknown }
  return [error, message].filter((part) => typeof part === 'string').join(': ')
}

type Head = Pick<Request, 'method' | 'path' | 'token' | 'key' | 'signal'>

function headersOf({ method, token, key }: Head, hasBody: boolean): Record<string, string> {
  const headers: Record<string, string> = {}
  if (token !== undefined && token !== '') headers.authorization = `Bearer ${token}`
  if (key !== undefined) headers['idempotency-key'] = key
  if (hasBody) headers['content-type'] = 'application/json'
  if (method === 'POST') headers.prefer = 'return=minimal'
  return headers
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function parse(bytes: ArrayBuffer): unknown {
  try {
    return JSON.parse(strictUtf8.decode(bytes))
  } catch {
    return undefined
  }
}

// Network errors carry a code. An error without one is about an answer, or a bug, as is one about
// our arguments.
function lossBy(error: unknown): Loss {
  const { code, message } = error as { code?: unknown; message: string }
  if (typeof code !== 'string' || code === 'UND_ERR_INVALID_ARG') throw error
  const cause = code.endsWith('_TIMEOUT') ? 'timeout' : 'connection'
  return { cause, why: message || code, waitMs: 0 }
}

// Doubles with each try. The jitter keeps requests that failed together from returning together.
function pauseMs(tries: number): number {
  const fullMs = Math.min(pauseMsMax, pauseMsFirst * 2 ** (tries - 1))
  return fullMs * (0.5 + Math.random() / 2)
}
