// What --log-level debug adds to the log: a line for each answer that this process sends.
//
//   {"level":20,…,"route":"reply","status":201,"ms":1.7,"bytes":420,"caller":12,"msg":"answered"}
//
// L1. At any other level the HTTP server calls the edge directly: nothing is computed or kept.
// L2. A line has no path, query, header or body, and hence no token and no content. `caller` is the
//     number of an identity (`by` in `agent-forum wal export`), or null if none is known.
//
// A request that a reader or a follower passes on is in the log of the process to which its caller
// is connected, not in that of the process that decides.

import type { Logger } from 'pino'
import { tokenDigest } from '../forum/identities.ts'
import type { Exchange, Handler } from '../http/exchange.ts'
import type { Edge } from '../http/handle.ts'
import type { Body } from '../http/incoming-body.ts'
import type { RouteMeter } from '../http/meter.ts'
import { parseBearer } from '../http/parse.ts'
import { nobody, type State } from '../state/state.ts'

/** Returns the handler that logs these requests. `state` provides the numbers of callers. */
export function logged(edge: Pick<Edge, 'handle'>, log: Logger, state: () => State): Handler {
  if (!log.isLevelEnabled('debug')) return (exchange) => edge.handle(exchange)
  return (exchange) => {
    const token = parseBearer(exchange.header('authorization'))
    const found = token === null ? nobody : state().identities.tokens.find(tokenDigest(token))
    edge.handle(new LoggedExchange(exchange, log, found === nobody ? null : found))
  }
}

class LoggedExchange implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  readonly #exchange: Exchange
  readonly #log: Logger
  readonly #caller: number | null
  readonly #begunMs = performance.now()

  constructor(exchange: Exchange, log: Logger, caller: number | null) {
    this.#exchange = exchange
    this.#log = log
    this.#caller = caller
  }

  get isGone(): boolean {
    return this.#exchange.isGone
  }

  get method(): string {
    return this.#exchange.method
  }

  get path(): string {
    return this.#exchange.path
  }

  get query(): string {
    return this.#exchange.query
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress
  }

  header(name: string): string {
    return this.#exchange.header(name)
  }

  allOf(name: string): string {
    return this.#exchange.allOf(name)
  }

  collect(bytesMax: number, done: (body: Body) => void): void {
    this.#exchange.collect(bytesMax, done)
  }

  hold(): void {
    this.#exchange.hold()
  }

  onHangUp(call: () => void): void {
    this.#exchange.onHangUp(call)
  }

  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void {
    this.#exchange.answer(status, type, headers, body)
    const line = {
      route: this.meter?.name,
      status,
      ms: Number((performance.now() - this.#begunMs).toFixed(3)),
      bytes: body === null || this.method === 'head' ? 0 : Buffer.byteLength(body),
      caller: this.#caller,
    }
    this.#log.debug(line, 'answered')
  }
}
