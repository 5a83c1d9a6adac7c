// Sends requests until they are answered.
//
//   send ──▶ answer ──────────────▶ returned, or thrown if it is a refusal
//     ▲        lost, late, 429 or 5xx
//     └─ pause ◀┘   doubling, with jitter, and never shorter than Retry-After
//
// T1. A lost answer does not show what the service did. The same request is sent again with the
//     same idempotency key, so a publication is made once.
// T2. A refusal, in which the service has decided, is never retried.
// T3. An aborted signal ends a call at once, with the signal's reason.

import { type ErrorCode, ForumError } from './errors.ts'

const pauseMsFirst = 250
const pauseMsMax = 8_000

export interface ForumOptions {
  /** Where the node is, like `http://127.0.0.1:8787`. */
  url: string
  /** The token of an identity; `register` sets it too. */
  token?: string
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch
  /** How often a request is sent again at most; 4 by default. */
  retries?: number
  /**
   * How long one attempt may take, beside the `wait` that it asks for; 60,000 by default. Where the
   * service asks for a longer pause, the call is not retried: its error has `retryAfterSeconds`.
   */
  timeoutMs?: number
}

/** Names are camelCase here, and snake_case on the wire. What is undefined is not sent. */
export interface Request {
  query?: object
  body?: object
  key?: string | undefined
  signal?: AbortSignal | undefined
  /** In place of the client's own `retries`; Infinity: as long as it takes. */
  retries?: number | undefined
}

export class Transport {
  token: string | undefined
  readonly #url: string
  readonly #fetch: typeof fetch
  readonly #retries: number
  readonly #timeoutMs: number

  constructor({ url, token, fetch: own, retries = 4, timeoutMs = 60_000 }: ForumOptions) {
    this.#url = baseOf(url)
    this.token = token
    this.#fetch = own ?? ((input, init) => fetch(input, init))
    this.#retries = retries
    this.#timeoutMs = timeoutMs
  }

  /** Resolves to the answer: a JSON object, or a text if it is not JSON. Throws ForumError. */
  async send<T>(method: string, path: string, request: Request = {}): Promise<T> {
    const { signal, retries = this.#retries } = request
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      try {
        return await this.#attempt<T>(method, path, request)
      } catch (error) {
        if (!(error instanceof ForumError) || isFinal(error) || attempt > retries) throw error
        const askedMs = (error.retryAfterSeconds ?? 0) * 1000
        if (askedMs > this.#timeoutMs && retries < Number.POSITIVE_INFINITY) throw error
        await sleep(Math.max(askedMs, pauseMs(attempt)), signal)
      }
    }
  }

  async #attempt<T>(method: string, path: string, request: Request): Promise<T> {
    const { query = {}, body, key, signal } = request
    const wire = toWire(query) as Record<string, string>
    const search = new URLSearchParams(wire).toString()
    const timeoutMs = this.#timeoutMs + Number(wire.wait ?? 0) * 1000
    const headers: Record<string, string> = {}
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`
    if (key !== undefined) headers['idempotency-key'] = key
    if (body !== undefined) headers['content-type'] = 'application/json'
    // Not AbortSignal.any, whose results live as long as a signal that many calls share.
    const ending = new AbortController()
    const end = () => ending.abort()
    signal?.addEventListener('abort', end)
    const timer = setTimeout(end, timeoutMs)
    try {
      const send = this.#fetch
      const response = await send(this.#url + path + (search && `?${search}`), {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(toWire(body)),
        redirect: 'manual', // it would turn a POST into a GET
        signal: ending.signal,
      })
      return answerOf<T>(response, await response.text())
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof ForumError) throw error
      const [code, why] = ending.signal.aborted
        ? (['timeout', `no answer in ${timeoutMs} ms`] as const)
        : (['network', reasonOf(error as Error)] as const)
      throw new ForumError(0, code, `${method} ${this.#url}${path}: ${why}`)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }
}

/** Resolves after the time; rejects with the signal's reason when that is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}

/** The jitter keeps clients apart that failed together. */
export function pauseMs(attempt: number): number {
  return Math.min(pauseMsMax, pauseMsFirst * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
}

/** Whether the same request will not succeed later either: the service has decided on it. */
function isFinal({ status, code }: ForumError): boolean {
  return code === 'bootstrap_pending' || (status !== 0 && status !== 429 && status < 500)
}

function answerOf<T>({ ok, status, headers }: Response, text: string): T {
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false
  if (ok) return isJson ? JSON.parse(text) : (text as T)
  const { error, message } = isJson ? refusalOf(text) : {}
  const code = (error ?? 'network') as ErrorCode
  const seconds = Number(headers.get('retry-after') || Number.NaN)
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : undefined
  const sentence = message ?? `answered ${status}, and not by the forum`
  throw new ForumError(status, code, sentence, retryAfterSeconds)
}

function refusalOf(text: string): { error?: string; message?: string } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire)
  if (typeof value !== 'object' || value === null) return value
  const given = Object.entries(value).filter(([, part]) => part !== undefined)
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(given.map(([name, part]) => [snakeCase(name), toWire(part)]))
}

/** Runtimes say "fetch failed", and why in the cause. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

/** Without a slash at its end. Throws a TypeError; `localhost:8787` has a scheme, `localhost:`. */
function baseOf(url: string): string {
  if (/^https?:\/\/./i.test(url)) return new URL(url).href.replace(/(?<!\/)\/+$/, '')
  throw new TypeError(`url takes something like http://127.0.0.1:8787, which ${url} is not`)
}
