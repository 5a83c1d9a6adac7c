// Sends the fuzzer's inputs to a node, and checks what must hold for every input:
//
// F1. A valid request is answered as the OpenAPI document specifies for its operation.
// F2. The only 5xx status is 503, and its body has one of the codes of 503.
// F3. No connection hangs: bytes that are not a request end with a closed connection.
// F4. The node keeps running, answers at once, and its memory stays bounded.
// F5. Pages for people contain no markup that the pages did not write themselves.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type Client, type Forum, newKey } from '../api/harness.ts'
import { sample } from '../api/operators.ts'
import { Wire, type WireAnswer } from '../api/wire.ts'
import { visit } from '../people/browser.ts'
import { type FuzzBytes, type FuzzRequest, type Input, textOf } from './requests.ts'

/** Far more memory than a node needs for everything that the fuzzer publishes. */
const rssBytesMax = 1 << 30
/** A longer head is answered with 431, and the connection is closed. */
const headBytesMax = 16_000
/** Statuses with which the HTTP library may answer bytes that are not a request. */
const wireStatuses = [100, 200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 410, 413, 414, 415]
const alsoAllowed = [417, 429, 431, 503, 505]

/** Returns the flags of a node that is fuzzed: no limit stops the inputs. */
export function fuzzedFlags(http: string, operators: number): string[] {
  const open = ['--webhook-allow-private', '--ticket-limit', '0', '--allowed-hosts', '*']
  return ['--http', http, '--ops-port', `${operators}`, ...open]
}

export class Session {
  readonly #forum: Forum
  readonly #operators: number
  readonly #filled: Record<string, string[]>
  #wire: Wire | null = null
  /** The number of answers, by status. */
  readonly answered = new Map<number, number>()

  constructor(forum: Forum, operators: number, filled: Record<string, string[]>) {
    this.#forum = forum
    this.#operators = operators
    this.#filled = filled
  }

  /** Sends one input. Throws if the node violates one of the rules. */
  async play(input: Input): Promise<void> {
    if (input.kind === 'request') await this.#ask(input)
    else await this.#throwAt(input)
  }

  /** Checks F4 and F5. */
  async lives(): Promise<void> {
    assert.equal((await this.#forum.anonymous.get('/api/status')).status, 200)
    const rss = await sample(this.#operators, 'process_resident_memory_bytes')
    this.#filled.ticket = await freshTickets(this.#forum)
    assert.ok(rss < rssBytesMax, `the node holds ${rss >> 20} MiB`)
    const { thread = [], identity = [], proposal = [] } = this.#filled
    const paths = [
      ...['/', '/?limit=50', '/governance', '/governance?limit=50'],
      ...thread.map((id) => `/t/${id}?limit=100`),
      ...identity.map((id) => `/agents/${id}?limit=50`),
      ...proposal.map((id) => `/governance/${id}?limit=50`),
    ]
    for (const path of paths) {
      const { status } = await visit(this.#forum, path)
      assert.ok([200, 404].includes(status), `F5: ${status} to ${path}`)
    }
  }

  close(): void {
    this.#wire?.socket.destroy()
  }

  async #ask(request: FuzzRequest): Promise<void> {
    const text = textOf(request, (each) => this.#fill(each))
    const isLong = text.indexOf('\r\n\r\n') > headBytesMax
    for (let attempt = 1; ; attempt++) {
      this.#wire ??= await this.#connect()
      await this.#wire.write(Buffer.from(text, 'latin1'))
      try {
        const answer = await this.#wire.answer({ hasBody: request.method !== 'HEAD' })
        if (isLong && answer.status === 431) return
        if (answer.status !== 100) return this.#judge(request, this.#fill(request.path), answer)
        const final = await this.#wire.answer({ hasBody: request.method !== 'HEAD' })
        return this.#judge(request, this.#fill(request.path), final)
      } catch (error) {
        this.#wire.socket.destroy()
        this.#wire = null
        if (error instanceof assert.AssertionError) throw error
        if (isLong) return
        // The server may have closed an idle connection just as the request was sent. This happens
        // at most once.
        assert.ok(attempt < 3, `F1: no answer to ${JSON.stringify(request).slice(0, 2000)}`)
      }
    }
  }

  #judge({ method }: FuzzRequest, path: string, answer: WireAnswer): void {
    const { status, headers, text } = answer
    this.answered.set(status, (this.answered.get(status) ?? 0) + 1)
    const isJson = headers['content-type']?.startsWith('application/json') && text !== ''
    const body = isJson ? JSON.parse(text) : undefined
    this.#forum.document!.check({ method, path, status, headers, body })
    assert.ok(status < 500 || status === 503, `F2: ${status}`)
  }

  async #throwAt({ text }: FuzzBytes): Promise<void> {
    const wire = await this.#connect()
    wire.socket.end(Buffer.from(this.#fill(text), 'latin1'))
    await wire.closed()
    // The wire gives up after a time that no answer should take.
    assert.ok(!wire.hasTimedOut, `F3: the connection hangs after ${JSON.stringify(text)}`)
    for (const [, status] of wire.rest.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      const isAllowed = [...wireStatuses, ...alsoAllowed].includes(Number(status))
      assert.ok(isAllowed, `F2: ${status} to ${JSON.stringify(text)}`)
    }
  }

  async #connect(): Promise<Wire> {
    const socket = connect(this.#forum.port, '127.0.0.1')
    await once(socket, 'connect')
    return new Wire(socket)
  }

  /** Replaces placeholders by ids, tokens and tickets that exist. */
  #fill(text: string): string {
    return text.replaceAll(/«(\w+):(\d)»/g, (_, name: string, n: string) => {
      const known = this.#filled[name] ?? ['?']
      return known[Number(n) % known.length]
    })
  }
}

/** Opens a session with a forum that has at least one of everything. */
export async function openSession(forum: Forum, operators: number): Promise<Session> {
  const callers: Client[] = []
  for (const kind of ['persistent', 'guest', 'guest']) callers.push(await forum.identity({ kind }))
  const [ana, ben] = callers
  const threads = [
    await ana.thread(),
    await ana.thread({ visibility: 'private', participant_ids: [ben.id] }),
    await ben.thread({ visibility: 'private' }),
  ].map(({ body }) => body.thread_id)
  await ben.reply(threads[0])
  const path = '/api/governance/proposals'
  const proposal = { kind: 'policy', title: 'a rule', description: 'what it says' }
  const saved = await ana.post(path, proposal, { 'idempotency-key': newKey() })
  const { proposal_id, proposal_hash } = saved.body as unknown as Record<string, string>
  const cursor = (await ana.get('/api/threads?limit=1')).body.next_cursor!
  return new Session(forum, operators, {
    token: callers.map(({ token }) => token),
    identity: callers.map(({ id }) => id),
    thread: [...threads, `thr_${'0'.repeat(32)}`],
    proposal: [proposal_id, `gov_${'0'.repeat(32)}`],
    hash: [proposal_hash, '0'.repeat(64)],
    ticket: await freshTickets(forum),
    cursor: [cursor],
  })
}

/** Issues new tickets: a ticket lives for two minutes, and its first message uses it up. */
async function freshTickets(forum: Forum): Promise<string[]> {
  const tickets: string[] = []
  for (let i = 0; i < 4; i++) {
    tickets.push((await forum.anonymous.get('/api/compat/ticket')).body.ticket)
  }
  return tickets
}
