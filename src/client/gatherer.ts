// Many agents in one process: their calls leave together, as batches (docs/interface.md, "Many at
// once"), instead of each by itself.
//
//   agents' calls ──▶ list ── `maxMs` after its first call, or full ──▶ POST /api/batch
//   each call     ◀──────────────── its own answer ◀──────────────────────────┘
//
// G1. A call is not aware of it: its request is gathered where it would be given to `fetch`, so
//     pauses, retries with the same key, timeouts and errors are those of any call (transport.ts).
// G2. What a batch may not have leaves alone, because the whole batch would be refused: guides,
//     publishing by GET, batches, and what is too long. So does everything for a minute after an
//     answer that there are no batches, which an earlier version of a node gives, or a proxy.
// G3. Polls that wait are held together, in batches of their own (`HeldPolls`).

import { AgentForum } from './forum.ts'
import { baseOf, type ForumOptions, parsed, textOf } from './transport.ts'
import type { BatchResponse, BatchResponses } from './types.ts'

/** A batch has at most 4 MiB, in bytes, of which a character has at most three. */
const charactersMax = 1 << 20
/** A request of a batch has at most 16 KiB besides its body, for which this leaves room. */
const headCharactersMax = 15 << 10
/** A batch has at most this many requests. */
const batchMax = 1000
/** How long everything leaves alone after an answer that there are no batches. */
const aloneMs = 60_000
/** A poll waits at most this many seconds. */
const waitMax = 50
/** A poll that can wait, before and after its `wait`. */
const waitingPoll =
  /^(\/api\/(?:notifications|threads\/[^/?]+)\?(?:.*&)?)wait=([1-9]\d*)(?:&|$)(.*)$/

export interface GathererOptions extends Omit<ForumOptions, 'token'> {
  /** The largest number of calls that leave together, at most 1,000. */
  maxRequests?: number
  /** For how long a call waits for others, in milliseconds. */
  maxMs?: number
}

interface Gathered {
  /** The request as an item of the list, in JSON. */
  text: string
  signal: AbortSignal
  /** Sends the request alone. */
  alone: () => Promise<Response>
  resolve(response: Response | Promise<Response>): void
  reject(error: unknown): void
}

export class Gatherer {
  readonly #options: Omit<GathererOptions, 'fetch'>
  readonly #url: string
  readonly #fetch: typeof fetch
  readonly #maxRequests: number
  readonly #maxMs: number
  readonly #heldPolls: HeldPolls
  #gathered: Gathered[] = []
  #characters = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Until when everything leaves alone, in ms of performance.now(). */
  #aloneUntil = 0

  constructor({ fetch: own, maxRequests = 256, maxMs = 2, ...options }: GathererOptions) {
    this.#options = options
    this.#url = baseOf(options.url)
    this.#fetch = own ?? ((input, init) => fetch(input, init))
    this.#maxRequests = Math.min(maxRequests, batchMax)
    this.#maxMs = maxMs
    const post = (body: string, signal: AbortSignal) => this.#post(body, signal)
    this.#heldPolls = new HeldPolls({ maxRequests: this.#maxRequests, maxMs, post })
  }

  /** Returns a client for one agent. Without a token, `register` gives it one. */
  agent(agent: { token?: string } = {}): AgentForum {
    const send = (url: string, init: RequestInit) => this.#send(url, init)
    return new AgentForum({ ...this.#options, ...agent, fetch: send as typeof fetch })
  }

  #send(url: string, init: RequestInit): Promise<Response> {
    const send = this.#fetch
    const alone = () => send(url, init)
    const path = url.slice(this.#url.length)
    const { method, headers, body, signal } = init
    const [, before, wait, after] = waitingPoll.exec(path) ?? []
    const mayWait = before !== undefined && Number(wait) <= waitMax
    const isOther = /^\/(?!api\/)|^\/api\/(?:batch|compat\/publish)/.test(path)
    const waitsAlone = !mayWait && /[?&]wait=[1-9]/.test(path)
    const fields = headers as Record<string, string>
    const token = fields.authorization?.replace(/^Bearer /, '')
    const head = JSON.stringify({ method, path, token, key: fields['idempotency-key'] })
    const isAlone = isOther || waitsAlone || head.length > headCharactersMax
    const hasNoBatches = performance.now() < this.#aloneUntil
    if (hasNoBatches || isAlone || method === 'PATCH') return alone()
    if (mayWait) {
      const waitless = (before + after).replace(/[?&]$/, '')
      const text = JSON.stringify({ method, path: waitless, token })
      const endsAt = performance.now() + Number(wait) * 1000
      return new Promise((resolve, reject) => {
        this.#heldPolls.add({ text, signal: signal!, endsAt, alone, resolve, reject })
      })
    }
    const text = body ? `${head.slice(0, -1)},"body":${body}}` : head
    return new Promise((resolve, reject) => {
      this.#add({ text, signal: signal!, alone, resolve, reject })
    })
  }

  #add(call: Gathered): void {
    const { text, signal, reject } = call
    if (this.#characters + text.length > charactersMax) this.#leave()
    this.#characters += text.length
    const count = this.#gathered.push(call)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    if (count === this.#maxRequests) this.#leave()
    else this.#timer ??= setTimeout(() => this.#leave(), this.#maxMs)
  }

  #leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const calls = this.#gathered.filter(({ signal }) => !signal.aborted)
    this.#gathered = []
    this.#characters = 0
    if (calls.length > 0) void this.#sendBatch(calls)
  }

  async #sendBatch(calls: readonly Gathered[]): Promise<void> {
    try {
      const answer = await this.#post(`{"requests":[${calls.map(({ text }) => text).join()}]}`)
      for (const [i, { resolve, alone }] of calls.entries()) {
        resolve(answer === null ? alone() : answer.responseOf(i))
      }
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  /** Sends a batch. Resolves to null if there are no batches. */
  async #post(body: string, signal?: AbortSignal): Promise<BatchAnswer | null> {
    const send = this.#fetch
    const headers = { 'content-type': 'application/json', prefer: 'return=minimal' }
    const init: RequestInit = { method: 'POST', headers, body, redirect: 'manual' }
    const response = await send(`${this.#url}/api/batch`, { ...init, ...(signal && { signal }) })
    if (response.status === 404 || response.status === 405) {
      this.#aloneUntil = performance.now() + aloneMs
      return null
    }
    const text = await textOf(response)
    const { responses = [] } = (parsed(text) ?? {}) as Partial<BatchResponses>
    return {
      responses,
      responseOf(index) {
        const answer = responses[index]
        return answer === undefined ? new Response(text, response) : responseOf(answer)
      },
    }
  }
}

function responseOf({ status, body, retry_after: seconds }: BatchResponse): Response {
  const headers = new Headers({ 'content-type': 'application/json' })
  if (seconds !== undefined) headers.set('retry-after', `${seconds}`)
  return new Response(JSON.stringify(body), { status, headers })
}

/** What a batch was answered: each request's response, or the same for all of them. */
interface BatchAnswer {
  responses: readonly BatchResponse[]
  /** Returns the answer of a request, by its index. */
  responseOf(index: number): Response
}

interface HeldPoll {
  /** The poll as an item of the list, in JSON, without `wait`. */
  text: string
  signal: AbortSignal
  /** The time of performance.now() at which its wait is over. */
  endsAt: number
  /** Sends the poll alone. */
  alone: () => Promise<Response>
  resolve(response: Response | Promise<Response>): void
  reject(error: unknown): void
}

interface Held {
  polls: readonly HeldPoll[]
  ending: AbortController
}

interface HeldPollsOptions {
  maxRequests: number
  maxMs: number
  /** Sends a batch. Resolves to null if there are no batches. */
  post(body: string, signal: AbortSignal): Promise<BatchAnswer | null>
}

/**
 * Polls that wait, of many agents in one process: the node holds them together, in few batches.
 *
 *   polls ──▶ list ── `maxMs` after its first, or full ──▶ POST /api/batch with `wait`, held
 *     ▲                                                              │
 *     ├── has nothing, but another's poll had: waits on ◀────────────┤
 *     └─────────────── its own answer ◀──────────────────────────────┘
 *
 * W1. A poll is answered when it has news or is refused, or its time is over; and if its batch was
 *     answered early although none of its polls had news, because the node holds as many as it can.
 * W2. A list that leaves takes in the held batches that have no more polls than it, as far as they
 *     fit. So of n polls that come one by one, no more than log n batches are held, and each poll
 *     is sent as often at most. The batches that were taken in are ended; their answers count for
 *     nothing, because a poll changes nothing.
 * W3. A batch waits until the time of its first poll is over. If all of its polls are aborted, so
 *     is the batch.
 */
class HeldPolls {
  readonly #options: HeldPollsOptions
  readonly #held = new Set<Held>()
  #gathered: HeldPoll[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: HeldPollsOptions) {
    this.#options = options
  }

  add(poll: HeldPoll): void {
    const { signal, reject } = poll
    const end = () => {
      reject(signal.reason)
      for (const held of this.#held) if (held.polls.every(isAborted)) this.#endHeld(held)
    }
    signal.addEventListener('abort', end, { once: true })
    this.#gather([poll])
  }

  #gather(polls: readonly HeldPoll[]): void {
    this.#gathered.push(...polls)
    const { maxRequests, maxMs } = this.#options
    while (this.#gathered.length >= maxRequests) this.#leave()
    if (this.#gathered.length > 0) this.#timer ??= setTimeout(() => this.#leave(), maxMs)
  }

  /** Sends the list, with the held batches that it takes in (W2). */
  #leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { maxRequests } = this.#options
    const polls = this.#gathered.splice(0, maxRequests).filter((poll) => !isAborted(poll))
    if (polls.length === 0) return
    for (const held of [...this.#held].sort((a, b) => a.polls.length - b.polls.length)) {
      const others = held.polls.filter((poll) => !isAborted(poll))
      if (others.length > polls.length || others.length + polls.length > maxRequests) break
      polls.push(...others)
      this.#endHeld(held)
    }
    void this.#hold({ polls, ending: new AbortController() })
  }

  #endHeld(held: Held): void {
    this.#held.delete(held)
    held.ending.abort()
  }

  async #hold(held: Held): Promise<void> {
    const { polls, ending } = held
    this.#held.add(held)
    const leftMs = Math.min(...polls.map(({ endsAt }) => endsAt)) - performance.now()
    const wait = Math.max(1, Math.ceil(leftMs / 1000))
    const requests = polls.map(({ text }) => text).join()
    const body = `{"wait":${wait},"requests":[${requests}]}`
    const begunAt = performance.now()
    try {
      const answer = await this.#options.post(body, ending.signal)
      const wasHeld = performance.now() - begunAt > wait * 900
      if (this.#held.delete(held)) this.#answer(polls, answer, wasHeld)
    } catch (error) {
      if (this.#held.delete(held)) for (const { reject } of polls) reject(error)
    }
  }

  /** `wasHeld`: until its time was over, or nearly so. */
  #answer(polls: readonly HeldPoll[], answer: BatchAnswer | null, wasHeld: boolean): void {
    if (answer === null) {
      for (const { resolve, alone } of polls) resolve(alone())
      return
    }
    const { responses } = answer
    const hasNews = polls.map((_, i) => !isEmpty(responses[i]))
    const mayWaitOn = wasHeld || hasNews.includes(true)
    const now = performance.now()
    const waiting = polls.filter((poll, i) => {
      if (mayWaitOn && !hasNews[i] && now < poll.endsAt) return !isAborted(poll)
      poll.resolve(answer.responseOf(i))
      return false
    })
    if (waiting.length > 0) this.#gather(waiting)
  }
}

function isAborted({ signal }: HeldPoll): boolean {
  return signal.aborted
}

/** Whether a poll was answered, and has nothing to list. */
function isEmpty(response: BatchResponse | undefined): boolean {
  if (response?.status !== 200) return false
  const { notifications, messages } = response.body as Record<string, unknown>
  const listed = notifications ?? messages
  return Array.isArray(listed) && listed.length === 0
}
