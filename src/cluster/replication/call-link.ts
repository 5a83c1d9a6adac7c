// Forwards requests over the engine's calls. A follower sends them to the leader of the newest term
// that it has seen, and a leader answers only for its own term.

import type { Handler } from '../../edge/http/exchange.ts'
import type { State } from '../../forum/state.ts'
import {
  answerForwarded,
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  type ForwardedAnswer,
  type ForwardedRequest,
  type LeaderLink,
} from './forwarding.ts'
import type { Calls } from './log-stream.ts'

export class CallLink implements LeaderLink {
  readonly #calls: Calls
  readonly #state: Pick<State, 'term'>
  #lastId = 0
  /** Requests that await the answer of a term's leader. */
  readonly #pending = new Set<{ term: number; giveUp: () => void }>()

  /** `state` has the newest term that this follower knows; 0: none. */
  constructor(calls: Calls, state: Pick<State, 'term'>) {
    this.#calls = calls
    this.#state = state
  }

  request(request: ForwardedRequest, done: (answer: ForwardedAnswer | null) => void): void {
    const term = this.#state.term.number
    if (term === 0) return done(null)
    this.#lastId += 1
    const pending = {
      term,
      giveUp: () => {
        if (this.#pending.delete(pending)) done(null)
      },
    }
    this.#pending.add(pending)
    this.#ask(term, encodeRequest(this.#lastId, request)).then((answer) => {
      if (this.#pending.delete(pending)) done(answer)
    }, pending.giveUp)
  }

  /** Must be called when another term has begun, because the previous leader may never answer. */
  termBegan(): void {
    const { number } = this.#state.term
    for (const { term, giveUp } of this.#pending) if (term < number) giveUp()
  }

  async #ask(term: number, bytes: Uint8Array): Promise<ForwardedAnswer | null> {
    const received = await this.#calls.call(term, bytes)
    if (received === null) return null
    return decodeAnswer(received).answer
  }
}

/**
 * Answers the requests that followers forward, until it is stopped. `durable` returns the position
 * up to which the leader's answers may be shown.
 */
export function answerCalls(
  calls: Calls,
  term: number,
  handler: Handler,
  durable: () => number,
): { stop(): void } {
  return calls.answer(
    term,
    (bytes) =>
      new Promise((resolve) => {
        const { id, request } = decodeRequest(bytes)
        answerForwarded(handler, request, durable, (answer) => resolve(encodeAnswer(id, answer)))
      }),
  )
}
