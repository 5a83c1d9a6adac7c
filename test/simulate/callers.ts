// The agents that use the forum: their identities, how they send requests, and the outcome that the
// model predicts.

import assert from 'node:assert/strict'
import { tokenDigest } from '../../src/forum/identities/commands.ts'
import { type Asking, ask, type Forecast, type Request, refused } from './asking.ts'
import { Batches } from './batches.ts'
import { pageOfThread, shown } from './forecasting.ts'
import { Forecasts, type Who } from './forecasts.ts'
import type { Machine } from './machine.ts'
import type { Model } from './model.ts'
import type { Agent } from './model-types.ts'
import * as pages from './pages.ts'

const texts = ['hello', '', '"quoted" \\ {"a":1}', 'né€🦊', '\u0000\n\t', 'x'.repeat(500)]
const long = 'y'.repeat(650)
/** One MiB of text holds 22 messages with this content. */
const vast = '\u0001'.repeat(7_900)
export const agentsMax = 12

export class Callers {
  readonly machine: Machine
  /**
   * The identities whose tokens callers have received. Unless the mode is `--durability always`, a
   * crash may have lost an identity.
   */
  readonly tokens: { id: string; token: string }[] = []
  keys = 0
  #contents = 0
  readonly batches: Batches
  /** The requests of the batch that is being made, and the address from which it comes. */
  #together: { address: string; asking: Asking[] } | null = null
  /** Whether most messages are long, so that the log fills its segments quickly. */
  readonly isWordy: boolean

  constructor(machine: Machine) {
    this.machine = machine
    this.batches = new Batches(machine)
    this.isWordy = machine.chance(0.3)
  }

  /** Reads everything that exists, and compares it with the model. */
  readAll(): void {
    const { model } = this.machine
    const reader = this.#reader()
    const token = reader === null ? undefined : this.tokenOf(reader)
    const asReader = (forecast: Forecast) => this.as(reader, forecast, token)
    for (const { id, author, visibility, messages } of model.threads) {
      const viewer = visibility === 'private' ? author : reader
      const token = viewer === null ? undefined : this.tokenOf(viewer)
      if (visibility === 'private' && token === undefined) continue
      for (let after: number | undefined = 0; after !== undefined; ) {
        const read = { after, limit: 100 }
        const query = `after=${after}&limit=100`
        this.ask({ method: 'get', path: `/api/threads/${id}`, query, token }, () => {
          return this.as(viewer, pageOfThread(model, viewer, id, read), token)
        })
        const later = messages.filter(({ seq }) => seq > after!)
        after = later.length > 100 ? later[99].seq : undefined
      }
    }
    const query = 'limit=50'
    const list = () => asReader(shown(pages.threadList(model, reader)[0]))
    this.ask({ path: '/api/threads', query, token }, list)
    const proposals = () => asReader(shown(pages.proposalList(model)))
    this.ask({ path: '/api/governance/proposals', query, token }, proposals)
    for (const { id } of model.proposals) {
      const path = `/api/governance/proposals/${id}`
      this.ask({ path, query, token }, () => asReader(this.forecasts().readProposal(id)))
    }
    for (const { id, token } of this.tokens) {
      const agent = model.agentBy(id)
      const all = { after: 0, limit: 100 }
      this.ask({ path: '/api/notifications', query: 'limit=100', token }, () => {
        if (agent === undefined) return refused('invalid_token')
        return this.as(agent, shown(pages.feed(model, agent, all)), token)
      })
      if (agent === undefined || token !== this.tokenOf(agent)) continue
      this.#readOwn(agent, '/api/notifications/read', '', pages.place)
      if (model.webhooks.changedAt(agent) === 0) continue
      this.readWebhook(agent)
    }
  }

  /** Returns who reads what is public: a member, where only members may, and otherwise anybody. */
  #reader(): Agent | null {
    const { model, config } = this.machine
    if (!config.access.membersOnly) return null
    const may = (agent: Agent) => model.isActive(agent, this.at()) && this.tokenOf(agent)
    return model.agents.find(may) ?? null
  }

  readWebhook(agent: Agent): void {
    this.#readOwn(agent, '/api/notifications/webhook', '', pages.webhookPage)
    this.#readOwn(agent, '/api/notifications/deliveries', 'limit=100', pages.deliveryPage)
  }

  #readOwn(
    agent: Agent,
    path: string,
    query: string,
    page: (model: Model, agent: Agent) => pages.Page,
  ): void {
    const token = this.tokenOf(agent)
    const { model } = this.machine
    this.ask({ path, query, token }, () => this.as(agent, shown(page(model, agent)), token))
  }

  askAs(who: Who, request: Omit<Request, 'address'>, forecast: () => Forecast): void {
    const token = this.tokenOf(who.agent)
    if (token === undefined) return
    const forecastAs = () => this.as(who.agent, forecast(), token)
    this.ask({ ...request, address: who.address, token }, forecastAs)
  }

  /**
   * Returns the forecast for this agent, whose token, by default the present one, may be refused.
   */
  as(agent: Agent | null, forecast: Forecast, token?: string): Forecast {
    if (agent === null) return forecast
    const replaced = token === undefined ? null : this.forecasts().replaced(agent, token)
    if (replaced !== null) return replaced
    const isActive = this.machine.model.isActive(agent, this.at())
    return isActive ? forecast : this.forecasts().token(agent)
  }

  /** Sends the request, alone or with the others of a batch. */
  ask(
    { method = 'get', ...rest }: Partial<Request> & { path: string },
    predict: () => Forecast,
    then?: (body: string) => void,
  ): void {
    const request = { method, ...rest, address: rest.address ?? this.address() }
    const forecast = this.#lacksToken(request) ? () => refused('token_required') : predict
    const asking = { request, forecast, then }
    if (this.#together === null) ask(this.machine, asking)
    else this.#together.asking.push(asking)
  }

  /** Whether the request is refused because it has no token (docs/interface.md, "Access"). */
  #lacksToken({ method, path, token }: Request): boolean {
    const isOpen = path === '/api/compat/publish' || `${method} ${path}` === 'post /api/identities'
    return this.machine.config.access.membersOnly && token === undefined && !isOpen
  }

  /** Sends the requests that `act` makes as one batch. */
  inBatch(act: () => void): void {
    assert.equal(this.#together, null, 'a batch is in no other one')
    const together = { address: this.address(), asking: [] }
    this.#together = together
    act()
    this.#together = null
    if (together.asking.length > 0) this.batches.send(together.asking)
  }

  at(): number {
    return this.machine.forumTime
  }

  forecasts(): Forecasts {
    const { model, config } = this.machine
    return new Forecasts(model, this.at(), config.limits)
  }

  /**
   * Returns one of the first `among` identities, or null if it is absent or its token is unknown.
   */
  who(among = agentsMax): Who | null {
    const known = this.tokens[this.below(Math.min(among, this.tokens.length))]
    const agent = known && this.machine.model.agentBy(known.id)
    const isKnown = agent !== undefined && this.tokenOf(agent) !== undefined
    return isKnown ? { agent, address: this.address() } : null
  }

  /** Returns the agent's present token, unless the answer that carried it was lost. */
  tokenOf({ id, tokenDigest: present }: Agent): string | undefined {
    const own = this.tokens.findLast((known) => known.id === id && isOf(known.token, present))
    return own?.token
  }

  /** Returns the holder of the thread's claim, if its token is known. */
  holderOf(threadId: string): Who | null {
    const { claim } = this.machine.model.threads.find(({ id }) => id === threadId) ?? {}
    const isKnown = claim != null && this.tokenOf(claim.holder) !== undefined
    return isKnown ? { agent: claim.holder, address: this.address() } : null
  }

  /** Returns the fence of the thread's claim, or another one: mostly none. */
  fenceOf(threadId: string): number | undefined {
    if (!this.one(4)) return undefined
    const { claim } = this.machine.model.threads.find(({ id }) => id === threadId) ?? {}
    return Math.max(0, (claim?.fence ?? 1) - (this.one(4) ? 1 : 0))
  }

  newKey(): string {
    this.keys += 1
    return `key-${this.keys}-key`
  }

  address(): string {
    return this.#together?.address ?? `192.0.2.${1 + this.below(3)}`
  }

  text(): string {
    return texts[this.below(5)]
  }

  /** Returns a text without NUL, which governance rejects. */
  plainText(): string {
    return `${this.keys} ${texts[this.below(4)]}`
  }

  /** Returns a content that no other message has. */
  content(): string {
    if (this.machine.isVast && !this.one(5)) return `${this.#contents++} ${vast}`
    return this.shortContent()
  }

  /** Returns a content that fits in a URL. */
  shortContent(): string {
    const isLong = this.isWordy && !this.one(5)
    return `${this.#contents++} ${isLong ? long : texts[this.below(texts.length)]}`
  }

  some<T>(all: readonly T[], most: number): T[] {
    const picked = Array.from({ length: this.below(most + 1) }, () => all[this.below(all.length)])
    return [...new Set(picked)].filter((one) => one !== undefined)
  }

  below(count: number): number {
    return this.machine.below(count)
  }

  one(of: number): boolean {
    return this.below(of) === 0
  }

  /** Returns the ids of the identities that a message mentions: mostly none. */
  mentioned(): string[] {
    if (!this.one(3)) return []
    const ids = this.some(this.machine.model.agents, 3).map(({ id }) => id)
    return this.one(15) ? [...ids, `agt_${'0'.repeat(32)}`] : ids
  }

  /** Returns a type of messages: mostly none. */
  type(): string | undefined {
    return this.one(3) ? ['question', 'bug-report'][this.below(2)] : undefined
  }

  tags(): string[] {
    return this.one(2) ? [] : this.some(['bug', 'infra', 'a:b'], 3)
  }
}

function isOf(token: string, digest: string): boolean {
  return tokenDigest(token) === digest
}

/** Returns the query with the parameters that are given. */
export function queryOf(read: object): string {
  const given = Object.entries(read).filter(([, value]) => value !== undefined)
  return given.map(([name, value]) => `${name}=${value}`).join('&')
}
