// Goal:   requests have the same effect in batches as alone: each gets the same status, body and
//         Retry-After, and all of them leave the same state.
// Method: generated requests to every route (test/fuzz/requests.ts), most of them good or nearly
//         good, are sent one by one to a node, and in batches of random sizes to another node, to a
//         reader and to a follower of others. All nodes make the same ids, at the same times.
//         Guests expire meanwhile, operators block and lock, and limits on writes are reached.
// Leaves out: challenges of webhooks, which later requests of a batch do not wait for; requests
//         that no batch may have (test/api/batch.test.ts); when identities were last seen, which a
//         node knows of the requests that have reached it (test/api/last-seen.test.ts).

import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { isBatchable } from '../../../src/edge/api/batch.ts'
import {
  type ModerationCommand,
  moderationCommands,
} from '../../../src/forum/moderation/commands.ts'
import { State } from '../../../src/forum/state.ts'
import { KeptLog, Pair, Side } from '../../cluster/replication/follower-pair.ts'
import { sizeOf, timeoutMs } from '../../depth.ts'
import { dayMs, goOn } from '../../forum/doubles.ts'
import { hashesOf } from '../../forum/state-hash.ts'
import { type Input, inputsOf } from '../../fuzz/requests.ts'
import { FakeExchange } from './fake-exchange.ts'

t.setTimeout(timeoutMs)

const rounds = sizeOf('BATCH_ROUNDS')
const inputsOfRound = 300
const largest = 60
const few = { messages: { all: 6 }, mentions: { identity: 3 }, governance: { all: 4 } }
const limits = { ...few, identities: { address: 6 } }

/** One request, as a batch has it; its body is JSON that is inserted as it is. */
interface Listed {
  method: string
  path: string
  token?: string
  key?: string
  body?: string
}

interface Answered {
  status: number
  body: unknown
  retry_after?: number
}

/** Most acts are reversed soon: a blocked caller gets 403 and nothing else. */
const moderation = fc.constantFrom<ModerationCommand>(
  ...(['lock-thread', 'unlock-thread', 'block-identity'] as const),
  ...(['unblock-identity', 'unblock-identity', 'unblock-identity'] as const),
)

const event = fc.record({
  size: fc.oneof(
    fc.constant(1),
    fc.integer({ min: 2, max: 8 }),
    fc.integer({ min: 9, max: largest }),
  ),
  hours: fc.oneof({ weight: 40, arbitrary: fc.constant(0) }, fc.constantFrom(1, 30)),
  token: fc.option(fc.nat(3)),
  isMinimal: fc.boolean(),
  command: fc.option(fc.tuple(moderation, fc.nat(3)), { freq: 3 }),
})

/** Returns the request, if a batch may have it. */
function listedOf(input: Input): Listed[] {
  if (input.kind === 'bytes') return []
  const { method, path, headers, body } = input
  if (!['GET', 'POST', 'PUT', 'DELETE'].includes(method) || !isBatchable(path)) return []
  // The status shows the durable position, which grows more often when requests come alone.
  if (/\/verify|^\/api\/status/.test(path)) return []
  const listed: Listed = { method, path: path.replaceAll(/\bwait=/g, 'was=') }
  for (const [name, value] of headers) {
    if (name === 'Idempotency-Key') listed.key = value
    if (name === 'Authorization' && value.startsWith('Bearer ')) listed.token = value.slice(7)
  }
  return [isObject(body) ? { ...listed, body } : listed]
}

function withoutLastSeen(name: string, value: unknown): unknown {
  return name === 'last_seen_at' ? null : value
}

function isObject(text: string): boolean {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function newState(): State {
  return new State({ retentionMs: dayMs, seed: 7, limits })
}

/** Where batches are sent. */
interface Target {
  side: Side
  /** The node that decides. */
  decides: Side
  /** Makes everything durable and delivers what is in transit. */
  settle(): void
}

const targets: Record<string, () => Target> = {
  'a node alone'() {
    const log = new KeptLog()
    const side = new Side(log, newState())
    return { side, decides: side, settle: () => settleAlone(side, log) }
  },
  'a reader': () => pairOf('reader'),
  'a follower': () => pairOf('follower'),
}

function pairOf(as: 'reader' | 'follower'): Target {
  const pair = new Pair({ as, state: newState() })
  return { side: pair.follower, decides: pair.leader, settle: () => pair.settle() }
}

function settleAlone({ gate, forum }: Side, log: KeptLog): void {
  log.durable = log.position
  gate.open(log.durable)
  forum.waiting.onDurable(log.durable)
}

/** A node that gets requests one by one, and one that gets them in batches. */
class Twins {
  readonly #log = new KeptLog()
  readonly alone = new Side(this.#log, newState())
  readonly target: Target
  /** The values that replace placeholders in requests. */
  readonly #known: Record<string, string[]> = { hash: ['0'.repeat(64)], cursor: ['dDEuNDI'] }

  constructor(target: Target) {
    this.target = target
    for (const { load, role } of [this.alone, target.side, target.decides]) {
      load.limits.queueBytesMax = Number.POSITIVE_INFINITY
      load.limits.writesMax = Number.POSITIVE_INFINITY
      role.service.webhooks = {
        refuseUrl: (url) => (url.includes('#') ? 'No fragment.' : null),
        challenge: async () => ({ error: null }),
      }
    }
  }

  /** Sends the requests both ways, and returns the statuses. */
  async send(listed: readonly Listed[], token: string, prefer: string): Promise<string[]> {
    const requests = listed.map((request) => this.#filled(request))
    const own = this.#fill(token)
    const expected: Answered[] = []
    for (const request of requests) expected.push(await this.#sendAlone(request, own, prefer))
    const found = await this.#sendTogether(requests, own, prefer)
    for (const [i, { method, path, body }] of requests.entries()) {
      assert.deepEqual(found[i], expected[i], `${i}: ${method} ${path} ${body?.slice(0, 1000)}`)
    }
    assert.equal(found.length, expected.length)
    this.#learn(JSON.stringify(expected))
    return expected.map(({ status }) => `${status}`)
  }

  goOn(ms: number): void {
    const sides = new Set([this.alone, this.target.side, this.target.decides])
    for (const { world } of sides) goOn(world.clock, ms)
  }

  moderate(command: ModerationCommand, n: number): void {
    const id = this.#fill(command.endsWith('thread') ? `«thread:${n}»` : `«identity:${n}»`)
    for (const { forum } of [this.alone, this.target.decides]) {
      moderationCommands[command](forum, { id, reason: 'a test' })
    }
  }

  compareStates(): void {
    const [alone, together] = [this.alone, this.target.decides].map(({ forum }) =>
      hashesOf(forum.state),
    )
    assert.deepEqual(together, alone)
  }

  async #sendAlone(request: Listed, own: string, prefer: string): Promise<Answered> {
    const { method, path, token, key, body } = request
    const [place, query = ''] = path.split(/\?(.*)/s) as [string, string?]
    const headers: Record<string, string> = { prefer }
    const bearer = token ?? own
    if (token !== undefined || own !== '') headers.authorization = `Bearer ${bearer}`
    if (key !== undefined) headers['idempotency-key'] = key
    if (body !== undefined) headers['content-type'] = 'application/json'
    const exchange = new FakeExchange(method.toLowerCase(), place, headers, query)
    this.alone.edge.handle(exchange)
    if (exchange.answers.length === 0) exchange.endWith(Buffer.from(body ?? ''))
    await untilAnswered(exchange, () => settleAlone(this.alone, this.#log))
    const [{ status, headers: lines, text }] = exchange.answers as [FakeExchange['answers'][0]]
    const [, seconds] = /Retry-After: (\d+)/.exec(lines) ?? []
    const answer: Answered = { status, body: JSON.parse(text!, withoutLastSeen) }
    return seconds === undefined ? answer : { ...answer, retry_after: Number(seconds) }
  }

  async #sendTogether(
    requests: readonly Listed[],
    own: string,
    prefer: string,
  ): Promise<Answered[]> {
    const { side, settle } = this.target
    settle() // what operators have done has arrived
    const authorization = own === '' ? '' : `Bearer ${own}`
    const headers = { authorization, prefer, 'content-type': 'application/json' }
    const exchange = new FakeExchange('post', '/api/batch', headers)
    side.edge.handle(exchange)
    exchange.endWith(Buffer.from(listOf(requests)))
    await untilAnswered(exchange, settle)
    const [{ status, text }] = exchange.answers as [FakeExchange['answers'][0]]
    assert.equal(status, 200, text!)
    return JSON.parse(text!, withoutLastSeen).responses
  }

  #filled({ method, ...texts }: Listed): Listed {
    const filled = Object.entries(texts).map(([name, text]) => [name, this.#fill(text)])
    return { method, ...Object.fromEntries(filled) }
  }

  #fill(text: string): string {
    return text.replaceAll(/«(\w+):(\d)»/g, (_, name: string, n: string) => {
      const known = this.#known[name] ?? ['?']
      return known[Number(n) % known.length]!
    })
  }

  /** Notes the values in an answer that later requests may name: the newest four of each kind. */
  #learn(text: string): void {
    const found = /"(token|ticket|thread_id|proposal_id|proposal_hash|id)":"(\w+)"/g
    for (const [, field, value] of text.matchAll(found)) {
      const name = namesOf[field!] ?? (value!.startsWith('agt_') ? 'identity' : 'other')
      const others = (this.#known[name] ?? []).filter((other) => other !== value)
      this.#known[name] = [value!, ...others].slice(0, 4)
    }
  }
}

/** Makes everything durable, again and again, until the request is answered. */
async function untilAnswered({ answers }: FakeExchange, settle: () => void): Promise<void> {
  settle()
  for (let i = 0; answers.length === 0; i++) {
    assert.ok(i < 1000, 'it is answered')
    await turn()
    settle()
  }
}

const namesOf: Record<string, string> = {
  ...{ token: 'token', ticket: 'ticket', thread_id: 'thread' },
  ...{ proposal_id: 'proposal', proposal_hash: 'hash' },
}

/** Returns the JSON of a batch. */
function listOf(requests: readonly Listed[]): string {
  const written = requests.map(({ body, ...rest }) => {
    const text = JSON.stringify(rest)
    return body === undefined ? text : `${text.slice(0, -1)},"body":${body}}`
  })
  return `{"requests":[${written.join(', ')}]}`
}

/** Sends what makes nodes that have identities and a thread. */
async function begin(twins: Twins): Promise<void> {
  const identities = ['persistent', 'guest', 'guest', 'persistent'].map((kind) => {
    return { method: 'POST', path: '/api/identities', body: JSON.stringify({ kind }) }
  })
  await twins.send(identities, '', '')
  const thread = { title: 't', content: 'c' }
  const post = { method: 'POST', path: '/api/threads', body: JSON.stringify(thread) }
  await twins.send([{ ...post, token: '«token:0»', key: 'key-of-begun' }], '', '')
}

for (const [name, target] of Object.entries(targets)) {
  t.test(`any requests: in batches, sent to ${name}: as if each came alone`, async (t) => {
    const answered = new Map<string, number>()
    for (let seed = 1; seed <= rounds; seed++) {
      const twins = new Twins(target())
      await begin(twins)
      const listed = inputsOf(seed, inputsOfRound).flatMap(listedOf)
      const events = fc.sample(event, { seed, numRuns: inputsOfRound })
      for (const { size, hours, token, isMinimal, command } of events) {
        if (listed.length === 0) break
        const requests = listed.splice(0, size)
        if (command !== null) twins.moderate(...command)
        twins.goOn(hours * 3_600_000)
        const own = token === null ? '' : `«token:${token}»`
        try {
          const statuses = await twins.send(requests, own, isMinimal ? 'return=minimal' : '')
          for (const status of statuses) answered.set(status, (answered.get(status) ?? 0) + 1)
        } catch (error) {
          throw new Error(`seed ${seed}, ${listed.length} requests before the end`, {
            cause: error,
          })
        }
      }
      twins.compareStates()
    }
    t.comment(
      [...answered]
        .sort()
        .map(([status, count]) => `${status}: ${count}`)
        .join(', '),
    )
    for (const status of ['200', '201', '400', '401', '403', '404', '409', '415', '429']) {
      t.ok(answered.has(status), `some are answered with ${status}`)
    }
  })
}
