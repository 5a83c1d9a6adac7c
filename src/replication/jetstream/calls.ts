// Requests to the leader by NATS request and reply: nothing of them is kept by the servers.
//
//   subject   <name>.leader.<term>      a leader listens only on that of its own term, so that a
//                                       request never reaches one that others have replaced for us

import { type NatsConnection, NoRespondersError, RequestError } from '@nats-io/transport-node'
import { type Calls, callMs, StreamUnavailable } from '../log-stream.ts'

export class NatsCalls implements Calls {
  readonly #connection: NatsConnection
  readonly #name: string
  #isConnected = true

  constructor(connection: NatsConnection, name: string) {
    this.#connection = connection
    this.#name = name
    void this.#watch()
  }

  async call(term: number, request: Uint8Array): Promise<Uint8Array | null> {
    // The client would keep the request, and the caller would wait for nothing.
    if (!this.#isConnected) return null
    try {
      const subject = this.#subjectOf(term)
      return (await this.#connection.request(subject, request, { timeout: callMs })).data
    } catch (error) {
      if (isUnheard(error)) return null
      throw new StreamUnavailable(`the leader: ${(error as Error).message}`, { cause: error })
    }
  }

  answer(term: number, answer: (request: Uint8Array) => Promise<Uint8Array>): { stop(): void } {
    const subscription = this.#connection.subscribe(this.#subjectOf(term), {
      callback: (error, message) => {
        if (error !== null) return
        // Without an answer the caller's time ends: it reports an unknown outcome.
        answer(message.data).then(
          (bytes) => message.respond(bytes),
          () => {},
        )
      },
    })
    return { stop: () => subscription.unsubscribe() }
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect') this.#isConnected = false
      if (type === 'reconnect') this.#isConnected = true
    }
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
