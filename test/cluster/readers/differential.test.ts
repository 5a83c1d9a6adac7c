// Goal:   a caller cannot tell from an answer whether it is connected to a reader, to a reader's
//         main process or to a node without readers: any request gets the same status, headers and
//         body, and all requests together leave the same state.
// Method: generated requests to every route (test/fuzz/requests.ts), most of them good or nearly
//         good, are sent in one order to a node without readers and to one with a reader, whose
//         processes take turns. Both nodes make the same ids, at the same times. A write may reach
//         the reader while it lacks records; before a read the reader has received all. Guests
//         expire meanwhile, and operators block and lock.
// Leaves out: connections, when messages arrive (test/faults/readers.test.ts), and when identities
//         were last seen, which the processes of a node tell each other twice a second
//         (test/api/last-seen.test.ts).

import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { bodyBytesMax } from '../../../src/edge/http/incoming-body.ts'
import {
  type ModerationCommand,
  moderationCommands,
} from '../../../src/forum/moderation/commands.ts'
import { State } from '../../../src/forum/state.ts'
import { sizeOf, timeoutMs } from '../../depth.ts'
import { FakeExchange } from '../../edge/http/fake-exchange.ts'
import { dayMs, goOn } from '../../forum/doubles.ts'
import { hashesOf } from '../../forum/state-hash.ts'
import { type FuzzRequest, inputsOf } from '../../fuzz/requests.ts'
import { KeptLog, Pair, Side } from '../replication/follower-pair.ts'

t.setTimeout(timeoutMs)

const rounds = sizeOf('READER_ROUNDS')
const inputsOfRound = 300
/** The parts of the state that the main process has and a reader lacks. */
const leftOut = /^(facts of )?(receipts|tickets|quotas|invitations)\./
const few = { messages: { all: 2 }, mentions: { identity: 3 }, governance: { all: 4 } }
const limits = { ...few, identities: { address: 8 } }

function newState(): State {
  return new State({ retentionMs: dayMs, seed: 7, limits })
}

const lastSeen = /"last_seen_at":(?:null|\d+)/g

type Process = 'main' | 'reader'

/** Most acts are reversed soon: a blocked caller gets 403 and nothing else. */
const moderation = fc.oneof(
  ...Object.entries({
    ...{ 'lock-thread': 1, 'unlock-thread': 2, 'block-identity': 1, 'unblock-identity': 5 },
  }).map(([command, weight]) => {
    return { weight, arbitrary: fc.constant(command as ModerationCommand) }
  }),
)

/** The events between two requests. */
const event = fc.record({
  process: fc.constantFrom<Process>('main', 'reader', 'reader'),
  /** Whether the reader has received nothing since the previous request. */
  lags: fc.boolean(),
  hours: fc.oneof({ weight: 120, arbitrary: fc.constant(0) }, fc.constantFrom(1, 30)),
  command: fc.option(fc.tuple(moderation, fc.nat(3)), { freq: 4 }),
  /** The process to which the same request is repeated, as when a caller retries. */
  again: fc.option(fc.constantFrom<Process>('main', 'reader'), { freq: 4 }),
  /** The number of spaces after the body. */
  spaces: fc.oneof({ weight: 60, arbitrary: fc.constant(0) }, fc.constant(bodyBytesMax)),
})

/** The two nodes: one alone, and one with a reader. */
class Twins {
  readonly log = new KeptLog()
  readonly alone = new Side(this.log, newState())
  readonly pair = new Pair({ as: 'reader', state: newState() })
  /** The values that replace placeholders in requests. */
  readonly #known: Record<string, string[]> = { hash: ['0'.repeat(64)], cursor: ['dDEuNDI'] }
  readonly #edges = {
    main: this.pair.leader.edge,
    reader: this.pair.follower.edge,
    alone: this.alone.edge,
  }

  constructor() {
    for (const { load } of [this.alone, this.pair.leader, this.pair.follower]) {
      load.limits.queueBytesMax = Number.POSITIVE_INFINITY
    }
    for (const { role } of [this.alone, this.pair.leader]) {
      role.service.webhooks = {
        refuseUrl: (url) => (url.includes('#') ? 'No fragment.' : null),
        challenge: async () => ({ error: null }),
      }
    }
  }

  /** Sends a request to both nodes, and returns the status of the answer. */
  async send(request: FuzzRequest, process: Process, lags: boolean): Promise<string> {
    const isRead = ['GET', 'HEAD'].includes(request.method) && !request.path.includes('compat')
    if (isRead || !lags) this.settle()
    const sent = (['alone', process] as const).map((to) => this.#start(request, to))
    await turn() // a verification sends a request to its endpoint
    this.settle()
    const [expected, found] = sent.map(({ answers }) => {
      return answers.map((each) => ({
        ...each,
        text: each.text?.replaceAll(lastSeen, '"?"') ?? null,
      }))
    })
    const what = `${process}: ${request.method} ${this.#fill(request.path)} ${request.body}`
    assert.deepEqual(found, expected, what.slice(0, 1000))
    assert.equal(expected!.length, 1, `it is answered once: ${what.slice(0, 1000)}`)
    this.#learn(expected![0]!.text)
    return `${expected![0]!.status}`
  }

  moderate(command: ModerationCommand, n: number): void {
    const id = this.#of(command === 'lock-thread' ? 'thread' : 'identity', n)
    const run = moderationCommands[command]
    run(this.alone.forum, { id, reason: 'a test' })
    run(this.pair.leader.forum, { id, reason: 'a test' })
  }

  goOn(ms: number): void {
    for (const { world } of [this.alone, this.pair.leader, this.pair.follower]) {
      goOn(world.clock, ms)
    }
  }

  /** Makes everything durable everywhere, and delivers all messages. */
  settle(): void {
    this.log.durable = this.log.position
    this.alone.gate.open(this.log.durable)
    this.pair.settle()
  }

  compareStates(): void {
    this.settle()
    const [alone, main, reader] = [this.alone, this.pair.leader, this.pair.follower].map(
      ({ forum }) => hashesOf(forum.state),
    )
    assert.deepEqual(main, alone)
    const kept = Object.entries(alone!).filter(([name]) => !leftOut.test(name))
    assert.deepEqual(Object.entries(reader!), kept)
  }

  #start({ method, path, headers, body }: FuzzRequest, to: Process | 'alone'): FakeExchange {
    const [place, query = ''] = this.#fill(path).split(/\?(.*)/s) as [string, string?]
    const named = headers.map(([name, value]) => [name.toLowerCase(), this.#fill(value)])
    const fields = Object.fromEntries(named) as Record<string, string>
    // A poll would wait.
    const asked = query.replaceAll(/\bwait=/g, 'wait=0&was=')
    const exchange = new FakeExchange(method.toLowerCase(), place, fields, asked)
    this.#edges[to].handle(exchange)
    if (exchange.answers.length === 0) exchange.endWith(Buffer.from(this.#fill(body)))
    return exchange
  }

  #fill(text: string): string {
    return text.replaceAll(/«(\w+):(\d)»/g, (_, name: string, n: string) =>
      this.#of(name, Number(n)),
    )
  }

  #of(name: string, n: number): string {
    const known = this.#known[name] ?? ['?']
    return known[n % known.length]!
  }

  /** Notes the values in an answer that later requests may name: the newest four of each kind. */
  #learn(text: string | null): void {
    const found = /"(token|ticket|thread_id|proposal_id|proposal_hash|id)":"(\w+)"/g
    for (const [, field, value] of (text ?? '').matchAll(found)) {
      const name = namesOf[field!] ?? (value!.startsWith('agt_') ? 'identity' : 'other')
      const others = (this.#known[name] ?? []).filter((other) => other !== value)
      this.#known[name] = [value!, ...others].slice(0, 4)
    }
  }
}

const namesOf: Record<string, string> = {
  ...{ token: 'token', ticket: 'ticket', thread_id: 'thread' },
  ...{ proposal_id: 'proposal', proposal_hash: 'hash' },
}

/** Makes a pair of nodes with identities and a thread. */
async function begun(): Promise<Twins> {
  const twins = new Twins()
  const json: [string, string] = ['Content-Type', 'application/json']
  const post = (path: string, body: object, ...more: [string, string][]) => {
    const headers = [json, ...more]
    return { kind: 'request', method: 'POST', path, headers, body: JSON.stringify(body) } as const
  }
  for (const kind of ['persistent', 'guest', 'guest', 'persistent']) {
    await twins.send(post('/api/identities', { kind }), 'reader', false)
  }
  const bearer: [string, string] = ['Authorization', 'Bearer «token:0»']
  const key: [string, string] = ['Idempotency-Key', 'key-of-begun']
  await twins.send(post('/api/threads', { title: 't', content: 'c' }, bearer, key), 'main', false)
  return twins
}

t.test('any requests: a reader, its main process and a node alone: the same answers', async (t) => {
  const answered = new Map<string, number>()
  let checked = 0
  for (let seed = 1; seed <= rounds; seed++) {
    const twins = await begun()
    const inputs = inputsOf(seed, inputsOfRound)
    const events = fc.sample(event, { seed, numRuns: inputsOfRound })
    for (const [i, input] of inputs.entries()) {
      if (input.kind === 'bytes') continue
      const { process, lags, hours, command, again, spaces } = events[i]!
      if (command !== null) twins.moderate(...command)
      twins.goOn(hours * 3_600_000)
      const request = { ...input, body: input.body + ' '.repeat(spaces) }
      try {
        for (const to of again === null ? [process] : [process, again]) {
          const status = await twins.send(request, to, lags)
          answered.set(status, (answered.get(status) ?? 0) + 1)
        }
      } catch (error) {
        throw new Error(`seed ${seed}, input ${i}`, { cause: error })
      }
    }
    twins.compareStates()
    checked += twins.pair.checked
  }
  const statuses = [...answered].sort().map(([status, count]) => `${status}: ${count}`)
  t.comment(`${statuses.join(', ')}; ${checked} checked by readers`)
  for (const status of ['200', '201', '400', '401', '403', '404', '409', '413', '415', '429']) {
    t.ok(answered.has(status), `some are answered with ${status}`)
  }
  t.ok(checked > rounds * 20, 'many are checked by the reader')
})
