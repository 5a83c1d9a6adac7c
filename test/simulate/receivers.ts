// The receivers of webhooks: endpoints that pass verification, accept wakeups, refuse them, or do
// not answer. Each request is checked when it reaches its receiver.

import assert from 'node:assert/strict'
import type { Post, Sent } from '../../src/forum/webhooks/send.ts'
import { errors } from '../../src/kernel/rejection.ts'
import { ask, type Request } from './asking.ts'
import { Forecasts } from './forecasts.ts'
import type { Machine } from './machine.ts'
import type { Agent, Fact } from './model-types.ts'
import * as pages from './pages.ts'
import { settled } from './virtual-time.ts'
import { secretOf } from './webhook-model.ts'

const failures: Sent[] = [
  { status: 500, error: 'webhook_http_500', body: '' },
  { status: 0, error: 'webhook_unreachable', body: '' },
  { status: 0, error: 'webhook_timeout', body: '' },
]

export class Receivers {
  readonly #machine: Machine
  /** The positions of the records of verifications, by the answer that each of them causes. */
  readonly #verified = new Map<string, number>()
  /** The event ids of wakeups, by webhook and range of messages. */
  readonly #ids = new Map<string, string>()

  constructor(machine: Machine) {
    this.#machine = machine
    machine.called = (post) => this.#checkWakeup(post)
    machine.answerCall = () => this.answerOne(0)
  }

  /**
   * Has an endpoint answer one of the open requests, correctly with a probability of `wellChance`.
   */
  async answerOne(wellChance: number): Promise<void> {
    const { calling } = this.#machine
    if (calling.length === 0) return
    const [{ post, answer }] = calling.splice(this.#machine.below(calling.length), 1)
    const isWell = this.#machine.chance(wellChance)
    const body = JSON.parse(post.body)
    const sent = isWell ? good(body) : failures[this.#machine.below(failures.length)]
    this.#machine.trace(() => `${post.endpoint} ${post.body} → ${JSON.stringify(sent)}`)
    this.#machine.fresh = []
    answer(sent)
    await settled()
    for (const fact of this.#machine.fresh) this.#noteVerification(fact)
  }

  /** The caller gets the outcome of a verification, however late it comes. */
  #noteVerification({ position, record }: Fact): void {
    if (record.type !== 'webhook.verified' && record.type !== 'webhook.verify_failed') return
    const webhook = this.#machine.model.webhooks.all[record.webhook]
    const error = record.type === 'webhook.verified' ? null : record.error
    this.#verified.set(pages.verificationBody(webhook, error), position)
  }

  #checkWakeup(post: Post): void {
    const { model } = this.#machine
    const body = JSON.parse(post.body)
    if (body.type !== 'notifications.available') return
    const webhook = model.webhooks.all.find(({ endpoint }) => endpoint === post.endpoint)
    assert.ok(webhook !== undefined, 'a wakeup goes to an endpoint that was registered')
    const { after, through, event_id } = body as {
      after: number
      through: number
      event_id: string
    }
    const range = `${webhook.id} ${after + 1} ${through}`
    this.#machine.count(this.#ids.has(range) ? 'wakeup: again' : 'wakeup: first')
    assert.equal(this.#ids.get(range) ?? event_id, event_id, 'a repeated wakeup has the same id')
    this.#ids.set(range, event_id)
    assert.equal(post.secret, secretOf(webhook))
    assert.equal(post.eventId, event_id)
    this.#machine.promise(through)
    if (webhook.isGone) return
    const delivery = webhook.deliveries.find(({ first }) => first === after + 1)
    assert.ok(delivery !== undefined, 'an attempt belongs to a delivery')
    assert.equal(through, delivery.through, 'a delivery does not change while it is sent')
    assert.equal(event_id, pages.eventId(delivery))
    this.#machine.promise(delivery.started)
  }

  /** Sends an agent's request to verify its webhook. */
  verify(request: Request, agent: Agent): void {
    const { model, config, forumTime: at } = this.#machine
    const isActive = model.isActive(agent, at)
    const forecasts = new Forecasts(model, at, config.limits)
    const forecast = isActive ? forecasts.verify(agent) : forecasts.token(agent)
    // The node first checks whether the webhook is durable, which the model does not know.
    const { status: limited } = errors.rate_limited
    const isOpen = forecast === null || ('status' in forecast && forecast.status === limited)
    const refusals = ['webhook_not_registered', 'overloaded', 'storage_full', 'storage_failed']
    refusals.push('identity_blocked') // if the agent is blocked meanwhile
    const judge = (status: number, body: string) => {
      const hasExpired = this.#machine.model.hasExpired(agent, this.#machine.forumTime)
      if (hasExpired) refusals.push('invalid_token')
      if (forecast === null) return this.#judge(status, body, refusals)
      assert.notEqual(status, 200, 'it is rate limited')
      return this.#judge(status, body, ['rate_limited', ...refusals])
    }
    ask(this.#machine, { request, forecast: () => (isOpen ? { judge } : forecast) })
  }

  #judge(status: number, body: string, refusals: readonly string[]): number {
    if (status === 200) {
      const position = this.#verified.get(body)
      assert.ok(position !== undefined, `no verification had this outcome: ${body}`)
      return position
    }
    assert.ok(refusals.includes(JSON.parse(body).error), body)
    return 0
  }
}

/** The answer of an endpoint that works, which returns the challenge. */
function good({ type, challenge }: Record<string, unknown>): Sent {
  if (type !== 'webhook.challenge') return { status: 204, error: null, body: '' }
  return { status: 200, error: null, body: JSON.stringify({ challenge }) }
}
