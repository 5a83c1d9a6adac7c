// Requests to the leader by NATS request and reply. The servers store nothing of them.
//
//   subject   <name>.leader.<term>      a leader listens only on that of its own term, so that a
//                                       request never reaches the leader of another term

import {
  type Msg,
  type NatsConnection,
  NoRespondersError,
  RequestError,
} from '@nats-io/transport-node'
import { type Calls, callMs, StreamUnavailable } from '../log-stream.ts'
import type { ServerLink } from './link.ts'

export class NatsCalls implements Calls {
  readonly #connection: NatsConnection
  readonly #name: string
  readonly #link: ServerLink

  constructor(connection: NatsConnection, link: ServerLink, name: string) {
    this.#connection = connection
    this.#link = link
    this.#name = name
  }

  async call(term: number, request: Uint8Array): Promise<Uint8Array | null> {
    // The client would buffer the request, and the caller would wait in vain.
    if (!this.#link.isConnected) return null
    try {
      const subject = this.#subjectOf(term)
      const options = { timeout: callMs }
      const answered = await this.#link.unlessLost(
        this.#connection.request(subject, request, options),
      )
      return answered.data
    } catch (error) {
      if (isUnheard(error)) return null
      throw new StreamUnavailable(`the leader: ${(error as Error).message}`, { cause: error })
    }
  }

  answer(term: number, answer: (request: Uint8Array) => Promise<Uint8Array>): { stop(): void } {
    const subscription = this.#connection.subscribe(this.#subjectOf(term), {
      callback: (error, message) => {
        if (error !== null) return
        // Without an answer the caller's request times out, and it reports an unknown outcome.
        this.#respond(message, answer(message.data)).catch(() => {})
      },
    })
    return { stop: () => subscription.unsubscribe() }
  }

  /** Sends the answer once there is a connection; a new one reaches the same caller. */
  async #respond(message: Msg, answer: Promise<Uint8Array>): Promise<void> {
    const bytes = await answer
    await this.#link.whenConnected()
    message.respond(bytes)
  }

  #subjectOf(term: number): string {
    return `${this.#name}.leader.${term}`
  }
}

function isUnheard(error: unknown): boolean {
  return (
    error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())
  )
}
