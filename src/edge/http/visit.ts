// A person's visit: a request for a page, or one that submits a page's form.

import type { Session } from '../../forum/sessions/commands.ts'
import type { ErrorPage } from '../api/errors.ts'
import type { Service } from '../api/route.ts'
import { sessionIn } from '../api/session-cookie.ts'
import type { Exchange } from './exchange.ts'
import { originForm, prefersHtml } from './parse.ts'

/** The session of a page's visitor, as `findSession` returns it (forum/sessions/commands.ts). */
export type Visitor = Session | 'absent' | null

/** What an error page shows about its request. */
export interface Visit {
  path: string
  /** Whether the request submits a form. */
  isForm: boolean
  /** The session of a person who is signed in, otherwise null. */
  session: Session | null
}

/** Returns the function that renders a visit's errors. `service` is null until the node serves. */
export type ErrorPageOf = (service: Service | null, visit: Visit) => ErrorPage

/**
 * Has errors shown as pages if the request comes from a browser and is not for the interface.
 * Returns who visits; nothing else in the edge reads the cookie.
 */
export function beginVisit(
  exchange: Exchange,
  service: Service | null,
  errorPageOf: ErrorPageOf,
): Visitor {
  const path = originForm(exchange.path)
  if (path.startsWith('/api/')) return null
  const found = service === null ? null : sessionIn(service, exchange.header('cookie'))
  if (prefersHtml(exchange.header('accept'))) {
    const { query } = exchange
    const whole = query === '' ? path : `${path}?${query}`
    const isForm = exchange.method === 'post'
    const session = found === 'absent' ? null : found
    exchange.errorPage = errorPageOf(service, { path: whole, isForm, session })
  }
  return found
}
