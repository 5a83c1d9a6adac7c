// The waiting polls of the simulation, and the checker of their history.
//
// W1. An answer with items is a page of the model as it was at some moment since the request.
// W2. An answer without items comes when the poll has timed out, or when the node stops.
// W3. No wakeup is lost: whenever all records are durable and nothing is left to do, no poll still
//     waits that has items to return, has timed out, or belongs to a blocked caller. Items that
//     only a change of tags has brought are no news.
// W4. A poll whose client has hung up is not answered.

import assert from 'node:assert/strict'
import { ask, type SimulatedExchange } from './asking.ts'
import { type Callers, queryOf } from './callers.ts'
import { absent } from './forecasting.ts'
import type { Machine } from './machine.ts'
import { Model } from './model.ts'
import type { Agent } from './model-types.ts'
import * as pages from './pages.ts'

const waitSecondsMax = 50

interface WaitingPoll {
  agentId: string
  /** The thread that it waits for, or null: the agent's feed. */
  threadId: string | null
  /** Returns the page that the given model shows. */
  page: (model: Model) => pages.Page
  until: number
  /** The position of the log when the poll was sent. */
  since: number
  exchange: SimulatedExchange | null
}

export class WaitingPolls {
  readonly #callers: Callers
  readonly #machine: Machine
  readonly #waiting = new Set<WaitingPoll>()

  constructor(callers: Callers) {
    this.#callers = callers
    this.#machine = callers.machine
  }

  /** Sends a poll for news in the agent's feed or in a thread. */
  begin(agent: Agent, threadId: string | null): void {
    const { model, time } = this.#machine
    const seconds = this.#machine.below(waitSecondsMax + 1)
    const after = Math.max(0, model.position - this.#machine.below(3))
    const path = threadId === null ? '/api/notifications' : `/api/threads/${threadId}`
    const asked = { after, limit: 5, type: this.#callers.type() }
    const ofFeed = threadId === null ? this.#choice(after) : {}
    const query = queryOf({ ...asked, wait: seconds, ...ofFeed })
    const token = this.#callers.tokenOf(agent)
    const request = { method: 'get', path, query, token, address: this.#callers.address() } as const
    const isActive = model.isActive(agent, this.#callers.at())
    if (!isActive || (threadId !== null && model.visible(agent, threadId) === undefined)) {
      const forecast = () => this.#callers.as(agent, absent(model, threadId ?? ''), token)
      ask(this.#machine, { request, forecast })
      return
    }
    const page = (model: Model) =>
      threadId === null
        ? pages.feed(model, model.agentBy(agent.id)!, { ...asked, ...ofFeed })
        : pages.threadPage(model.visible(model.agentBy(agent.id)!, threadId)!, after, 5, asked.type)
    const until = time.elapsedMs + seconds * 1000
    const about = { agentId: agent.id, threadId, page, until }
    const poll: WaitingPoll = { ...about, since: model.position, exchange: null }
    this.#waiting.add(poll)
    const judge = (status: number, body: string) => this.#judge(poll, status, body)
    poll.exchange = ask(this.#machine, { request, forecast: () => ({ judge }) })
    if (this.#waiting.has(poll)) this.#machine.count('poll: waits')
  }

  /** Returns what a poll of a feed wants of it: mostly everything. */
  #choice(after: number): Partial<pages.FeedPageRead> {
    const machine = this.#machine
    return {
      after: machine.chance(0.2) ? 'read' : after,
      only: machine.chance(0.3) ? 'mentions' : undefined,
      include: machine.chance(0.3) ? 'content' : undefined,
      tag: machine.chance(0.2) ? ['bug'] : undefined,
    }
  }

  /** The ids of the agents whose polls wait. */
  get callers(): string[] {
    return Array.from(this.#waiting, ({ agentId }) => agentId)
  }

  /** Has the client of one of the polls hang up. */
  hangUpOne(): void {
    const waiting = [...this.#waiting]
    if (waiting.length === 0) return
    const poll = waiting[this.#machine.below(waiting.length)]
    this.#waiting.delete(poll)
    poll.exchange?.hangUp()
    this.#machine.count('poll: hangs up')
  }

  /** Drops all polls, because the node is dead and will not answer them. */
  forget(): void {
    this.#waiting.clear()
  }

  /** Checks W3, if nothing is left to do. */
  check(): void {
    const { time, model, isIdle } = this.#machine
    if (!isIdle) return
    for (const poll of this.#waiting) {
      const { agentId, until, since } = poll
      const { isBlocked, rotated, before } = model.agentBy(agentId)!
      const isAccepted = rotated <= since || before !== null
      assert.ok(isAccepted, `W3: a poll since ${since} waits with a token that was replaced`)
      assert.ok(!isBlocked, `W3: a poll since ${since} waits for a blocked caller`)
      const news = this.#newsOf(poll)
      assert.deepEqual(news, [], `W3: a poll since ${since} was not woken for its news`)
      assert.ok(time.elapsedMs < until, `W3: a poll since ${since} waits too long`)
      this.#machine.count('poll: rightly waits')
    }
  }

  /** Returns the items that the poll must be answered with. */
  #newsOf({ page, threadId, since }: WaitingPoll): object[] {
    const { model } = this.#machine
    return itemsOf(page(model).body).filter(({ seq, thread_id: id = threadId }) => {
      return model.threads.find((thread) => thread.id === id)!.moderated <= Math.max(since, seq)
    })
  }

  #judge(poll: WaitingPoll, status: number, body: string): number {
    const { model, time, isStopping, facts } = this.#machine
    assert.ok(this.#waiting.delete(poll), 'W4')
    if (status === 503) {
      const { error } = JSON.parse(body)
      // A stop runs waiting polls once more, and such a poll may need text that is on disk.
      if (isStopping && error === 'shutting_down') return 0
      assert.equal(error, 'storage_failed')
      this.#machine.isFailing = true
      return 0
    }
    const agent = model.agentBy(poll.agentId)!
    if (status === 403) {
      assert.equal(JSON.parse(body).error, 'identity_blocked')
      assert.ok(agent.blocked > poll.since, 'it was blocked meanwhile')
      this.#machine.count('poll: ended by a block')
      return agent.blocked
    }
    if (status === 401 && agent.rotated > poll.since) {
      this.#machine.count('poll: ended by a rotation')
      return agent.rotated
    }
    if (status === 401) {
      assert.ok(model.hasExpired(agent, this.#callers.at()), 'its token has expired')
      return model.cameAt(agent.expiresAt)
    }
    if (status === 404) {
      const expired = model.threads.find(({ id }) => id === poll.threadId)?.expired ?? 0
      assert.ok(expired > poll.since, 'its thread expired meanwhile')
      this.#machine.count('poll: ended by the expiry of its thread')
      return expired
    }
    assert.equal(status, 200)
    if (itemsOf(body).length === 0) {
      assert.ok(isStopping || time.elapsedMs >= poll.until, 'W2: an empty answer before its time')
      this.#machine.count(isStopping ? 'poll: ended by a stop' : 'poll: timed out')
    } else this.#machine.count('poll: has news')
    // The oldest state with this page promises the least: later records may have left no trace on
    // the page.
    const then = new Model(facts.slice(0, poll.since), model.retentionDays)
    for (let position = poll.since; position <= facts.length; position++) {
      const page = poll.page(then)
      if (page.body === pages.withoutEpoch(body)) return page.newest
      if (position < facts.length) then.add(facts[position])
    }
    throw new assert.AssertionError({ message: `W1: no page since ${poll.since} is ${body}` })
  }
}

function itemsOf(body: string): { seq: number; thread_id?: string }[] {
  const { notifications, messages } = JSON.parse(body)
  return notifications ?? messages
}
