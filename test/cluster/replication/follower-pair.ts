// A leader and a follower in memory. The test controls which records the follower has received,
// what is durable, and when the requests and answers between the two arrive.

import { Packr } from 'msgpackr'
import {
  eachOutcome,
  rowOfRequest,
  rowsMessage,
  runEach,
} from '../../../src/cluster/readers/checked-messages.ts'
import { kinds, Splitter } from '../../../src/cluster/readers/messages.ts'
import {
  answerForwarded,
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  type ForwardedAnswer,
  Forwarder,
} from '../../../src/cluster/replication/forwarding.ts'
import { openToAll } from '../../../src/edge/api/access.ts'
import type { Access, Outcome } from '../../../src/edge/api/route.ts'
import type { CheckedRequest, Forward } from '../../../src/edge/http/checked-request.ts'
import type { Gate } from '../../../src/edge/http/gate.ts'
import { Edge } from '../../../src/edge/http/handle.ts'
import { Load } from '../../../src/edge/http/load.ts'
import type { Role } from '../../../src/engine/role/role.ts'
import { errorPage } from '../../../src/forum/error-page.ts'
import { type Forum, makeForum } from '../../../src/forum/forum.ts'
import { withPages } from '../../../src/forum/pages.ts'
import { routesOf } from '../../../src/forum/routes.ts'
import { State } from '../../../src/forum/state.ts'
import { recordHeaderBytes } from '../../../wal/journal/format.ts'
import type { Health } from '../../../wal/journal/journal.ts'
import { FakeExchange } from '../../edge/http/fake-exchange.ts'
import { ticksThat } from '../../edge/http/ticks.ts'
import { newRole } from '../../engine/role/new-role.ts'
import { dayMs, newWorld, type World } from '../../forum/doubles.ts'

const packr = new Packr({ useRecords: false })

/** A log that keeps its records in the encoding of frames. */
export class KeptLog {
  position = 0
  durable = 0
  health: Health = 'ok'
  readonly records: Buffer[] = []

  append(row: unknown): number {
    const packed = packr.pack(row)
    const record = Buffer.alloc(recordHeaderBytes + packed.length)
    record.writeUInt32LE(packed.length)
    packed.copy(record, recordHeaderBytes)
    this.position = this.records.push(record)
    return this.position
  }

  flush(): void {}

  separate(): boolean {
    return true
  }
}

/** One node of the pair: a forum behind an edge. */
export class Side {
  readonly world: World
  readonly forum: Forum
  readonly edge: Edge
  readonly role: Role
  readonly load = new Load({ ...new Load().limits, writesMax: 8, queueBytesMax: 100_000 })

  /** Without `state`, the side begins with an empty one. */
  constructor(journal: Forum['journal'], state?: State, access = openToAll) {
    const offered = routesOf({ compat: true, search: true, ...access })
    this.world = newWorld()
    const { forum } = this.world
    this.forum = makeForum({ ...forum, journal, state: state ?? forum.state })
    const ticks = ticksThat((end) => end())
    const options = { ticks, errorPage }
    this.edge = new Edge(withPages(offered, access), { refusal: null }, options, this.load)
    this.role = newRole(this.forum, { edge: this.edge, load: this.load }, access)
  }

  get gate(): Gate {
    return this.role.gate
  }

  get(path: string, token = '', query = ''): FakeExchange {
    return this.send('get', path, token, query)
  }

  /** Sends a request without a body. */
  send(method: string, path: string, token = '', query = ''): FakeExchange {
    const exchange = new FakeExchange(method, path, headersOf(token), query)
    this.edge.handle(exchange)
    return exchange
  }

  post(path: string, body: object, token = '', key = ''): FakeExchange {
    const headers = { ...headersOf(token), 'idempotency-key': key }
    const exchange = new FakeExchange('post', path, headers)
    this.edge.handle(exchange)
    if (exchange.answers.length === 0) exchange.end(body)
    return exchange
  }
}

export interface PairOptions {
  /** The time that an answer waits for the follower. */
  waitMs?: number
  access?: Access
  /**
   * The kind of follower: a `reader` lacks the state that only commands read, performs the checks
   * of the edge, and has its main process decide.
   */
  as?: 'follower' | 'reader'
  /** The state of the leader; empty by default. */
  state?: State
}

export class Pair {
  readonly log = new KeptLog()
  readonly leader: Side
  readonly follower: Side
  readonly role: Role
  readonly forwarder: Forwarder
  /** Answers that the leader has sent and the follower has not received. */
  readonly answers: (() => void)[] = []
  /** Whether the follower knows a leader, which determines the outcome of requests. */
  link: 'open' | 'lost' = 'open'
  /** The number of requests that were forwarded after they had passed the checks. */
  checked = 0
  #ids = 0

  constructor({ waitMs, access, as = 'follower', state }: PairOptions = {}) {
    this.leader = new Side(this.log, state, access)
    const reads = () => new State({ retentionMs: dayMs, seed: 7, for: 'reads' })
    this.follower = new Side(new KeptLog(), as === 'follower' ? undefined : reads(), access)
    const { role, gate, load } = this.follower
    this.role = role
    this.forwarder = new Forwarder({
      link: {
        request: (request, done) => this.#carry(encodeRequest(this.#ids++, request), done),
        checked: (request, done) => this.#carryChecked(request, done),
      },
      takesChecked: () => as === 'reader',
      gate,
      journal: role,
      load,
      trustProxy: null,
      service: role.service,
      ...(waitMs === undefined ? {} : { waitMs }),
    })
    role.follow({ forward: this.forwarder })
  }

  /** Makes the leader's log durable up to its end. */
  sync(): void {
    this.log.durable = this.log.position
    this.leader.gate.open(this.log.durable)
    this.leader.forum.waiting.onDurable(this.log.durable)
  }

  /** Returns the records after `after`, up to `to`, as in a frame. */
  frame(after: number, to = this.log.position): Buffer {
    return Buffer.concat(this.log.records.slice(after, to))
  }

  /** Delivers all records that the follower lacks. */
  receive(): void {
    const { position } = this.role
    this.role.receive(position + 1, this.log.position - position, this.frame(position))
  }

  /** Delivers everything that is in transit. */
  settle(): void {
    this.sync()
    this.receive()
    this.role.show(this.log.durable)
    for (const arrive of this.answers.splice(0)) arrive()
  }

  #carryChecked(request: CheckedRequest, done: (outcome: Outcome | null) => void): void {
    this.checked += 1
    const sent = rowsMessage(kinds.checked, [rowOfRequest(1, request)])
    const { edge } = this.leader
    runEach(payloadOf(sent), edge.run.bind(edge), (row) => {
      const answered = rowsMessage(kinds.outcomes, [row])
      this.answers.push(() => eachOutcome(payloadOf(answered), (_, outcome) => done(outcome)))
    })
  }

  #carry(bytes: Buffer, done: (answer: ForwardedAnswer | null) => void): void {
    if (this.link === 'lost') return done(null)
    const { id, request } = decodeRequest(bytes)
    const { edge } = this.leader
    const durable = () => this.log.durable
    answerForwarded(
      (exchange) => edge.handle(exchange),
      request,
      durable,
      (answer) => {
        const sent = encodeAnswer(id, answer)
        this.answers.push(() => {
          const received = decodeAnswer(sent)
          done(received.id === id ? received.answer : null)
        })
      },
    )
  }
}

/** A `Forward` that hands every request over whole, as it came. */
export function passingWhole(whole: Forward['whole']): Forward {
  return { whole, checked: () => {}, takesChecked: false }
}

/** Returns the payload of a message, without its head. */
function payloadOf(whole: Buffer): Buffer {
  let found: Buffer | null = null
  const splitter = new Splitter((_, payload) => {
    found = Buffer.from(payload)
  })
  splitter.add(whole)
  return found!
}

function headersOf(token: string): Record<string, string> {
  const authorization = token === '' ? '' : `Bearer ${token}`
  return { authorization, 'content-type': 'application/json' }
}
