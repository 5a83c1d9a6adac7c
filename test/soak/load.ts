// A steady load on one node, of all of its features: threads, replies, mentions, types, tags,
// claims, feeds, polls that wait, marks, lists, searches, batches, publishing by GET, webhooks,
// proposals and pages for people. The load survives the deaths of the node: it waits until the node
// is back, and continues. An answer that no request may get is kept as a finding.

import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type Certificates, Receiver } from '../forum/webhooks/receiver.ts'
import { seededRandom } from '../wal/simulated-inode.ts'

const agentsMax = 60
const watchersMax = 12
const wokenMax = 6
/** Older threads are still read now and then, but take no replies. */
const busyThreadsMax = 200
const findingsMax = 20
const words = 'the node answers when a log of all records is durable on its own disk'.split(' ')

interface Caller {
  id: string
  token: string
}

/** What requests may be refused for while others use the same threads, and for many tickets. */
const expected = new Set([
  'rate_limited',
  'claimed',
  'claim_lost',
  'not_holder',
  'not_found',
  'thread_locked',
])

type Body = Record<string, unknown>

interface Asked {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  body?: Body
  by?: Caller
  key?: string
}

export class Load {
  readonly findings: string[] = []
  /** The durations of answers in ms since they were taken last, and the delays of news. */
  latencies: number[] = []
  lags: number[] = []
  answers = 0
  lost = 0
  isDown = false
  readonly #url: string
  readonly #random: () => number
  readonly #connections = new Agent({ connections: 64 })
  readonly #receiver: Receiver
  readonly #callers: Caller[] = []
  readonly #threads: string[] = []
  /** When messages were published, by their position; watchers measure how late they are told. */
  readonly #publishedMs = new Map<string, number>()
  readonly #actions: readonly [number, () => Promise<unknown>][]
  #isOver = false
  #keys = 0

  constructor(url: string, seed: number, certificates: Certificates) {
    this.#url = url
    this.#random = seededRandom(seed)
    this.#receiver = new Receiver(certificates)
    this.#actions = [
      [6, () => this.#thread()],
      [34, () => this.#reply()],
      [6, () => this.#work()],
      [4, () => this.#follow()],
      [12, () => this.#readThread()],
      [8, () => this.#readFeed()],
      [4, () => this.#list()],
      [6, () => this.#search()],
      [5, () => this.#batch()],
      [3, () => this.#publishByGet()],
      [2, () => this.#govern()],
      [3, () => this.#page()],
      [1, () => this.#tag()],
    ]
  }

  get wakeups(): number {
    return this.#receiver.received.length
  }

  /** Creates the agents, their first threads and webhooks. */
  async prepare(): Promise<void> {
    await this.#receiver.listen()
    for (let n = 0; n < agentsMax; n++) {
      const body = { kind: 'persistent', display_name: `agent ${n}` }
      const made = await this.#ask('/api/identities', { method: 'POST', body })
      this.#callers.push(made as unknown as Caller)
    }
    for (let n = 0; n < 10; n++) await this.#thread()
    for (const by of this.#callers.slice(0, watchersMax + wokenMax)) {
      for (const thread of this.#threads) await this.#followAs(by, thread)
    }
    for (const by of this.#callers.slice(watchersMax, watchersMax + wokenMax)) {
      const path = '/api/notifications/webhook'
      const body = { url: `https://localhost:${this.#receiver.port}/${by.id}` }
      await this.#ask(path, { method: 'POST', by, key: this.#newKey(), body })
      await this.#ask(`${path}/verify`, { method: 'POST', by })
    }
  }

  /** Acts at this rate until `stop`. Resolves when the last answer is there. */
  async run(requestsPerSecond: number): Promise<void> {
    const watching = this.#callers.slice(0, watchersMax).map((by) => this.#watch(by))
    const acting = new Set<Promise<unknown>>()
    for (let dueMs = performance.now(); !this.#isOver; dueMs += 1000 / requestsPerSecond) {
      await sleep(Math.max(0, dueMs - performance.now()))
      dueMs = Math.max(dueMs, performance.now() - 1000) // what is late by more is left out
      if (this.isDown || acting.size >= 48) continue
      const action = this.#action().catch((error) => this.#found(`${error}`))
      acting.add(action)
      void action.finally(() => acting.delete(action))
    }
    await Promise.all([...acting, ...watching])
  }

  stop(): void {
    this.#isOver = true
  }

  async close(): Promise<void> {
    await this.#connections.destroy()
    await this.#receiver.close()
  }

  /** Returns a message to remove, of a thread that others use. */
  async someMessage(): Promise<string | null> {
    const page = await this.#ask(`/api/threads/${this.#oneOf(this.#threads)}?before=end&limit=1`)
    const [last] = (page?.messages ?? []) as { id: string }[]
    return last?.id ?? null
  }

  #action(): Promise<unknown> {
    let drawn = this.#below(this.#actions.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, action] of this.#actions) {
      drawn -= weight
      if (drawn < 0) return action()
    }
    throw new Error('weights')
  }

  async #thread(): Promise<void> {
    const body = { title: this.#text(40), content: this.#text(800), tags: ['soak', this.#tagName] }
    const made = await this.#post('/api/threads', body)
    if (made !== null) this.#threads.push(made.thread_id as string)
    if (this.#threads.length > busyThreadsMax) this.#threads.shift()
  }

  async #reply(): Promise<void> {
    const body: Body = { content: this.#text(4_000) }
    if (this.#below(4) === 0) body.mention_ids = [this.#oneOf(this.#callers).id]
    if (this.#below(3) === 0) body.type = this.#oneOf(['question', 'decision'])
    const made = await this.#post(`/api/threads/${this.#oneOf(this.#threads)}/replies`, body)
    if (made !== null) this.#publishedMs.set(made.message_id as string, performance.now())
  }

  /** Claims a thread, publishes with the fence, renews the claim, and releases it or not. */
  async #work(): Promise<void> {
    const by = this.#oneOf(this.#callers)
    const thread = `/api/threads/${this.#oneOf(this.#threads)}`
    const claimed = await this.#post(`${thread}/claim`, { seconds: 1 + this.#below(20) }, by)
    if (claimed === null) return
    const { fence } = claimed
    await this.#post(`${thread}/replies`, { content: this.#text(500), fence }, by)
    await this.#post(`${thread}/claim`, { seconds: 1 + this.#below(20), fence }, by)
    if (this.#below(3) > 0) await this.#ask(`${thread}/claim`, { method: 'DELETE', by })
  }

  async #follow(): Promise<void> {
    const by = this.#oneOf(this.#callers.slice(watchersMax))
    if (this.#below(2) === 0) return this.#followAs(by, this.#oneOf(this.#threads))
    const path = `/api/threads/${this.#oneOf(this.#threads)}/subscribe`
    await this.#ask(path, { method: 'DELETE', by })
  }

  async #followAs(by: Caller, thread: string): Promise<void> {
    await this.#ask(`/api/threads/${thread}/subscribe`, { method: 'POST', by })
  }

  async #readThread(): Promise<void> {
    const thread = this.#oneOf(this.#threads)
    const query = this.#oneOf(['', '?before=end&limit=20', '?limit=100', '?content_chars=100'])
    await this.#ask(`/api/threads/${thread}${query}`)
  }

  async #readFeed(): Promise<void> {
    const by = this.#oneOf(this.#callers.slice(watchersMax))
    const query = this.#oneOf([
      'after=read',
      'after=read&include=content',
      'after=read&only=mentions',
    ])
    const page = await this.#ask(`/api/notifications?${query}&limit=20`, { by })
    if (page === null) return
    const body = { through: page.next_after }
    await this.#ask('/api/notifications/read', { method: 'PUT', by, body })
  }

  async #list(): Promise<void> {
    const lists = ['threads?order=activity&include=excerpt', 'threads?tag=soak', 'tags', 'status']
    await this.#ask(`/api/${this.#oneOf([...lists, 'threads?claimed=true'])}`)
  }

  async #search(): Promise<void> {
    const query = this.#oneOf(['durable', 'log -disk', '"of all records"', 'node&type=decision'])
    await this.#ask(`/api/search?q=${query.replaceAll(' ', '+').replaceAll('"', '%22')}`)
  }

  async #batch(): Promise<void> {
    const requests = Array.from({ length: 4 }, (_, n) => {
      const thread = `/api/threads/${this.#oneOf(this.#threads)}`
      const { token } = this.#oneOf(this.#callers)
      if (n % 2 === 0) return { method: 'GET', path: thread }
      const body = { content: this.#text(300) }
      return { method: 'POST', path: `${thread}/replies`, token, key: this.#newKey(), body }
    })
    await this.#ask('/api/batch', { method: 'POST', body: { requests } })
  }

  async #publishByGet(): Promise<void> {
    const ticket = await this.#ask('/api/compat/ticket')
    if (ticket === null) return // an address gets a limited number in an hour
    const asked = { ticket: `${ticket.ticket}`, ack: 'publish', content: this.#text(200) }
    const query = new URLSearchParams({ ...asked, thread_id: this.#oneOf(this.#threads) })
    await this.#ask(`/api/compat/publish?${query}`)
  }

  async #govern(): Promise<void> {
    if (this.#below(20) > 0) return void (await this.#ask('/api/governance/proposals'))
    const body = { kind: 'policy', title: this.#text(40), description: this.#text(400) }
    await this.#post('/api/governance/proposals', body)
  }

  async #page(): Promise<void> {
    await this.#ask(this.#oneOf(['/', `/threads/${this.#oneOf(this.#threads)}`, '/search?q=log']))
  }

  async #tag(): Promise<void> {
    const by = this.#oneOf(this.#callers)
    const made = await this.#post('/api/threads', { title: 't', content: this.#text(50) }, by)
    if (made === null) return
    const path = `/api/threads/${made.thread_id}/tags`
    await this.#ask(path, { method: 'PUT', by, body: { tags: [this.#tagName] } })
  }

  /** Polls the feed of an agent until the end, and measures how late it is told. */
  async #watch(by: Caller): Promise<void> {
    let after = 'read'
    while (!this.#isOver) {
      const page = await this.#ask(`/api/notifications?after=${after}&limit=100&wait=5`, { by })
      if (page === null) continue
      const now = performance.now()
      for (const { message_id } of page.notifications as { message_id: string }[]) {
        const published = this.#publishedMs.get(message_id)
        if (published !== undefined) this.lags.push(Math.max(0, now - published))
      }
      after = `${page.next_after}`
      for (const [id, publishedMs] of this.#publishedMs) {
        if (now - publishedMs > 60_000) this.#publishedMs.delete(id)
      }
    }
  }

  #post(path: string, body: Body, by = this.#oneOf(this.#callers)): Promise<Body | null> {
    return this.#ask(path, { method: 'POST', body, by, key: this.#newKey() })
  }

  /** Resolves to a successful answer; null if there is none, or it is refused rightly. */
  async #ask(path: string, asked: Asked = {}): Promise<Body | null> {
    const { method = 'GET', body, by, key } = asked
    const headers: Record<string, string> = {}
    if (by !== undefined) headers.authorization = `Bearer ${by.token}`
    if (key !== undefined) headers['idempotency-key'] = key
    if (body !== undefined) headers['content-type'] = 'application/json'
    const begunMs = performance.now()
    try {
      const json = body === undefined ? null : JSON.stringify(body)
      const options = { method, headers, body: json, dispatcher: this.#connections }
      const { statusCode: status, body: answer } = await request(this.#url + path, options)
      const text = await answer.text()
      this.answers += 1
      if (!path.includes('wait=')) this.latencies.push(performance.now() - begunMs)
      if (status < 300) return text.startsWith('{') ? (JSON.parse(text) as Body) : {}
      const error = text.startsWith('{') ? `${(JSON.parse(text) as Body).error}` : text
      if (status === 503) await this.#back()
      else if (!expected.has(error)) this.#found(`${method} ${path}: ${status} ${error}`)
    } catch {
      await this.#back()
    }
    return null
  }

  /** Waits until the node is back. */
  async #back(): Promise<void> {
    this.lost += 1
    await sleep(100)
    while (this.isDown) await sleep(20)
  }

  #found(finding: string): void {
    if (this.findings.length < findingsMax) this.findings.push(finding)
  }

  get #tagName(): string {
    return `tag-${this.#below(20)}`
  }

  #newKey(): string {
    this.#keys += 1
    return `soak-key-${this.#keys}`
  }

  /** Returns a text of so many characters at most. */
  #text(charactersMax: number): string {
    const length = 1 + this.#below(charactersMax)
    let text = `${this.#keys}`
    while (text.length < length) text += ` ${this.#oneOf(words)}`
    return text.slice(0, charactersMax)
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[this.#below(all.length)]!
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}
