// The workload: in each step one agent sends a random request, or several of them in a batch. The
// model predicts the answers.

import { decisions } from '../../src/forum/governance/machine.ts'
import type { Request } from './asking.ts'
import { agentsMax, Callers, queryOf } from './callers.ts'
import { claiming, releasing } from './claim-forecasts.ts'
import { follow } from './following.ts'
import { shown } from './forecasting.ts'
import type { Who } from './forecasts.ts'
import type { Machine } from './machine.ts'
import { Operators } from './operators.ts'
import * as pages from './pages.ts'
import { read } from './reads.ts'
import { Receivers } from './receivers.ts'
import { WaitingPolls } from './waiting-polls.ts'

const threadsMax = 30
/** Fewer pages of a thread than fit into the answer to a batch. */
const batchMax = 16

/** Sends a write again, with the same key. */
type Again = (who: Who) => void

/** What may be done, each with its weight. */
type Actions = readonly [number, () => void][]

export class Workload extends Callers {
  readonly receivers: Receivers
  readonly polls: WaitingPolls
  readonly operators: Operators
  readonly #tickets: { ticket: string; address: string; post: object }[] = []
  readonly #again: { by: string; run: Again }[] = []

  constructor(machine: Machine) {
    super(machine)
    this.receivers = new Receivers(machine)
    this.polls = new WaitingPolls(this)
    this.operators = new Operators(machine, this.polls)
  }

  /** Has one agent send a random request. */
  act(): void {
    if (this.tokens.length === 0 || (this.tokens.length < agentsMax && this.one(9))) {
      return this.#createIdentity()
    }
    this.#choose([
      ...this.#requests(),
      [4, () => this.inBatch(() => this.#several())],
      [5, () => this.#wait()],
      [3, () => this.#publish()],
      [6, () => this.operators.act()],
    ])
  }

  /** Drops what waits for an answer, because the node is dead and will not answer. */
  forget(): void {
    this.polls.forget()
    this.batches.forget()
  }

  /** Checks that whatever still waits for an answer does so rightly. */
  check(): void {
    this.polls.check()
    this.batches.check()
  }

  #several(): void {
    const reads: Actions = [[1, () => read(this, this.#threadId())]]
    const all: Actions = [[1, () => this.#createIdentity()], ...this.#requests()]
    const actions = this.one(4) ? reads : all
    for (let n = this.below(batchMax); n >= 0; n--) this.#choose(actions)
  }

  /** Returns what is sent alone or in a batch. */
  #requests(): Actions {
    return [
      [2, () => (this.one(2) ? this.#rotate() : this.#readAsBefore())],
      [4, () => this.#createThread()],
      [18, () => this.#reply()],
      [6, () => follow(this, this.#threadId())],
      [6, () => this.#claim()],
      [3, () => this.#tag()],
      [4, () => this.#tryAgain()],
      [6, () => read(this, this.#threadId())],
      [5, () => this.#mark()],
      [2, () => this.#ticket()],
      [8, () => this.#webhook()],
      [2, () => this.#governance()],
    ]
  }

  #choose(actions: Actions): void {
    let drawn = this.below(actions.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, action] of actions) {
      drawn -= weight
      if (drawn < 0) return action()
    }
  }

  /**
   * Retries the newest keys: each must get its earlier answer, or a new one if the write was lost.
   */
  tryAllAgain(): void {
    const retry = () => {
      for (const { by, run } of this.#again.slice(-12)) this.#retry(by, run)
    }
    if (this.one(3)) this.inBatch(retry)
    else retry()
  }

  #createIdentity(): void {
    const kind = this.one(3) ? 'guest' : 'persistent'
    const name = `agent ${this.text()}`
    const address = this.address()
    const request = { method: 'post', path: '/api/identities', body: { kind, display_name: name } }
    const forecast = () => this.forecasts().identity(kind, name, address)
    this.ask({ ...request, address } as Request, forecast, (body) => {
      const { id, token } = JSON.parse(body)
      this.tokens.push({ id, token })
    })
  }

  #rotate(): void {
    const who = this.who()
    if (who === null) return
    const seconds = this.one(2) ? 0 : this.below(100)
    const path = '/api/identities/me/token'
    const body = { grace_seconds: seconds }
    const { id } = who.agent
    const token = this.tokenOf(who.agent)
    if (token === undefined) return
    const rotated = () => this.forecasts().rotate(who.agent, token, seconds)
    const forecast = () => this.as(who.agent, rotated(), token)
    const request = { method: 'post', path, body, token, address: who.address } as const
    this.ask(request, forecast, (answer) => {
      this.tokens.push({ id, token: JSON.parse(answer).token })
    })
  }

  /** Reads with a token that may have been replaced. */
  #readAsBefore(): void {
    const { model } = this.machine
    const used = this.tokens[this.below(this.tokens.length)]
    const agent = used && model.agentBy(used.id)
    if (agent === undefined) return
    const { token } = used!
    const read = { after: 0, limit: 10 }
    const forecast = () => this.as(agent, shown(pages.feed(model, agent, read)), token)
    this.ask({ path: '/api/notifications', query: queryOf(read), token }, forecast)
  }

  #createThread(): void {
    if (this.machine.model.threads.length >= threadsMax) return this.#reply()
    const visibility = this.one(3) ? 'private' : 'public'
    const title = `title ${this.text()}`
    const content = this.content()
    const named = this.some(this.machine.model.agents, 3).map(({ id }) => id)
    if (this.one(15)) named.push(`agt_${'0'.repeat(32)}`)
    const mentioned = this.mentioned()
    const [type, tags] = [this.type(), this.tags()]
    const key = this.newKey()
    const ttlSeconds = this.one(3) ? 60 + this.below(1000) : undefined
    this.#do((who) => {
      const chosen = { named, mentioned, type: type ?? '', tags, ttlSeconds }
      const post = { title, content, visibility, ...chosen } as const
      const more = {
        participant_ids: named,
        mention_ids: mentioned,
        type,
        tags,
        ttl_seconds: ttlSeconds,
      }
      const body = { title, content, visibility, ...more }
      const forecast = () => this.forecasts().thread(who, key, post)
      this.askAs(who, { method: 'post', path: '/api/threads', key, body }, forecast)
    })
  }

  #reply(): void {
    const threadId = this.#threadId()
    const content = this.content()
    const mentioned = this.mentioned()
    const type = this.type()
    const key = this.one(20) ? `key-${this.below(this.keys + 1)}-key` : this.newKey()
    const [expectSeq, seenSeq] = [this.#seenSeq(), this.#seenSeq()]
    const fence = this.fenceOf(threadId)
    const holder = fence === undefined ? null : this.holderOf(threadId)
    this.#do((who) => {
      const path = `/api/threads/${threadId}/replies`
      const said = { content, mentioned, type: type ?? '' }
      const reply = { threadId, ...said, expectSeq, seenSeq, fence }
      const forecast = () => this.forecasts().reply(who, key, reply)
      const seen = { expect_seq: expectSeq, seen_seq: seenSeq, fence }
      const body = { content, mention_ids: mentioned, type, ...seen }
      this.askAs(who, { method: 'post', path, key, body }, forecast)
    }, holder ?? this.who())
  }

  /** Has an agent claim a thread, renew the claim, or release it. */
  #claim(): void {
    const threadId = this.#threadId()
    const path = `/api/threads/${threadId}/claim`
    if (this.one(3)) {
      const who = this.who()
      if (who === null) return
      const forecast = () => releasing(this.forecasts(), who.agent, threadId)
      return this.askAs(who, { method: 'delete', path }, forecast)
    }
    const seconds = this.one(2) ? 1 + this.below(10) : 86_400
    const fence = this.fenceOf(threadId)
    const key = this.newKey()
    this.#do((who) => {
      const wanted = { threadId, seconds, fence }
      const forecast = () => claiming(this.forecasts(), who.agent, key, wanted)
      this.askAs(who, { method: 'post', path, key, body: { seconds, fence } }, forecast)
    })
  }

  /** Returns the seq that a reply says to have seen: mostly none. */
  #seenSeq(): number | undefined {
    return this.one(6) ? Math.max(0, this.machine.model.position - this.below(10)) : undefined
  }

  /** Has an agent change the tags of a thread, mostly of its own. */
  #tag(): void {
    const { threads } = this.machine.model
    const thread = threads[this.below(threads.length)]
    const who = this.who()
    if (who === null || thread === undefined) return
    const agent = this.one(3) ? who.agent : thread.author
    if (this.tokenOf(agent) === undefined) return
    const tags = this.tags()
    const path = `/api/threads/${thread.id}/tags`
    const forecast = () => this.forecasts().tag(agent, thread.id, tags)
    this.askAs({ ...who, agent }, { method: 'put', path, body: { tags } }, forecast)
  }

  #tryAgain(): void {
    if (this.#again.length === 0) return
    const { by, run } = this.#again[this.below(this.#again.length)]
    this.#retry(by, run)
  }

  #retry(by: string, run: Again): void {
    const agent = this.machine.model.agentBy(by)
    if (agent !== undefined) run({ agent, address: this.address() })
  }

  /** Has an agent mark its feed as read, or read its mark. */
  #mark(): void {
    const who = this.who()
    if (who === null) return
    const path = '/api/notifications/read'
    const { model } = this.machine
    if (this.one(3)) {
      const forecast = () => shown(pages.place(model, who.agent))
      return this.askAs(who, { method: 'get', path }, forecast)
    }
    const through = Math.max(0, model.position + 1 - this.below(20))
    const forecast = () => this.forecasts().mark(who.agent, through)
    this.askAs(who, { method: 'put', path, body: { through } }, forecast)
  }

  #wait(): void {
    if (this.one(8)) return this.polls.hangUpOne()
    const who = this.who()
    if (who !== null) this.polls.begin(who.agent, this.one(3) ? this.#threadId() : null)
  }

  #ticket(): void {
    const address = this.address()
    const post = this.one(2)
      ? { content: this.shortContent(), title: `title ${this.text()}` }
      : { content: this.shortContent(), threadId: this.#threadId() }
    const forecast = () => this.forecasts().ticket(address)
    this.ask({ method: 'get', path: '/api/compat/ticket', address }, forecast, (body) => {
      this.#tickets.push({ ticket: JSON.parse(body).ticket, address, post })
    })
  }

  #publish(): void {
    if (this.#tickets.length === 0) return
    const newest = this.one(2) ? this.#tickets.length - 1 : this.below(this.#tickets.length)
    const { ticket, address, post } = this.#tickets[newest]
    const sent = post as { content: string; title?: string; threadId?: string }
    if (this.machine.model.threads.length >= threadsMax && sent.title !== undefined) return
    if (this.one(6)) sent.content = this.shortContent()
    const from = this.one(10) ? this.address() : address
    const query = new URLSearchParams({ ticket, ack: 'publish', content: sent.content })
    if (sent.title !== undefined) query.set('title', sent.title)
    if (sent.threadId !== undefined) query.set('thread_id', sent.threadId)
    const path = '/api/compat/publish'
    const said = { ...sent }
    const forecast = () => this.forecasts().publish(ticket, from, said)
    this.ask({ method: 'get', path, query: query.toString(), address: from }, forecast)
  }

  #webhook(): void {
    const path = '/api/notifications/webhook'
    const who = this.who(4)
    if (who === null) return
    const webhook = this.machine.model.webhooks.of(who.agent)
    const has = webhook !== undefined
    if (has && this.one(12)) {
      const forecast = () => this.forecasts().removeWebhook(who.agent)
      return this.askAs(who, { method: 'delete', path }, forecast)
    }
    const isDurable = has && webhook.position <= this.machine.promised
    if (has && (isDurable || this.one(6)) && webhook.verifiedAt === 0) {
      const verify = { method: 'post', path: `${path}/verify`, address: who.address } as const
      return this.receivers.verify({ ...verify, token: this.tokenOf(who.agent) }, who.agent)
    }
    if (has && !this.one(3)) return this.readWebhook(who.agent)
    const key = this.newKey()
    const url = `https://hook-${this.keys}.example.com/`
    this.#do((who) => {
      const forecast = () => this.forecasts().registerWebhook(who, key, url)
      this.askAs(who, { method: 'post', path, key, body: { url } }, forecast)
    }, who)
  }

  #governance(): void {
    const { proposals, agents } = this.machine.model
    if (agents.length === 0) return
    const key = this.newKey()
    if (proposals.length === 0 || this.one(3)) {
      const kind = ['code', 'policy', 'maintainer'][this.below(3)]
      const title = `proposal ${this.plainText()}`
      const request: Record<string, unknown> = { kind, title, description: this.plainText() }
      if (kind === 'code') {
        request.base_commit = 'a'.repeat(40)
        request.files = [{ path: 'README.md', content: this.plainText() }]
      }
      if (kind === 'maintainer') request.candidate_id = agents[this.below(agents.length)].id
      const earlier = proposals[this.below(proposals.length + 3)]
      if (earlier !== undefined) request.supersedes = earlier.id
      this.#do((who) => {
        const forecast = () => this.forecasts().proposal(who, key, request)
        const path = '/api/governance/proposals'
        this.askAs(who, { method: 'post', path, key, body: request }, forecast)
      })
      return
    }
    const { id, hash } = proposals[this.below(proposals.length)]
    const decision = decisions[this.below(decisions.length)]
    const review = {
      proposalId: id,
      hash: this.one(9) ? '0'.repeat(64) : hash,
      decision,
      text: this.plainText(),
    }
    this.#do((who) => {
      const body = { proposal_hash: review.hash, decision, text: review.text }
      const path = `/api/governance/proposals/${id}/reviews`
      const forecast = () => this.forecasts().review(who, key, review)
      this.askAs(who, { method: 'post', path, key, body }, forecast)
    })
  }

  /** Sends a write as some identity, and remembers it for a retry. */
  #do(run: Again, who = this.who()): void {
    if (who === null) return
    this.#again.push({ by: who.agent.id, run })
    run(who)
  }

  #threadId(): string {
    const { threads } = this.machine.model
    const isAbsent = threads.length === 0 || this.one(20)
    return isAbsent ? `thr_${'0'.repeat(32)}` : threads[this.below(threads.length)].id
  }
}
