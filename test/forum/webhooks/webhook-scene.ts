// A small forum for tests of webhooks: a few identities in a few threads, and short methods for
// their actions.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from '../../../src/forum/feed/commands.ts'
import { createIdentity } from '../../../src/forum/identities/commands.ts'
import type { State } from '../../../src/forum/state.ts'
import { createThread, reply } from '../../../src/forum/threads/commands.ts'
import {
  beginVerification,
  finishVerification,
  registerWebhook,
} from '../../../src/forum/webhooks/commands.ts'
import {
  type Attempt,
  beginAttempt,
  eventId,
  readDeliveries,
  takeDue,
} from '../../../src/forum/webhooks/deliveries.ts'
import { deliveryState } from '../../../src/forum/webhooks/webhook.ts'
import type { QuotaLimits } from '../../../src/kernel/quotas.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { newWorld, replayed, restart, type World } from '../doubles.ts'

export const inbox = 'https://forum.example/api/notifications'
export const agents = 4
export const threads = 3

/** A forum of a few identities. The first one wrote all threads and then unsubscribed from them. */
export class Scene {
  readonly world: World
  readonly threadIds: string[] = []
  readonly attempts: Attempt[] = []
  readonly posted: { seq: number; author: number; thread: number }[] = []
  keys = 0

  constructor(kind: 'guest' | 'persistent' = 'persistent', limits?: QuotaLimits) {
    this.world = newWorld(limits)
    this.forum.dueWebhooks.resume()
    for (let n = 0; n < agents; n++) {
      createIdentity(this.forum, { kind, displayName: `agent ${n}`, address: '' }, 'open')
    }
    for (let n = 0; n < threads; n++) {
      this.post(() =>
        createThread(this.forum, {
          caller: 0,
          title: `thread ${n}`,
          content: 'first',
          visibility: 'public',
          participantIds: [],
          address: '',
          key: this.key(),
        }),
      )
      this.threadIds.push(this.state.threads.id(n))
      unsubscribe(this.forum, { caller: 0, threadId: this.threadIds[n] })
    }
  }

  get forum() {
    return this.world.forum
  }

  get state(): State {
    return this.forum.state
  }

  key(): string {
    this.keys += 1
    return `key-${this.keys}`
  }

  post(publish: () => { position: number } | { rejected: string }): number {
    const outcome = publish()
    assert.ok(!isRejection(outcome), 'it is published')
    return (outcome as { position: number }).position
  }

  reply(caller: number, thread: number): number {
    const threadId = this.threadIds[thread]
    const seq = this.post(() =>
      reply(this.forum, { caller, threadId, content: 'hello', address: '', key: this.key() }),
    )
    this.posted.push({ seq, author: caller, thread })
    return seq
  }

  /** Returns, naively, the messages of which an identity has to be told after this position. */
  owed(identity: number, after: number): number[] {
    const { subscriptions } = this.state
    return this.posted
      .filter(({ seq, author, thread }) => {
        const isFollowed = subscriptions.isSubscribed(identity, thread)
        const since = Math.max(after + 1, subscriptions.changedAt(identity, thread))
        return author !== identity && isFollowed && seq >= since
      })
      .map(({ seq }) => seq)
  }

  follow(caller: number, thread: number): void {
    subscribe(this.forum, { caller, threadId: this.threadIds[thread] })
  }

  leave(caller: number, thread: number): void {
    unsubscribe(this.forum, { caller, threadId: this.threadIds[thread] })
  }

  register(caller: number, key = this.key(), endpoint = 'https://hooks.example.com/') {
    return registerWebhook(this.forum, { caller, endpoint, key })
  }

  verify(caller: number, error: string | null = null) {
    const begun = beginVerification(this.forum, caller)
    return isRejection(begun) ? begun : finishVerification(this.forum, begun, error)
  }

  /** Gives an identity an active webhook, and subscribes it to the first thread. */
  woken(caller: number): void {
    this.register(caller)
    this.verify(caller)
    this.follow(caller, 0)
  }

  /** Begins the next attempt. Undefined: none is due, whether or not a webhook was queued. */
  begin(): Attempt | null | 'later' | undefined {
    for (;;) {
      const due = takeDue(this.forum)
      if (due === undefined) return undefined
      const { position } = this.state
      const attempt = beginAttempt(this.forum, due.webhook, inbox)
      if (attempt !== null || this.state.position > position) return attempt // null: cancelled
    }
  }

  deliveries(caller: number) {
    const { webhook, deliveries } = readDeliveries(this.forum, { caller, after: 0, limit: 100 })
    return deliveries.map((delivery) => ({
      id: eventId(this.forum, webhook!, delivery),
      state: deliveryState(delivery),
      ...delivery.context,
    }))
  }

  /** Replaces the state by the fold of the log, as after a crash. */
  restart(): void {
    restart(this.forum, replayed(this.world.rows))
    this.forum.dueWebhooks.resume()
    this.attempts.length = 0
  }
}

/** Returns everything about webhooks that callers can see. */
export function seen(state: State) {
  return {
    registrations: state.webhooks.registrations,
    webhooks: [...state.webhooks.all()].map(({ changed: _, ...webhook }) => ({
      ...webhook,
      sealed: Buffer.from(webhook.sealed).toString('hex'),
      deliveries: state.webhooks.deliveries(webhook, state.now),
    })),
    changed: Array.from({ length: agents }, (_, n) => state.webhooks.changedAt(n)),
  }
}

export function sent(attempt: ReturnType<Scene['begin']>): Attempt {
  assert.ok(attempt && attempt !== 'later', 'there is an attempt')
  return attempt
}

export const ok = { status: 204, error: null }
export const bad = { status: 500, error: 'webhook_http_500' }
