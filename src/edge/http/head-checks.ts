// The checks of a request's head, in their documented order: cross-site → length of the URL → token
// → id in the path → query → content type. handle.ts makes those before and after.

import type { Session } from '../../forum/sessions/commands.ts'
import { nobody } from '../../kernel/network.ts'
import type { ErrorCode, Rejection } from '../../kernel/rejection.ts'
import type { Service } from '../api/route.ts'
import type { Violation } from '../api/validator.ts'
import { Callers } from './callers.ts'
import type { AnyCall } from './checked-request.ts'
import { clientAddress, type TrustProxy } from './client-address.ts'
import type { Cors } from './cors.ts'
import { crossForm, crossSite, hostOrigin, ownOrigins } from './cross-site.ts'
import type { Exchange } from './exchange.ts'
import {
  hasAny,
  malformed,
  type Parameter,
  parseQuery,
  prefersMinimal,
  unknownOrRepeated,
} from './parse.ts'
import { isUrlTooLong, isWrite, type Prepared, preferOf, rejectType } from './prepared-route.ts'

/** What the checks need to know of the node. */
interface CheckOptions {
  trustProxy: TrustProxy | null
  cors: Cors | null
  showsHost: boolean
}

export class HeadChecks {
  readonly #options: CheckOptions
  readonly #service: Service
  readonly #ownOrigins: ReadonlySet<string>
  readonly #callers = new Callers()

  constructor(service: Service, options: CheckOptions) {
    this.#service = service
    this.#options = options
    this.#ownOrigins = ownOrigins(service.publicUrl)
  }

  /** Returns why a page's form must be refused, or null. */
  refuseForm(exchange: Exchange): ErrorCode | null {
    return crossForm(exchange, this.#ownOrigins, this.#options.showsHost)
  }

  /**
   * Returns the call that the route is to run, or why it is refused; null if only the process that
   * this one follows can make all of the checks. `isPassedOn`: that process runs the route.
   */
  callOf(
    exchange: Exchange,
    prepared: Prepared,
    id: string,
    { session, isPassedOn }: { session: Session | null; isPassedOn: boolean },
  ): AnyCall | Rejection | null {
    const { route, idPattern, idRule: detail } = prepared
    const { trustProxy, cors, showsHost } = this.#options
    const service = this.#service
    if (isWrite(route) && !route.isForm) {
      const code = crossSite(exchange, this.#ownOrigins, cors)
      if (code !== null) return { rejected: code }
    }
    if (isUrlTooLong(route, exchange, service)) return { rejected: 'url_too_long' }
    const addressOf = () => clientAddress(exchange, trustProxy)
    const caller = route.isBatch
      ? nobody // each of its requests has one
      : (session?.identity ?? this.#callers.find(service.forum, exchange, route, addressOf))
    if (typeof caller === 'string') return { rejected: caller }
    if (caller === null) return null
    if (typeof caller === 'object') return { position: 0, ...caller }
    if (idPattern !== null && !idPattern.test(id)) return { rejected: 'invalid_id', detail }

    const { query, refusal } = readQuery(prepared, exchange.query)
    if (refusal !== null) return { rejected: refusal.code, detail: refusal.detail }
    const unread = rejectType(exchange, route)
    if (unread !== null) return unread
    const named = route.namesOrigin && showsHost ? hostOrigin(exchange) : null
    const isNeeded = isPassedOn || route.needsClient?.(service, caller, query)
    return {
      caller,
      token: session?.token ?? this.#callers.tokenNumber,
      session,
      id,
      query,
      body: null,
      client: isNeeded ? addressOf() : '',
      key: route.idempotent ? exchange.header('idempotency-key') : '',
      origin: route.namesOrigin ? (named ?? service.publicUrl) : '',
      ifNoneMatch: route.hasEtag ? exchange.header('if-none-match') : '',
      isMinimal: prepared.hasFollowUp && prefersMinimal(preferOf(exchange)),
      connection: exchange,
      found: undefined,
      bodyBytes: 0,
    }
  }
}

/** How much of an unknown parameter's name a refusal repeats. */
const nameMax = 40

interface Read {
  /** With defaults filled in. */
  query: object
  /** Why the query is refused; null: it is not. */
  refusal: (Partial<Violation> & Pick<Violation, 'code'>) | null
}

function readQuery(prepared: Prepared, text: string): Read {
  const { route, isStrict, parameters, blankQuery, checkQuery } = prepared
  const { misplaced, exclusive } = route
  const refuse = (refusal: Read['refusal']) => ({ query: blankQuery, refusal })
  if (misplaced !== undefined && hasAny(text, misplaced.parameters)) {
    return refuse({ code: 'invalid_query', detail: misplaced.detail })
  }
  if (isStrict) {
    // What is published cannot be withdrawn, so a query that may be a mistake is refused.
    const detail = mistakeIn(text, parameters)
    if (detail !== null) return refuse({ code: 'invalid_query', detail })
  }
  const query = route.query === undefined ? blankQuery : parseQuery(text, parameters, blankQuery)
  if (
    exclusive !== undefined &&
    query[exclusive.parameter] !== undefined &&
    exclusive.others.some((name) => query[name] !== undefined) // defaults are not filled in yet
  ) {
    const others = exclusive.others.join(' or ')
    const detail = `${exclusive.parameter} cannot be given together with ${others}.`
    return refuse({ code: exclusive.code ?? 'invalid_query', detail })
  }
  return { query, refusal: checkQuery(query) }
}

/** Returns the sentence about a parameter that is badly encoded, unknown or repeated, or null. */
function mistakeIn(text: string, parameters: readonly Parameter[]): string | null {
  const shown = (name: string) => JSON.stringify(name.slice(0, nameMax))
  const bad = malformed(text)
  if (bad !== null) {
    return `${shown(bad)} must be UTF-8 in percent-encoding: %25 for a percent sign.`
  }
  const name = unknownOrRepeated(text, parameters)
  if (name === null) return null
  const known = parameters.map((parameter) => parameter.name)
  if (known.includes(name)) return `${name} must be given only once.`
  return `${shown(name)} must be one of the parameters ${known.join(', ')}.`
}
