// Challenges endpoints: each proves that it receives requests by returning a value sent to it.

import { parseJson } from '../../base/json.ts'
import type { Post, Send } from './send.ts'

const runningMax = 64

interface Challenge extends Omit<Post, 'body'> {
  webhook: number
  challenge: string
}

/** Null if verified, or a code of docs/interface.md, "Registration and verification". */
type Proof = { error: string | null }

export class Challenger {
  readonly #send: Send
  readonly #running = new Map<number, Promise<Proof>>()

  constructor(send: Send) {
    this.#send = send
  }

  /**
   * Challenges the endpoint. Returns null if too many challenges, or one to this webhook, are in
   * flight.
   */
  verify(challenge: Challenge): Promise<Proof> | null {
    const { webhook } = challenge
    if (this.#running.size >= runningMax || this.#running.has(webhook)) return null
    const proof = this.#prove(challenge).finally(() => this.#running.delete(webhook))
    this.#running.set(webhook, proof)
    return proof
  }

  /** Resolves when no challenge is in flight. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #prove({ challenge, endpoint, secret, eventId }: Challenge): Promise<Proof> {
    const body = JSON.stringify({ type: 'webhook.challenge', event_id: eventId, challenge })
    const sent = await this.#send({ endpoint, secret, eventId, body })
    if (sent.error !== null) return { error: sent.error }
    if (sent.body === null) return { error: 'webhook_response_too_large' }
    const answer = parseJson(sent.body)
    if (typeof answer !== 'object' || answer === null) return { error: 'webhook_invalid_response' }
    const isProof = 'challenge' in answer && answer.challenge === challenge
    return { error: isProof ? null : 'webhook_challenge_mismatch' }
  }
}
