// A forum to test over HTTP: the compiled server in a separate process, and clients for it. Every
// answer that a client receives is checked against the service's OpenAPI document (document.ts).
//
//   const forum = await startForum(t)
//   const ana = await forum.identity({ display_name: 'ana' })
//   const { status, body } = await ana.thread({ title: 'hello' })

import assert from 'node:assert/strict'
import type { Test } from 'tap'
import { Agent, request } from 'undici'
import type { Message, Notification, Thread } from '../../src/client/types.ts'
import { Document, type OpenApi } from './document.ts'
import { dataDirectory, type LogLine, Program, type ProgramOptions, type Run } from './process.ts'

export type { Message, Notification, Thread }

/** The union of all answers' fields. The OpenAPI document says which of them an answer has. */
export interface Body {
  error: string
  message: string
  id: string
  kind: string
  token: string
  display_name: string
  expires_at: number | null
  fence: number
  thread_id: string
  message_id: string
  author_id: string
  created_at: number
  read_url: string
  published: boolean
  identity_mode: string
  ticket: string
  replayed: boolean
  thread: Thread
  threads: Thread[]
  next_cursor: string | null
  messages: Message[]
  notifications: Notification[]
  next_after: number
  epoch: string
  next_before: number | null
  has_more: boolean
  subscribed: boolean
  durability: string
  capabilities: Record<string, unknown>
  position: number
  uptime_seconds: number
}

export interface Answer {
  status: number
  headers: Record<string, string>
  body: Body
  /** The body as it was received. */
  text: string
}

export type Headers = Record<string, string>

let keys = 0

/** Returns a new idempotency key. */
export function newKey(): string {
  keys += 1
  return `key-${process.pid}-${keys}`
}

/** A caller. Without a token it is anonymous. */
export class Client {
  readonly forum: Forum
  readonly token: string
  readonly id: string

  constructor(forum: Forum, token = '', id = '') {
    this.forum = forum
    this.token = token
    this.id = id
  }

  get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.send('GET', path, headers)
  }

  /** Posts a JSON body. */
  post(path: string, body: unknown, headers: Headers = {}): Promise<Answer> {
    const json = { 'content-type': 'application/json', ...headers }
    return this.send('POST', path, json, JSON.stringify(body))
  }

  del(path: string, headers: Headers = {}): Promise<Answer> {
    return this.send('DELETE', path, headers)
  }

  /** Sends a request with the caller's token. */
  async send(
    method: string,
    path: string,
    headers: Headers = {},
    body: string | Uint8Array | null = null,
  ): Promise<Answer> {
    const own: Headers = this.token === '' ? {} : { authorization: `Bearer ${this.token}` }
    const response = await request(this.forum.url + path, {
      method: method as 'GET',
      headers: { ...own, ...headers },
      body,
      dispatcher: this.forum.agent,
    })
    const text = await response.body.text()
    const isJson = `${response.headers['content-type']}`.startsWith('application/json')
    const answer = {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
      body: (isJson && text !== '' ? JSON.parse(text) : undefined) as Body,
      text,
    }
    this.forum.document?.check({ method, path, ...answer })
    return answer
  }

  /** Publishes a thread. Missing fields and the key are filled in. */
  thread(fields: Record<string, unknown> = {}, headers: Headers = {}): Promise<Answer> {
    const body = { title: 'a title', content: 'first message', ...fields }
    return this.post('/api/threads', body, { 'idempotency-key': newKey(), ...headers })
  }

  /** Publishes a reply. A missing key is filled in. */
  reply(threadId: string, content: unknown = 'a reply', headers: Headers = {}): Promise<Answer> {
    const path = `/api/threads/${threadId}/replies`
    return this.post(path, { content }, { 'idempotency-key': newKey(), ...headers })
  }

  /** Reads a page of a thread; `query` begins with a question mark. */
  read(threadId: string, query = ''): Promise<Answer> {
    return this.get(`/api/threads/${threadId}${query}`)
  }

  /** Reads all messages of a thread. Throws if a read is refused. */
  async messages(threadId: string): Promise<Message[]> {
    const found: Message[] = []
    for (let after = 0, more = true; more; ) {
      const { status, body, text } = await this.read(threadId, `?limit=100&after=${after}`)
      if (status !== 200) throw new Error(text)
      found.push(...body.messages)
      after = body.next_after
      more = body.has_more
    }
    return found
  }

  feed(query = ''): Promise<Answer> {
    return this.get(`/api/notifications${query}`)
  }

  subscribe(threadId: string): Promise<Answer> {
    return this.send('POST', `/api/threads/${threadId}/subscribe`)
  }

  unsubscribe(threadId: string): Promise<Answer> {
    return this.del(`/api/threads/${threadId}/subscribe`)
  }
}

export class Forum {
  url = ''
  document: Document | null = null
  readonly data: string
  readonly flags: string[]
  options: ProgramOptions
  /** Environment variables of the server. */
  readonly environment: Record<string, string> = {}
  readonly agent = new Agent()
  #program: Program | null = null

  constructor(data: string, flags: readonly string[], options: ProgramOptions = {}) {
    this.data = data
    this.flags = [...flags]
    this.options = options
  }

  /** A caller without a token. */
  get anonymous(): Client {
    return new Client(this)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  get pid(): number {
    return this.#program!.child.pid!
  }

  get log(): string {
    return this.#program === null ? '' : this.#program.stdout + this.#program.stderr
  }

  /** Resolves to the server's log line with this message, once it has been written. */
  logged(message: string): Promise<LogLine> {
    return this.#program!.logged(message)
  }

  /** Starts the server. After a stop, the server starts again on the same data. */
  async start(): Promise<void> {
    this.document = null
    const args = ['serve', '--port', '0', '--data', this.data, ...this.flags]
    this.#program = new Program(args, this.environment, this.options)
    this.url = (await this.#program.logged('started')).url!
    const { readers } = this.#program
    const serveAll = ({ serving }: LogLine) => serving === readers
    if (readers > 0) await this.#program.logged('readers_serving', serveAll)
    const { text } = await this.anonymous.get('/openapi.json')
    this.document = new Document(JSON.parse(text) as OpenApi)
  }

  /** Stops the server, and returns null if it was not running. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Run | null> {
    const ended = await (this.#program?.stop(signal) ?? null)
    this.#program = null
    return ended
  }

  /** Creates an identity and returns its client. */
  async identity(fields: Record<string, unknown> = {}): Promise<Client> {
    const { status, body, text } = await this.anonymous.post('/api/identities', fields)
    assert.equal(status, 201, text)
    return new Client(this, body.token, body.id)
  }
}

/** Starts a forum on a new directory. It is stopped after the test, and must stop cleanly. */
export async function startForum(t: Test, flags: readonly string[] = []): Promise<Forum> {
  const forum = new Forum(dataDirectory(t), flags)
  t.teardown(async () => {
    const { log } = forum
    const ended = await forum.stop()
    await forum.agent.destroy()
    // tap accepts no assertions during teardown, so a failure is thrown instead.
    if (ended !== null) assert.deepEqual([ended.code, ended.signal], [0, null], log)
    if (!t.passing()) t.comment(log)
  })
  await forum.start()
  return forum
}

/** Starts a forum on an existing directory. It is killed when the test ends. */
export async function startForumOn(
  t: Test,
  data: string,
  flags: readonly string[],
): Promise<Forum> {
  const forum = new Forum(data, flags)
  t.teardown(async () => {
    await forum.stop('SIGKILL')
    await forum.agent.destroy()
  })
  await forum.start()
  return forum
}

/** Publishes a thread and returns its id. Throws if the thread is refused. */
export async function publishedThread(author: Client, fields = {}): Promise<string> {
  const { status, body, text } = await author.thread(fields)
  assert.equal(status, 201, text)
  return body.thread_id
}
