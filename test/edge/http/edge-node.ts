// An in-memory edge, whose requests, log and ticks a test controls.

import type { Availability } from '../../../src/edge/http/edge-options.ts'
import { Gate } from '../../../src/edge/http/gate.ts'
import { Edge } from '../../../src/edge/http/handle.ts'
import type { Ticks } from '../../../src/edge/http/heavy-work.ts'
import { errorPage } from '../../../src/forum/error-page.ts'
import { type Forum, type ForumParts, makeForum } from '../../../src/forum/forum.ts'
import { withPages } from '../../../src/forum/pages.ts'
import { routes } from '../../../src/forum/routes.ts'
import type { Health } from '../../../wal/journal/journal.ts'
import type { ColdText } from '../../forum/cold-text.ts'
import { newWorld, serviceOf, type World } from '../../forum/doubles.ts'
import { FakeExchange } from './fake-exchange.ts'
import { ticksThat } from './ticks.ts'

/** A log that becomes durable when the test says so. */
class Journal {
  position = 0
  durable = 0
  health: Health = 'ok'
  /** The position of the log at each flush. */
  readonly flushed: number[] = []

  append(): number {
    this.position += 1
    return this.position
  }

  flush(): void {
    this.flushed.push(this.position)
  }

  separate(): boolean {
    return true
  }
}

let keys = 0

/** An edge with a forum whose log becomes durable when the test says so. */
export class Node {
  readonly #world: World
  readonly clock: World['clock']
  readonly journal = new Journal()
  readonly gate = new Gate()
  readonly forum: Forum
  readonly availability: Availability = { refusal: null }
  readonly edge: Edge
  /** While this is a list, ticks do not end. Otherwise every request is a tick of its own. */
  #ends: (() => void)[] | null = null
  token = ''

  /**
   * With `textDisk`, the forum's text can be moved there. `ticks` replaces those that the test
   * controls.
   */
  constructor(more: Partial<ForumParts> = {}, textDisk?: ColdText, ticks?: Ticks) {
    this.edge = new Edge(withPages(routes), this.availability, {
      ticks: ticks ?? ticksThat((end) => this.#atTickEnd(end)),
      errorPage,
    })
    this.#world = newWorld({}, textDisk)
    this.clock = this.#world.clock
    this.forum = makeForum({ ...this.#world.forum, journal: this.journal, ...more })
    this.edge.open(serviceOf(this.forum), this.gate)
    if (ticks !== undefined) return
    this.register()
  }

  /** Registers a guest, whose token later requests send. */
  register(): void {
    const created = this.post('/api/identities', { kind: 'guest' })
    this.sync()
    this.token = JSON.parse(created.answers[0]!.text!).token
  }

  get(path: string, query = ''): FakeExchange {
    const exchange = new FakeExchange('get', path, this.#headers(), query)
    this.edge.handle(exchange)
    return exchange
  }

  /** Sends a request without a body. */
  send(method: string, path: string): FakeExchange {
    const exchange = new FakeExchange(method, path, this.#headers())
    this.edge.handle(exchange)
    return exchange
  }

  begin(path: string, key = `key-${keys++}-key`): FakeExchange {
    const headers = { ...this.#headers(), 'idempotency-key': key }
    const exchange = new FakeExchange('post', path, headers)
    this.edge.handle(exchange)
    return exchange
  }

  post(path: string, body: object, key?: string): FakeExchange {
    const exchange = this.begin(path, key)
    exchange.end(body)
    return exchange
  }

  /** Publishes a thread, makes it durable, and returns its path. */
  thread(): string {
    const { answers } = this.post('/api/threads', { title: 't', content: 'first' })
    if (answers.length === 0) this.sync()
    return JSON.parse(answers[0].text!).read_url
  }

  /** Runs `does` within a single tick. */
  inOneTick<T>(does: () => T): T {
    this.#ends = []
    const done = does()
    const ends = this.#ends
    this.#ends = null
    for (const end of ends) end()
    return done
  }

  #atTickEnd(end: () => void): void {
    if (this.#ends === null) end()
    else this.#ends.push(end)
  }

  sync(): void {
    this.journal.durable = this.journal.position
    this.gate.open(this.journal.durable)
    this.forum.waiting.onDurable(this.journal.durable)
  }

  #headers(): Record<string, string> {
    const authorization = this.token === '' ? '' : `Bearer ${this.token}`
    return { authorization, 'content-type': 'application/json' }
  }
}
