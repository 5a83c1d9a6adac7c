// Sends requests until they are answered.
//
//   send ──▶ answer ──────────────▶ returned, or thrown if it is a refusal
//     ▲        lost, late, 429 or 5xx
//     └─ pause ◀┘   doubling, with jitter, and never shorter than Retry-After; the last attempt
//                   is made when the time for retries is over
//
// T1. A lost answer does not show what the service did. The same bytes are sent again with the same
//     idempotency key, so that a publication is made only once.
// T2. A refusal, which is a decision of the service, is never retried.
// T3. An aborted signal ends a call at once, with the signal's reason.
// T4. A returned value has the form of the operation's answer (answers.ts): an answer that is not
//     the forum's is never taken for a success. At most `answerBytesMax` of an answer are read.

import { type Form, hasForm } from './answers.ts'
import { type ErrorCode, ForumError } from './errors.ts'

const pauseMsFirst = 250
const pauseMsMax = 8_000
/** The maximum of any pause, whatever the service asks for. */
const pauseMsLongest = 86_400_000
/** A timer with more milliseconds fires at once. */
const timerMsMax = 2 ** 31 - 1
/** The longest answer of a node, a page of proposals in escaped characters, has about 10 MB. */
const answerBytesMax = 16 * 2 ** 20

export interface ForumOptions {
  /** The address of the node, such as `http://127.0.0.1:8787`. */
  url: string
  /** The token of an identity; `register` sets it too. */
  token?: string
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch
  /** The maximum number of retries, by default as many as `timeoutMs` allows. */
  retries?: number
  /**
   * The timeout of one attempt in milliseconds, to which the `wait` of a poll is added, and the
   * time for which a call is retried after its first failure, unless `retries` limits that; 60,000
   * by default. If the service asks for a longer pause, the call is not retried, and its error has
   * `retryAfterSeconds`.
   */
  timeoutMs?: number
}

/** Names are in camelCase here, and in snake_case on the wire. Undefined values are not sent. */
export interface Request {
  query?: object
  body?: object
  key?: string | undefined
  signal?: AbortSignal | undefined
  /** Overrides the client's own `retries`; Infinity: without a limit. */
  retries?: number | undefined
}

export class Transport {
  token: string | undefined
  readonly #url: string
  readonly #fetch: typeof fetch
  readonly #retries: number | undefined
  readonly #timeoutMs: number

  constructor({ url, token, fetch: own, retries, timeoutMs = 60_000 }: ForumOptions) {
    this.#url = baseOf(url)
    // No header can contain these characters, and the error thrown for one would repeat the token.
    if (token !== undefined && /[^\x21-\x7e]/.test(token)) {
      throw new TypeError('the token has invalid characters, such as a line break')
    }
    this.token = token
    this.#fetch = own ?? ((input, init) => fetch(input, init))
    this.#retries = retries
    this.#timeoutMs = timeoutMs
  }

  /** Resolves to an answer of this form. Throws ForumError, or the signal's reason. */
  async send<T>(
    method: string,
    path: string,
    form: Form<T>,
    { query, body, key, signal, retries = this.#retries }: Request = {},
  ): Promise<T> {
    const { wait = 0 } = { ...body, ...query } as { wait?: number }
    const search = query && searchOf(toWire(query) as object)
    const headers: Record<string, string> = {}
    if (this.token !== undefined) headers.authorization = `Bearer ${this.token}`
    if (key !== undefined) headers['idempotency-key'] = key
    if (body !== undefined) headers['content-type'] = 'application/json'
    // Without `follow_up`, which is advice for callers that have no client.
    if (method === 'POST') headers.prefer = 'return=minimal'
    const url = this.#url + path + (search ? `?${search}` : '')
    const text = body === undefined ? null : JSON.stringify(toWire(body))
    // A redirect would turn a POST into a GET.
    const sent: RequestInit = { method, headers, body: text, redirect: 'manual' }
    const attemptMs = Math.min(this.#timeoutMs + wait * 1000, timerMsMax)
    let since: number | undefined // the first failure
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      try {
        return await this.#attempt(form, url, sent, attemptMs, signal)
      } catch (error) {
        if (!(error instanceof ForumError) || isFinal(error)) throw error
        const now = performance.now()
        since ??= now
        const leftMs = retries === undefined ? since + this.#timeoutMs - now : pauseMsLongest
        const isOver = retries === undefined ? leftMs <= 0 : attempt > retries
        const askedMs = (error.retryAfterSeconds ?? 0) * 1000
        const isTooLong = askedMs > this.#timeoutMs && retries !== Number.POSITIVE_INFINITY
        if (isOver || isTooLong) throw error
        await sleep(Math.max(askedMs, Math.min(pauseMs(attempt), leftMs)), signal)
      }
    }
  }

  async #attempt<T>(
    form: Form<T>,
    url: string,
    sent: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    // Not AbortSignal.any, whose results live as long as a signal that many calls share.
    const ending = new AbortController()
    const end = () => ending.abort()
    signal?.addEventListener('abort', end)
    const timer = setTimeout(end, timeoutMs)
    try {
      const send = this.#fetch
      const response = await send(url, { ...sent, signal: ending.signal })
      return answerOf(response, await textOf(response), form)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof ForumError) throw error
      const isLate = ending.signal.aborted
      const why = isLate ? `no answer in ${timeoutMs} ms` : reasonOf(error as Error)
      throw new ForumError(0, isLate ? 'timeout' : 'network', `${sent.method} ${url}: ${why}`)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }
}

/** Resolves after `ms`, at most a day. Rejects with the signal's reason if it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, Math.min(ms, pauseMsLongest))
    signal?.addEventListener('abort', end)
  })
}

/** Returns a pause, with jitter that separates clients that failed at the same time. */
export function pauseMs(attempt: number): number {
  return Math.min(pauseMsMax, pauseMsFirst * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
}

/** Whether a retry cannot succeed either, because the service has decided on the request. */
function isFinal({ status, code }: ForumError): boolean {
  return code === 'bootstrap_pending' || (status !== 0 && status !== 429 && status < 500)
}

/** Returns the body, whose bytes are counted as they come where the runtime shows them. */
export async function textOf(response: Response): Promise<string> {
  if (!response.body) return response.text()
  const [reader, decoder] = [response.body.getReader(), new TextDecoder()]
  let text = ''
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > answerBytesMax) {
      await reader.cancel()
      throw new ForumError(
        response.status,
        'network',
        `the answer has more than ${answerBytesMax} bytes`,
      )
    }
    text += decoder.decode(value, { stream: true })
  }
}

function answerOf<T>({ ok, status, headers }: Response, text: string, form: Form<T>): T {
  const type = headers.get('content-type') ?? ''
  const isJson = type.startsWith('application/json')
  if (ok && (form.kinds === null ? type.startsWith('text/plain') : isJson)) {
    const answer = isJson ? JSON.parse(text) : text
    if (hasForm(answer, form)) return answer
  }
  const { error, message, ...fields } =
    isJson && !ok ? ((parsed(text) ?? {}) as { error?: string; message?: string }) : {}
  const code = (error ?? 'network') as ErrorCode
  const seconds = Number(headers.get('retry-after') || Number.NaN)
  const retryAfterSeconds = seconds >= 0 && Number.isFinite(seconds) ? seconds : undefined
  const sentence = message ?? `answered ${status}, but not by the forum`
  throw new ForumError(status, code, sentence, retryAfterSeconds, fields)
}

/** Returns the value of a JSON text, or null if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire)
  if (typeof value !== 'object' || value === null) return value
  const defined = Object.entries(value).filter(([, part]) => part !== undefined)
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(defined.map(([name, part]) => [snakeCase(name), toWire(part)]))
}

/** Returns a query string, in which a list is a repeated parameter. */
function searchOf(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    return [value].flat().map((each): [string, string] => [name, `${each}`])
  })
  return `${new URLSearchParams(pairs)}`
}

/** Returns the cause where there is one: the message of a runtime is only "fetch failed". */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

/** Removes slashes at the end. Throws a TypeError; `localhost:8787` has the scheme `localhost:`. */
export function baseOf(url: string): string {
  if (/^https?:\/\/./i.test(url)) return new URL(url).href.replace(/(?<!\/)\/+$/, '')
  throw new TypeError(`url takes an address like http://127.0.0.1:8787, not "${url}"`)
}
