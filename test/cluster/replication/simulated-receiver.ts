// The receiver of a webhook of one identity in the simulation of several nodes: it passes the
// verification, and accepts wakeups or fails. An answer comes later, as everything between machines
// does; that to a process which has died meanwhile reaches nobody.
//
// In the end every wakeup must have been delivered: a node that takes over sends again what the
// previous leader had begun.

import assert from 'node:assert/strict'
import type { Post, Sent } from '../../../src/forum/webhooks/send.ts'
import type { Request } from '../../simulate/asking.ts'

const address = '10.0.0.3'
const failed: Sent = { status: 500, error: 'webhook_http_500', body: '' }

interface Asked {
  ask(request: Request, answer: (status: number, body: string) => void): void
}

interface Chance {
  random: () => number
  count: (outcome: string) => void
}

interface Delivery {
  message_seq: number
  state: string
}

export class SimulatedReceiver {
  /** The probability with which it accepts a wakeup. */
  acceptRate = 0.7
  /** Answers that have not been sent yet. */
  readonly #open: (() => void)[] = []
  readonly #world: Chance
  #isActive = false
  /** A position after its verification. */
  #since = 0
  /** The newest message that a wakeup has announced successfully. */
  through = 0

  constructor(world: Chance) {
    this.#world = world
  }

  get isActive(): boolean {
    return this.#isActive
  }

  get pending(): number {
    return this.#open.length
  }

  /** Receives a request of a node, whose code `answer` continues. */
  receive(post: Post, answer: (sent: Sent) => void): void {
    this.#open.push(() => {
      const body = JSON.parse(post.body) as { type: string; challenge?: string; through?: number }
      const isChallenge = body.type === 'webhook.challenge'
      const isAccepted = isChallenge || this.#world.random() < this.acceptRate
      this.#world.count(isChallenge ? 'webhook: challenge' : `wakeup: ${isAccepted}`)
      if (isAccepted && !isChallenge) this.through = Math.max(this.through, body.through!)
      const { challenge } = body
      const text = isChallenge ? JSON.stringify({ challenge }) : ''
      answer(isAccepted ? { status: 200, error: null, body: text } : failed)
    })
  }

  /** Answers one of the requests, if there are any. */
  answerOne(): void {
    if (this.#open.length === 0) return
    const [answer] = this.#open.splice(Math.floor(this.#world.random() * this.#open.length), 1)
    answer!()
  }

  /** Takes one more step towards an active webhook of this identity. */
  prepare(node: Asked, token: string): void {
    if (this.#isActive) return
    const path = '/api/notifications/webhook'
    const body = { url: 'https://hook.example.com/' }
    const key = 'the-only-webhook'
    const register: Request = { method: 'post', path, token, key, body, address }
    node.ask(register, (status) => {
      if (status >= 300) return
      node.ask({ method: 'post', path: `${path}/verify`, token, address }, (verified, text) => {
        if (verified !== 200 || !JSON.parse(text).verified) return
        node.ask({ method: 'get', path: '/api/status', address }, (status, text) => {
          if (status !== 200) return
          this.#since = JSON.parse(text).position
          this.#isActive = true
        })
      })
    })
  }

  /** Calls `done` with whether everything was announced and delivered, if the node answers. */
  whetherAllDelivered(node: Asked, token: string, done: (all: boolean) => void): void {
    const path = '/api/notifications/deliveries'
    const readOn = (after: number) => {
      const request: Request = {
        method: 'get',
        path,
        query: `limit=100&after=${after}`,
        token,
        address,
      }
      node.ask(request, (status, text) => {
        if (status !== 200) return
        const page = JSON.parse(text) as {
          deliveries: Delivery[]
          next_after: number
          has_more: boolean
        }
        const { deliveries } = page
        for (const { state } of deliveries) assert.notEqual(state, 'cancelled')
        if (deliveries.some(({ state }) => state !== 'delivered')) done(false)
        else if (page.has_more) readOn(page.next_after)
        else this.#whetherAllAnnounced(node, token, done)
      })
    }
    readOn(0)
  }

  /** Calls `done` with whether the feed has nothing that no wakeup has announced. */
  #whetherAllAnnounced(node: Asked, token: string, done: (all: boolean) => void): void {
    const query = `limit=1&after=${Math.max(this.#since, this.through)}`
    node.ask(
      { method: 'get', path: '/api/notifications', query, token, address },
      (status, text) => {
        if (status === 200) done(JSON.parse(text).notifications.length === 0)
      },
    )
  }
}
