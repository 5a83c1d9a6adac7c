// Runs a program of commands on a real forum and on the model side by side. Each answer is compared
// at once.

import assert from 'node:assert/strict'
import { postIdentity } from '../../src/api/identities.ts'
import { putRead } from '../../src/api/read-place.ts'
import type { Answer, Route } from '../../src/api/route.ts'
import { deleteSubscribe, postSubscribe } from '../../src/api/subscriptions.ts'
import { postReply, postThread } from '../../src/api/threads.ts'
import { isRejection, type Rejection } from '../../src/forum/forum.ts'
import {
  expireGuests,
  identify,
  mayAct,
  rejectToken,
  tokenDigest,
} from '../../src/forum/identities.ts'
import { absentId, type Change, type Command, malformedId } from './commands.ts'
import { newWorld, outcomeOf, replayed, restart, type World } from './doubles.ts'
import { Model, type ModelAgent, type Post, type ThreadPost } from './model.ts'
import * as operators from './moderation-steps.ts'

interface Published {
  caller: ModelAgent
  key: string
  post: Post
}

/** A forum and its model, which run the same commands. */
export class Run {
  readonly world: World = newWorld()
  readonly model = new Model()
  /** The names of all answers and refusals that occurred. */
  readonly outcomes: Set<string>
  readonly #published: Published[] = []
  #keys = 0

  constructor(outcomes: Set<string>) {
    this.outcomes = outcomes
    this.model.clock = this.world.clock.now
  }

  /** Runs one command on both. Throws if they differ. */
  step(command: Command): void {
    const { world, model } = this
    switch (command.does) {
      case 'identity':
        return this.#createIdentity(command.kind, command.name)
      case 'thread':
        return this.#publish(this.#agent(command.by), this.#newKey(), {
          does: 'thread',
          title: command.title,
          content: command.content,
          visibility: command.visibility,
          participantIds: this.#idsOf(command.named),
          mentionIds: this.#idsOf(command.mentioned),
        })
      case 'reply': {
        const { by, thread, content } = command
        const said = { content, mentionIds: this.#idsOf(command.mentioned) }
        const post = { does: 'reply', threadId: this.#threadId(thread), ...said } as const
        return this.#publish(this.#agent(by), this.#newKey(), post)
      }
      case 'again':
        return this.#again(command.pick, command.change)
      case 'subscribe':
      case 'unsubscribe':
        return this.#follow(command.does, this.#agent(command.by), this.#threadId(command.thread))
      case 'mark':
        return this.#mark(this.#agent(command.by), Math.max(0, model.position - command.back))
      case 'erase':
      case 'lock':
      case 'unlock':
      case 'block':
      case 'unblock':
        this.outcomes.add(this.#moderate(command))
        return
      case 'clock':
        world.clock.now += command.ms
        model.clock = world.clock.now
        return
      case 'expire':
        return this.#expire()
      case 'health':
        world.rows.health = command.health
        model.health = command.health
        return
      case 'restart':
        restart(world.forum, replayed(world.rows))
        operators.checkActs({ forum: world.forum, model })
    }
  }

  /** Returns the identity number that the edge would find for this caller. */
  numberOf(agent: ModelAgent): number | null {
    const { identity } = identify(this.world.forum, tokenDigest(agent.token))!
    const isActive = mayAct(this.world.forum, identity)
    assert.equal(isActive, this.model.isActive(agent), 'a token works until it expires')
    if (isActive) return identity
    const isBlocked = agent.isBlocked && !this.model.hasExpired(agent)
    // Refusing an expired token may make a record.
    const code = isBlocked ? rejectToken(this.world.forum, identity).rejected : 'invalid_token'
    if (isBlocked) assert.equal(code, 'identity_blocked')
    this.outcomes.add(code)
    return null
  }

  #run(route: Route, call: { caller?: number; id?: string; body?: object; key?: string }) {
    const outcome = outcomeOf(this.world.forum, route, call)
    assert.equal(this.world.rows.position >= (outcome.position ?? 0), true, 'Q1: of the log')
    this.outcomes.add(isRejection(outcome) ? outcome.rejected : `${route.name} ${outcome.status}`)
    return outcome
  }

  #createIdentity(kind: 'guest' | 'persistent', name: string): void {
    const { model } = this
    const outcome = this.#run(postIdentity, { body: { kind, display_name: name } })
    if (model.health !== 'ok') return assert.deepEqual(outcome, { rejected: model.health })
    const body = bodyOf(outcome) as object
    const { id, token } = body as { id: string; token: string }
    assert.match(`${id} ${token}`, /^agt_[0-9a-f]{32} aic_[0-9a-f]{64}$/)
    const agent = model.addAgent({ id, token, kind, name })
    assert.deepEqual(body, {
      ...body,
      kind,
      display_name: name,
      expires_at: agent.expiresAt,
      token_shown_once: true,
      identity_is_self_asserted: true,
    })
    assert.equal((outcome as Answer).position, model.position)
  }

  #publish(caller: ModelAgent, key: string, post: Post): void {
    const number = this.numberOf(caller)
    if (number === null) return
    const foreseen = this.model.foresee(caller, key, post)
    const id = post.does === 'reply' ? post.threadId : ''
    const route = post.does === 'reply' ? postReply : postThread
    const outcome = this.#run(route, { caller: number, key, id, body: bodyOfPost(post) })
    if (foreseen !== 'new' && 'rejected' in foreseen) {
      assert.equal((outcome as Rejection).rejected, foreseen.rejected)
      return
    }
    const { follow_up, ...body } = bodyOf(outcome) as Record<string, unknown>
    assert.ok(follow_up)
    if (foreseen !== 'new') {
      assert.deepEqual(body, { ...foreseen.replayed, replayed: true })
      assert.equal((outcome as Answer).status, 200)
      return
    }
    const ids = { threadId: body.thread_id as string, messageId: body.message_id as string }
    assert.match(`${ids.threadId} ${ids.messageId}`, /^thr_[0-9a-f]{32} msg_[0-9a-f]{32}$/)
    const expected = this.model.publish(caller, key, post, ids)
    assert.deepEqual(body, { ...expected, replayed: false })
    assert.equal((outcome as Answer).status, 201)
    assert.equal((outcome as Answer).position, this.model.position)
    this.#published.push({ caller, key, post })
  }

  /** Reuses a key, for the same request or a changed one. */
  #again(pick: number, change: Change): void {
    if (this.#published.length === 0) return
    const { caller, key, post } = this.#published[pick % this.#published.length]
    const who = change === 'caller' ? this.#agent(pick) : caller
    this.#publish(who, key, changed(post, change, this.#threadId(pick)))
  }

  /** Runs an act of an operator, and returns the name of the outcome. */
  #moderate(
    command: Extract<Command, { does: 'erase' | 'lock' | 'unlock' | 'block' | 'unblock' }>,
  ) {
    const both = { forum: this.world.forum, model: this.model }
    const { does } = command
    if ('by' in command) {
      return operators.setBlocked(both, this.#agent(command.by), does === 'block')
    }
    const threadId = this.#threadId(command.thread)
    const thread = this.model.threads.find(({ id }) => id === threadId)
    return does === 'erase'
      ? operators.erase(both, thread, command.pick)
      : operators.setLocked(both, thread, does === 'lock')
  }

  #follow(does: 'subscribe' | 'unsubscribe', agent: ModelAgent, threadId: string): void {
    const { model } = this
    const caller = this.numberOf(agent)
    if (caller === null) return
    const route = does === 'subscribe' ? postSubscribe : deleteSubscribe
    const outcome = this.#run(route, { caller, id: threadId })
    const found = model.threads.find(({ id }) => id === threadId)
    const target = found !== undefined && model.maySee(agent, found) ? found : undefined
    if (target === undefined && does === 'subscribe') {
      return assert.deepEqual(outcome, { rejected: 'not_found' })
    }
    const isChange = target !== undefined && agent.follows.has(target) !== (does === 'subscribe')
    if (isChange && model.health !== 'ok') {
      return assert.deepEqual(outcome, { rejected: model.health })
    }
    if (isChange) model[does === 'subscribe' ? 'follow' : 'unfollow'](agent, target, model.record())
    const { follow_up, ...body } = bodyOf(outcome) as Record<string, unknown>
    const about = { thread_id: threadId, subscribed: does === 'subscribe' }
    const more = { notifications: '/api/notifications?after=0', delivery: 'poll' }
    assert.deepEqual(body, does === 'subscribe' ? { ...about, ...more } : about)
  }

  #mark(agent: ModelAgent, through: number): void {
    const { model } = this
    const caller = this.numberOf(agent)
    if (caller === null) return
    const outcome = this.#run(putRead, { caller, body: { through } })
    if (through > model.position) {
      assert.equal((outcome as Rejection).rejected, 'invalid_field')
      return
    }
    if (through > agent.readThrough && model.health !== 'ok') {
      return assert.deepEqual(outcome, { rejected: model.health })
    }
    model.markRead(agent, through)
    const place = model.readPlace(agent)
    assert.deepEqual(bodyOf(outcome), place.body)
    assert.equal((outcome as Answer).position, place.newest)
  }

  /** Does the work of the timer: records the expiry of the guests that are due. */
  #expire(): void {
    const { model, world } = this
    const due = model.agents.filter((agent) => !agent.isRecordedExpired && model.hasExpired(agent))
    expireGuests(world.forum)
    const recorded = world.rows.position - model.position
    assert.ok(recorded <= 1, 'K1: one record for all')
    if (model.health !== 'ok') return assert.equal(recorded, 0)
    if (due.length > 0) assert.equal(recorded, 1, 'K1: it is recorded')
    if (recorded === 1) model.record()
    for (const agent of due) {
      agent.isRecordedExpired = true
      agent.isBlocked = false
      agent.followsChanged = model.position // it no longer follows anything
      model.forgetAct('blocked', agent.id)
    }
    operators.checkActs({ forum: world.forum, model })
    if (due.length > 0) this.outcomes.add('guests expired')
  }

  #agent(number: number): ModelAgent {
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

  #newKey(): string {
    this.#keys += 1
    return `key-of-run-${this.#keys}`
  }
}

export function bodyOf(outcome: Answer | Rejection): unknown {
  assert.ok(!isRejection(outcome), `refused: ${(outcome as Rejection).rejected}`)
  return JSON.parse(Buffer.from(outcome.body as string).toString())
}

function bodyOfPost(post: Post): object {
  const said = { content: post.content, mention_ids: post.mentionIds }
  if (post.does === 'reply') return said
  const { title, visibility, participantIds } = post
  return { title, ...said, visibility, participant_ids: participantIds }
}

function changed(post: Post, change: Change, threadId: string): Post {
  if (change === 'content') return { ...post, content: `${post.content}.` }
  if (change === 'mentions') return { ...post, mentionIds: post.mentionIds.toReversed() }
  if (post.does === 'reply') {
    if (change === 'thread') return { ...post, threadId }
    return change === 'operation' ? threadOf(post.content) : post
  }
  const { visibility, participantIds, content, mentionIds } = post
  if (change === 'title') return { ...post, title: `${post.title}.` }
  if (change === 'members') return { ...post, participantIds: participantIds.toReversed() }
  if (change === 'operation') return { does: 'reply', threadId, content, mentionIds }
  if (change !== 'visibility') return post
  return { ...post, visibility: visibility === 'public' ? 'private' : 'public' }
}

function threadOf(content: string): ThreadPost {
  const none = { participantIds: [], mentionIds: [] }
  return { does: 'thread', title: content, content, visibility: 'public', ...none }
}
