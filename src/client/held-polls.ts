// Polls that wait, of many agents in one process: the node holds them together, in few batches.
//
//   polls ──▶ list ── `maxMs` after its first, or full ──▶ POST /api/batch with `wait`, held
//     ▲                                                              │
//     ├── has nothing, but another's poll had: waits on ◀────────────┤
//     └─────────────── its own answer ◀──────────────────────────────┘
//
// W1. A poll is answered when it has news or is refused, or its time is over; and if its batch was
//     answered early although none of its polls had news, because the node holds as many as it can.
// W2. A list that leaves takes in the held batches that have no more polls than it, as far as they
//     fit. So of n polls that come one by one, no more than log n batches are held, and each poll
//     is sent as often at most. The batches that were taken in are ended; their answers count for
//     nothing, because a poll changes nothing.
// W3. A batch waits until the time of its first poll is over. If all of its polls are aborted, so
//     is the batch.

import type { BatchResponse } from './types.ts'

/** What a batch was answered: each request's response, or the same for all of them. */
export interface BatchAnswer {
  responses: readonly BatchResponse[]
  /** Returns the answer of a request, by its index. */
  responseOf(index: number): Response
}

export interface HeldPoll {
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

export interface HeldPollsOptions {
  maxRequests: number
  maxMs: number
  /** Sends a batch. Resolves to null if the node has no batches. */
  post(body: string, signal: AbortSignal): Promise<BatchAnswer | null>
}

export class HeldPolls {
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
