// Runs a program of commands on a real forum and on the model of the simulation side by side. The
// model predicts the outcome of each command, and the record that it makes; the record is compared,
// then folded into the model, and the answer is compared with what the model has then.

import assert from 'node:assert/strict'
import type { Route } from '../../src/edge/api/route.ts'
import { recordDueClaims } from '../../src/forum/claims/commands.ts'
import { deleteClaim, postClaim } from '../../src/forum/claims/routes.ts'
import { putRead } from '../../src/forum/feed/routes.ts'
import {
  deleteSubscribe,
  deleteTagSubscribe,
  postSubscribe,
  postTagSubscribe,
} from '../../src/forum/feed/subscription-routes.ts'
import {
  expireGuests,
  identify,
  mayAct,
  rejectToken,
  tokenDigest,
} from '../../src/forum/identities/commands.ts'
import { postIdentity } from '../../src/forum/identities/routes.ts'
import type { ForumRecord } from '../../src/forum/records.ts'
import { putTags } from '../../src/forum/tags/routes.ts'
import { ThreadExpiry } from '../../src/forum/threads/expiry.ts'
import { postReply, postThread } from '../../src/forum/threads/routes.ts'
import { errors, isRejection } from '../../src/kernel/rejection.ts'
import { type Expected, type Forecast, refused } from '../simulate/asking.ts'
import { claiming, releasing } from '../simulate/claim-forecasts.ts'
import { endOf } from '../simulate/expiry-model.ts'
import { followingTag } from '../simulate/forecasting.ts'
import { Forecasts } from '../simulate/forecasts.ts'
import { Model } from '../simulate/model.ts'
import type { Agent, Thread } from '../simulate/model-types.ts'
import { absentId, type Change, type Command, malformedId } from './commands.ts'
import { newWorld, outcomeOf, replayed, restart, type World } from './doubles.ts'
import { checkActs, moderation } from './moderation-steps.ts'
import { bodyOfPost, changed, type Post } from './posts.ts'

interface Published {
  caller: Agent
  key: string
  post: Post
}

interface RouteCall {
  caller?: number
  id?: string
  query?: object
  body?: object
  key?: string
}

/** A forum and its model, which run the same commands. */
export class Run {
  readonly world: World = newWorld()
  readonly model = new Model()
  #expiry = this.#newExpiry()
  /** The names of all answers and refusals that occurred. */
  readonly outcomes: Set<string>
  readonly #published: Published[] = []
  /** By the number of the identity. */
  readonly #tokens: string[] = []
  #keys = 0

  constructor(outcomes: Set<string>) {
    this.outcomes = outcomes
  }

  /** Runs one command on both. Throws if they differ. */
  step(command: Command): void {
    const { world } = this
    switch (command.does) {
      case 'identity':
        return this.#createIdentity(command.kind, command.name)
      case 'thread': {
        const { title, content, visibility, type, tags, ttlSeconds } = command
        const named = this.#idsOf(command.named)
        const said = { content, mentionIds: this.#idsOf(command.mentioned), type }
        const own = { title, visibility, participantIds: named, tags, ttlSeconds }
        const post = { does: 'thread', ...own, ...said } as const
        return this.#publish(this.#agent(command.by), this.#newKey(), post)
      }
      case 'reply': {
        const { by, thread, content, type } = command
        const said = { content, mentionIds: this.#idsOf(command.mentioned), type }
        const seen = { expectSeq: this.#seqOf(command.expect), seenSeq: this.#seqOf(command.seen) }
        const threadId = this.#threadId(thread)
        const fence = this.#fenceOf(threadId, command.fence)
        const post = { does: 'reply', threadId, ...said, ...seen, fence } as const
        return this.#publish(this.#agent(by), this.#newKey(), post)
      }
      case 'claim': {
        const { by, seconds } = command
        const threadId = this.#threadId(command.thread)
        const fence = this.#fenceOf(threadId, command.fence)
        const post = { does: 'claim', threadId, seconds, fence } as const
        return this.#publish(this.#agent(by), this.#newKey(), post)
      }
      case 'release':
        return this.#release(this.#agent(command.by), this.#threadId(command.thread))
      case 'again':
        return this.#again(command.pick, command.change)
      case 'subscribe':
      case 'unsubscribe':
        return this.#follow(command.does, this.#agent(command.by), this.#threadId(command.thread))
      case 'subscribeTag':
      case 'unsubscribeTag':
        return this.#followTag(command.does, this.#agent(command.by), command.tag)
      case 'tag':
        return this.#tag(this.#agent(command.by), this.#threadId(command.thread), command.tags)
      case 'mark':
        return this.#mark(this.#agent(command.by), Math.max(0, this.model.position - command.back))
      case 'erase':
      case 'lock':
      case 'unlock':
      case 'block':
      case 'unblock':
        return this.#moderate(command)
      case 'clock':
        world.clock.now += command.ms
        return
      case 'expire':
        return this.#expire()
      case 'health':
        world.rows.health = command.health
        return
      case 'restart':
        restart(world.forum, replayed(world.rows))
        this.#expiry = this.#newExpiry()
        checkActs(world.forum, this.model)
    }
  }

  /** Returns the identity number that the edge would find for this caller. */
  numberOf(agent: Agent): number | null {
    const { forum } = this.world
    const { identity } = identify(forum, tokenDigest(this.#tokens[agent.number]))!
    const isActive = mayAct(forum, identity)
    assert.equal(isActive, this.model.isActive(agent, this.#at), 'a token works until it expires')
    if (isActive) return identity
    const isBlocked = agent.isBlocked && !this.model.hasExpired(agent, this.#at)
    // Refusing an expired token may make a record.
    const code = isBlocked ? rejectToken(forum, identity).rejected : 'invalid_token'
    if (isBlocked) assert.equal(code, 'identity_blocked')
    this.outcomes.add(code)
    return null
  }

  /** Returns the body of a route's answer, which must be as predicted, or null if it is refused. */
  ask(route: Route, call: RouteCall, forecast: Forecast): string | null {
    const outcome = outcomeOf(this.world.forum, route, call)
    const { status, newest, body } = this.#expected(forecast)
    const isRefused = isRejection(outcome)
    const name = isRefused ? outcome.rejected : `${route.name} ${outcome.status}`
    this.outcomes.add(name)
    const text = isRefused
      ? JSON.stringify({ error: outcome.rejected })
      : Buffer.from(outcome.body as string).toString()
    assert.equal(isRefused ? errors[outcome.rejected].status : outcome.status, status, name)
    if (typeof body === 'function') body(text)
    else assert.equal(text, body, name)
    // The edge has a 404 wait for the last expiry of a thread.
    const least = status === 404 ? Math.min(newest, this.world.forum.state.expiredPosition) : 0
    assert.equal(outcome.position ?? least, newest, `Q1: ${name}: the newest record shown`)
    return isRefused ? null : text
  }

  forecasts(): Forecasts {
    return new Forecasts(this.model, this.#at, {})
  }

  /** The time of a record that is made now. */
  get #at(): number {
    return Math.max(this.world.clock.now, this.model.now)
  }

  /** Returns what must be answered now. The record that the command has made is as predicted. */
  #expected(forecast: Forecast): Expected {
    const { health } = this.world.rows
    const isWrite = 'check' in forecast && health === 'ok'
    const fresh = this.#fold()
    assert.equal(fresh.length, isWrite ? 1 : 0, 'K1: a command makes one record')
    if (isWrite) {
      forecast.check(fresh[0])
      return forecast.answer()
    }
    if ('check' in forecast) return forecast.otherwise ?? refused(health as 'overloaded')
    assert.ok('status' in forecast)
    return forecast
  }

  /** Folds the new records into the model, and returns them. */
  #fold(): ForumRecord[] {
    const fresh = this.world.rows.records(this.model.position)
    for (const record of fresh) this.model.add({ position: this.model.position + 1, record })
    return fresh
  }

  #createIdentity(kind: 'guest' | 'persistent', name: string): void {
    const forecast = this.forecasts().identity(kind, name, '')
    const text = this.ask(postIdentity, { body: { kind, display_name: name } }, forecast)
    if (text === null) return
    const { id, token } = JSON.parse(text) as { id: string; token: string }
    assert.match(`${id} ${token}`, /^agt_[0-9a-f]{32} aic_[0-9a-f]{64}$/)
    this.#tokens.push(token)
  }

  #publish(agent: Agent, key: string, post: Post): void {
    const caller = this.numberOf(agent)
    if (caller === null) return
    const forecast = this.#forecast(agent, key, post)
    const before = this.model.messages.size
    const id = post.does === 'thread' ? '' : post.threadId
    const { [post.does]: route } = { thread: postThread, reply: postReply, claim: postClaim }
    const text = this.ask(route, { caller, key, id, body: bodyOfPost(post) }, forecast)
    if (post.does === 'claim' && text !== null) this.#published.push({ caller: agent, key, post })
    if (this.model.messages.size === before) return
    const { thread_id: threadId, message_id: messageId } = JSON.parse(text!)
    assert.match(`${threadId} ${messageId}`, /^thr_[0-9a-f]{32} msg_[0-9a-f]{32}$/)
    this.#published.push({ caller: agent, key, post })
  }

  #forecast(agent: Agent, key: string, post: Post): Forecast {
    const forecasts = this.forecasts()
    const who = { agent, address: '' }
    switch (post.does) {
      case 'claim':
        return claiming(forecasts, agent, key, post)
      case 'reply': {
        const { mentionIds: mentioned, type = '' } = post
        return forecasts.reply(who, key, { ...post, mentioned, type })
      }
      case 'thread': {
        const { mentionIds: mentioned, participantIds: named, type = '' } = post
        return forecasts.thread(who, key, { ...post, mentioned, named, type })
      }
    }
  }

  #release(agent: Agent, id: string): void {
    const caller = this.numberOf(agent)
    if (caller === null) return
    this.ask(deleteClaim, { caller, id }, releasing(this.forecasts(), agent, id))
  }

  /** Reuses a key, for the same request or a changed one. */
  #again(pick: number, change: Change): void {
    if (this.#published.length === 0) return
    const { caller, key, post } = this.#published[pick % this.#published.length]
    const who = change === 'caller' ? this.#agent(pick) : caller
    this.#publish(who, key, changed(post, change, this.#threadId(pick)))
  }

  #follow(does: 'subscribe' | 'unsubscribe', agent: Agent, id: string): void {
    const caller = this.numberOf(agent)
    if (caller === null) return
    const isWanted = does === 'subscribe'
    const forecast = this.forecasts().follow(agent, id, isWanted)
    this.ask(isWanted ? postSubscribe : deleteSubscribe, { caller, id }, forecast)
  }

  #followTag(does: 'subscribeTag' | 'unsubscribeTag', agent: Agent, tag: string): void {
    const caller = this.numberOf(agent)
    if (caller === null) return
    const isWanted = does === 'subscribeTag'
    const forecast = followingTag(this.forecasts(), agent, tag, isWanted)
    this.ask(isWanted ? postTagSubscribe : deleteTagSubscribe, { caller, id: tag }, forecast)
  }

  #tag(agent: Agent, id: string, tags: readonly string[]): void {
    const caller = this.numberOf(agent)
    if (caller === null) return
    this.ask(putTags, { caller, id, body: { tags } }, this.forecasts().tag(agent, id, tags))
  }

  #mark(agent: Agent, through: number): void {
    const caller = this.numberOf(agent)
    if (caller === null) return
    this.ask(putRead, { caller, body: { through } }, this.forecasts().mark(agent, through))
  }

  /** Runs an act of an operator. */
  #moderate(command: Extract<Command, { does: keyof typeof moderation }>): void {
    const { world, model } = this
    const threadId = 'by' in command ? '' : this.#threadId(command.thread)
    const thread = model.threads.find(({ id }) => id === threadId)
    const subject = 'by' in command ? this.#agent(command.by) : thread
    const pick = 'pick' in command ? command.pick : 0
    const act = moderation[command.does]({ forum: world.forum, model }, subject, pick)
    const isNew = !act.isAbsent && !act.hasEffect()
    // An erasure is refused while a checkpoint is being written.
    const isBusy = command.does === 'erase' && world.forum.state.text.isFrozen
    const health = world.rows.health === 'ok' && isBusy ? 'overloaded' : world.rows.health
    const outcome = act.run()
    const fresh = this.#fold()
    const rejected = act.isAbsent ? 'not_found' : isNew ? health : 'ok'
    if (rejected !== 'ok') {
      assert.ok(isRejection(outcome))
      assert.deepEqual([outcome.rejected, fresh], [rejected, []])
      this.outcomes.add(rejected)
      return
    }
    assert.ok(!isRejection(outcome), JSON.stringify(outcome))
    assert.equal(fresh.length, isNew ? 1 : 0, 'K1: one record, once')
    assert.ok(act.hasEffect())
    const { act: shown, ...rest } = outcome
    assert.deepEqual(rest, { isNew, position: act.changed() })
    const { moderation: acts } = world.forum.state
    assert.ok(shown === null || acts.find(shown.kind, shown.subject) === shown)
    checkActs(world.forum, model)
    this.outcomes.add(`${act.name}, ${isNew ? 'once' : 'twice'}`)
  }

  /** Does the work of the timer: records the expiry of the guests that are due. */
  #expire(): void {
    const { model, world } = this
    const isDue = (agent: Agent) => !agent.isRecordedExpired && model.hasExpired(agent, this.#at)
    const due = model.agents.filter(isDue)
    expireGuests(world.forum)
    const recorded = this.#fold().length
    assert.ok(recorded <= 1, 'K1: one record for all')
    if (world.rows.health !== 'ok') return assert.equal(recorded, 0)
    if (due.length > 0) this.outcomes.add('guests expired')
    this.#expireClaims()
    this.#expireThreads()
    const isRecorded = due.every(({ isRecordedExpired }) => isRecordedExpired)
    assert.ok(isRecorded, 'K1: it is recorded')
    checkActs(world.forum, model)
  }

  /** Does the work of the timer: records the expiry of the claims that are due. */
  #expireClaims(): void {
    const { model, world } = this
    const isDue = ({ claim }: Thread) => claim !== null && claim.expiresAt <= this.#at
    const hasDue = model.threads.some(isDue)
    recordDueClaims(world.forum)
    assert.equal(this.#fold().length, hasDue ? 1 : 0, 'K1: one record for all')
    assert.ok(!model.threads.some(isDue), 'it is recorded')
    if (hasDue) this.outcomes.add('claims expired')
  }

  #expireThreads(): void {
    const { model } = this
    const isDue = (thread: Thread) => !thread.isExpired && endOf(thread) <= this.#at
    const hasDue = model.threads.some(isDue)
    while (this.#expiry.turn() === 0) {}
    this.#fold()
    assert.ok(!model.threads.some(isDue), 'it is recorded')
    if (hasDue) this.outcomes.add('threads expired')
    const isErased = model.threads.some(({ isExpired, left }) => isExpired && left === 0)
    if (isErased) this.outcomes.add('threads erased')
  }

  /** Returns the expiry of threads on a clock that is always believed (E4). */
  #newExpiry(): ThreadExpiry {
    const { forum } = this.world
    let reads = 0
    const now = (recorded: number) => forum.stamps.clock.now(recorded)
    const elapsed = () => reads++ * 2 * this.#at // so much that no time is a jump
    const clock = { now, elapsed, wall: () => this.#at } as typeof forum.stamps.clock
    return new ThreadExpiry({ ...forum, stamps: { ...forum.stamps, clock } })
  }

  #agent(number: number): Agent {
    return this.model.agents[number % this.model.agents.length]
  }

  #idsOf(numbers: number[]): string[] {
    const ids = numbers.map((number) => {
      if (number === absentId) return `agt_${'0'.repeat(32)}`
      return number === malformedId ? 'agt_nobody' : this.#agent(number).id
    })
    return [...new Set(ids)]
  }

  #threadId(number: number): string {
    const { threads } = this.model
    return threads[number % (threads.length + 1)]?.id ?? `thr_${'0'.repeat(32)}`
  }

  /** Returns the seq so far back from the end, or undefined. */
  #seqOf(back: number | undefined): number | undefined {
    return back === undefined ? undefined : Math.max(0, this.model.position - back)
  }

  /** Returns a fence that has so much more than that of the thread's claim, or undefined. */
  #fenceOf(threadId: string, more: number | undefined): number | undefined {
    const { claim } = this.model.threads.find(({ id }) => id === threadId) ?? {}
    return more === undefined ? undefined : Math.max(0, (claim?.fence ?? 0) + more)
  }

  #newKey(): string {
    this.#keys += 1
    return `key-of-run-${this.#keys}`
  }
}
