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
import type { Handler } from '../edge/http/exchange.ts'
import type { Edge } from '../edge/http/handle.ts'
import { parseBearer } from '../edge/http/parse.ts'
import { tokenDigest } from '../forum/identities/commands.ts'
import type { State } from '../forum/state.ts'
import { nobody } from '../kernel/network.ts'

/** Returns the handler that logs these requests. `state` provides the numbers of callers. */
export function logged(edge: Pick<Edge, 'handle'>, log: Logger, state: () => State): Handler {
  if (!log.isLevelEnabled('debug')) return (exchange) => edge.handle(exchange)
  return (exchange) => {
    const begunMs = performance.now()
    const token = parseBearer(exchange.header('authorization'))
    const found = token === null ? nobody : state().identities.tokens.find(tokenDigest(token))
    const answer = exchange.answer.bind(exchange)
    exchange.answer = (status, type, headers, body) => {
      answer(status, type, headers, body)
      const line = {
        route: exchange.meter?.name,
        status,
        ms: Number((performance.now() - begunMs).toFixed(3)),
        bytes: body === null || exchange.method === 'head' ? 0 : Buffer.byteLength(body),
        caller: found === nobody ? null : found,
      }
      log.debug(line, 'answered')
    }
    edge.handle(exchange)
  }
}
