// A small in-memory forum that answers the swarm's requests and misbehaves on demand, so that each
// check of the swarm can be seen failing. It is correct unless a test says otherwise, and slow,
// because every poll computes the feed from scratch.

import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Message } from '../../../src/client/types.ts'

export type Operation =
  | 'status'
  | 'identity'
  | 'thread'
  | 'reply'
  | 'subscribe'
  | 'read'
  | 'feed'
  | 'search'
  | 'claim'
  | 'release'
  | 'batch'
  | 'unknown'

// biome-ignore lint/suspicious/noExplicitAny: tests tamper with answers of every shape
export type Body = any
export type Answer = { status: number; body: Body; headers?: Record<string, string> }
export type Stored = Message

type Silence = 'lost' | 'silent'

// `nth` is the number of the request among those of its operation, counted from one.
export type Faults = {
  // Returns the answer to a request that is not carried out, or null.
  refuse?: (operation: Operation, nth: number) => Answer | null
  // Returns what is stored of an acknowledged message.
  keep?: (message: Stored, nth: number) => Stored[]
  // Replaces the answer after the work. 'lost': the connection breaks; 'silent': no answer is sent.
  // Of a request in a batch, anything but an answer breaks the connection of the batch.
  answer?: (operation: Operation, answer: Answer, nth: number) => Answer | Buffer | Silence
  // Whether claims are granted also while they are held, and end never.
  claimsAreFree?: boolean
  // Whether idempotency keys are forgotten.
  forgetKeys?: boolean
}

type Identity = Pick<Message, 'id' | 'kind' | 'display_name'> & { token: string }
type Thread = { id: string; title: string; author_id: string; messages: Stored[]; seq: number }
type Claim = { holder_id: string; expires_at: number; fence: number }
type Item = {
  method: string
  path: string
  token?: string | undefined
  key?: string | undefined
  body?: Body
}
type Request = { method: string; url: URL; caller: Identity | undefined; key: string; body: Body }

const id = (prefix: string) => `${prefix}_${randomBytes(16).toString('hex')}`
const refusal = (status: number, error: string): Answer => ({ status, body: { error } })

export class FakeForum {
  faults: Faults = {}
  port = 0
  // The number of requests by operation, and the keys of publications in order of arrival.
  readonly seen = new Map<Operation, number>()
  readonly keys: string[] = []
  readonly threads = new Map<string, Thread>()
  // The largest number of requests in progress at the same time.
  busiest = 0
  // The number of requests that a batch may have; 1: there are no batches.
  batchMax = 1000
  #busy = 0
  readonly #identities = new Map<string, Identity>()
  readonly #subscribed = new Map<string, Set<string>>()
  readonly #receipts = new Map<string, { body: Body; text: string }>()
  readonly #claims = new Map<string, Claim>()
  #fences = 0
  #seq = 0
  #kept = 0
  #server: Server | null = null

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  // Listens on a free port or, after a stop, on the same port as before.
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve))
    this.port = (server.address() as AddressInfo).port
  }

  // Breaks every connection. The state is kept.
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.busiest = Math.max(this.busiest, ++this.#busy)
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const { method = '', url = '', headers } = incoming
    const head = { method, path: url, token: headers.authorization?.replace('Bearer ', '') }
    const key = headers['idempotency-key'] as string | undefined
    const body = text === '' ? {} : JSON.parse(text)
    const answer = await this.#answerTo({ ...head, key, body })
    this.#busy--
    if (answer === 'silent') return
    if (answer === 'lost') {
      response.destroy()
      return
    }
    if (Buffer.isBuffer(answer)) {
      response.end(answer)
      return
    }
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(JSON.stringify(answer.body))
  }

  async #answerTo(item: Item): Promise<Answer | Buffer | Silence> {
    const request: Request = {
      method: item.method,
      url: new URL(item.path, this.url),
      caller: this.#identities.get(item.token ?? ''),
      key: item.key ?? '',
      body: item.body ?? {},
    }
    const operation = operationOf(request)
    const nth = (this.seen.get(operation) ?? 0) + 1
    this.seen.set(operation, nth)
    // Requests that arrive together are answered together.
    await new Promise((resolve) => setImmediate(resolve))
    const refused = this.faults.refuse?.(operation, nth) ?? null
    const right = refused ?? (await this.#carryOut(operation, request))
    if (typeof right === 'string') return right
    return this.faults.answer?.(operation, structuredClone(right), nth) ?? right
  }

  async #carryOut(operation: Operation, request: Request): Promise<Answer | Silence> {
    if (operation !== 'batch') return this.#do(operation, request)
    const responses = []
    for (const item of request.body.requests as Item[]) {
      const answer = await this.#answerTo(item)
      if (typeof answer === 'string' || Buffer.isBuffer(answer)) return 'lost'
      const { status, body, headers } = answer
      const retryAfter = headers?.['retry-after']
      responses.push({ status, body, ...(retryAfter && { retry_after: Number(retryAfter) }) })
    }
    return { status: 200, body: { responses } }
  }

  #do(operation: Operation, request: Request): Answer {
    if (operation === 'status') {
      const capabilities = { search: true, claims: true, batch: this.batchMax }
      return { status: 200, body: { name: 'fake', version: '0', capabilities } }
    }
    if (operation === 'identity') return this.#identify(request.body)
    if (operation === 'read') return this.#read(request)
    if (operation === 'search') return this.#search(request)
    if (operation === 'unknown') return refusal(404, 'not_found')
    if (request.caller === undefined) return refusal(401, 'invalid_token')
    if (operation === 'feed') return this.#feed(request.url, request.caller)
    if (operation === 'subscribe') return this.#subscribe(request.url, request.caller)
    if (operation === 'claim') return this.#claim(request, request.caller)
    if (operation === 'release') return this.#release(request.url, request.caller)
    return this.#publish(operation, request, request.caller)
  }

  #identify({ kind, display_name }: Body): Answer {
    const identity = { id: id('agt'), kind, display_name, token: id('aic') }
    this.#identities.set(identity.token, identity)
    this.#subscribed.set(identity.id, new Set())
    return { status: 201, body: identity }
  }

  #publish(operation: Operation, { url, key, body }: Request, caller: Identity): Answer {
    this.keys.push(key)
    const receiptKey = `${caller.id} ${key}`
    const receipt = this.#receipts.get(receiptKey)
    const text = `${url.pathname} ${JSON.stringify(body)}`
    if (receipt !== undefined && this.faults.forgetKeys !== true) {
      if (receipt.text !== text) return refusal(409, 'idempotency_conflict')
      return { status: 200, body: { ...receipt.body, replayed: true } }
    }
    const thread =
      operation === 'thread' ? this.#open(body.title, caller) : this.threads.get(threadIdOf(url))
    if (thread === undefined) return refusal(404, 'not_found')
    const { fence } = body
    if (fence !== undefined && this.#claimOf(thread.id)?.fence !== fence) {
      return refusal(412, 'claim_lost')
    }
    const message: Stored = {
      seq: ++this.#seq,
      id: id('msg'),
      author_id: caller.id,
      display_name: caller.display_name,
      kind: caller.kind,
      content: body.content,
      created_at: Date.now(),
    }
    thread.messages.push(...(this.faults.keep?.(message, ++this.#kept) ?? [message]))
    this.#subscribed.get(caller.id)?.add(thread.id)
    const publication = {
      thread_id: thread.id,
      message_id: message.id,
      author_id: caller.id,
      published: true,
      replayed: false,
    }
    this.#receipts.set(receiptKey, { body: publication, text })
    return { status: 201, body: publication }
  }

  #open(title: string, { id: author_id }: Identity): Thread {
    const thread: Thread = { id: id('thr'), title, author_id, messages: [], seq: this.#seq }
    this.threads.set(thread.id, thread)
    return thread
  }

  #subscribe(url: URL, caller: Identity): Answer {
    const thread_id = threadIdOf(url)
    if (!this.threads.has(thread_id)) return refusal(404, 'not_found')
    this.#subscribed.get(caller.id)?.add(thread_id)
    return { status: 200, body: { thread_id, subscribed: true } }
  }

  #claim({ url, body }: Request, { id: holder_id }: Identity): Answer {
    const thread_id = threadIdOf(url)
    const held = this.#claimOf(thread_id)
    const isOwn = held?.holder_id === holder_id
    if (body.fence !== undefined && !isOwn) return refusal(412, 'claim_lost')
    if (held !== null && !isOwn && !this.faults.claimsAreFree) return refusal(409, 'claimed')
    const fence = isOwn ? held.fence : ++this.#fences
    const claim = { holder_id, expires_at: Date.now() + body.seconds * 1000, fence }
    this.#claims.set(thread_id, claim)
    return { status: 201, body: { thread_id, ...claim } }
  }

  #release(url: URL, { id }: Identity): Answer {
    const thread_id = threadIdOf(url)
    const held = this.#claimOf(thread_id)
    if (held !== null && held.holder_id !== id) return refusal(403, 'not_holder')
    this.#claims.delete(thread_id)
    return { status: 200, body: { thread_id, claimed: false } }
  }

  #claimOf(threadId: string): Claim | null {
    const held = this.#claims.get(threadId)
    if (held === undefined) return null
    return held.expires_at > Date.now() || this.faults.claimsAreFree ? held : null
  }

  #read({ url }: Request): Answer {
    const thread = this.threads.get(threadIdOf(url))
    if (thread === undefined) return refusal(404, 'not_found')
    const { items, ...paged } = page(url, thread.messages)
    const { id, author_id, title, messages } = thread
    const head = { id, author_id, title, visibility: 'public', message_count: messages.length }
    return { status: 200, body: { thread: head, messages: items, ...paged } }
  }

  #search({ url: { searchParams } }: Request): Answer {
    const of = (name: string) => searchParams.get(name)
    const words = of('q')!.split(' ')
    const all = [...this.threads.values()].flatMap(({ id, title, messages }) =>
      messages.map((message, i) => ({
        seq: message.seq,
        message_id: message.id,
        thread_id: id,
        title,
        author_id: message.author_id,
        display_name: message.display_name,
        created_at: message.created_at,
        excerpt: message.content.slice(0, 240),
        text: i === 0 ? `${id} ${title} ${message.content}` : message.content,
      })),
    )
    const left = all
      .filter(({ seq }) => seq < Number(of('before') ?? Number.MAX_SAFE_INTEGER))
      .filter(({ thread_id }) => thread_id === (of('thread_id') ?? thread_id))
      .filter(({ author_id }) => author_id === (of('author_id') ?? author_id))
      .filter(({ text }) => words.every((word) => text.toLowerCase().split(/\W+|_/).includes(word)))
      .sort((a, b) => b.seq - a.seq)
    const results = left.slice(0, Number(of('limit'))).map(({ text: _, ...hit }) => hit)
    const has_more = left.length > results.length
    const next_before = has_more ? results.at(-1)!.seq : null
    return { status: 200, body: { results, has_more, next_before, indexed_through: this.#seq } }
  }

  #feed(url: URL, caller: Identity): Answer {
    const all = [...(this.#subscribed.get(caller.id) ?? [])].flatMap((threadId) =>
      (this.threads.get(threadId)?.messages ?? [])
        .filter(({ author_id }) => author_id !== caller.id)
        .map(({ seq, id, author_id, created_at }) => {
          return { seq, message_id: id, thread_id: threadId, author_id, created_at }
        }),
    )
    const { items, ...paged } = page(
      url,
      all.sort((a, b) => a.seq - b.seq),
    )
    return { status: 200, body: { notifications: items, ...paged } }
  }
}

function page<Item extends { seq: number }>(url: URL, all: Item[]) {
  const after = Number(url.searchParams.get('after'))
  const left = all.filter(({ seq }) => seq > after)
  const items = left.slice(0, Number(url.searchParams.get('limit')))
  const next_after = items.at(-1)?.seq ?? after
  return { items, next_after, has_more: left.length > items.length }
}

const threadIdOf = (url: URL): string => url.pathname.split('/')[3] ?? ''

function operationOf({ method, url }: Request): Operation {
  const path = url.pathname.replace(/thr_[a-f0-9]{32}/, ':thread')
  const operations: Record<string, Operation> = {
    'GET /api/status': 'status',
    'POST /api/identities': 'identity',
    'POST /api/threads': 'thread',
    'POST /api/threads/:thread/replies': 'reply',
    'POST /api/threads/:thread/subscribe': 'subscribe',
    'GET /api/threads/:thread': 'read',
    'GET /api/notifications': 'feed',
    'GET /api/search': 'search',
    'POST /api/threads/:thread/claim': 'claim',
    'DELETE /api/threads/:thread/claim': 'release',
    'POST /api/batch': 'batch',
  }
  return operations[`${method} ${path}`] ?? 'unknown'
}
