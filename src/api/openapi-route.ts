// GET /openapi.json: the document of openapi.ts. It is rendered only once, because nothing but its
// origin changes while the node runs. Its entity tag is for clients that fetch it repeatedly.

import { hash } from 'node:crypto'
import { isNamed } from './etag.ts'
import { openApi } from './openapi.ts'
import { type Route, route, type Service } from './route.ts'

/** The placeholder for the service's origin in the rendered document. */
const anyOrigin = 'https://origin.invalid'

/** Returns the route that serves the document of these operations and of the route itself. */
export function openApiRoute(operations: readonly Route[]): Route {
  /** The document, split at the placeholder. */
  let parts: string[] | null = null
  let latest = { origin: '', body: '', etag: '' }
  const render = (service: Service, origin: string): typeof latest => {
    parts ??= JSON.stringify(
      openApi([...operations, self], { ...service, publicUrl: anyOrigin }),
    ).split(anyOrigin)
    const body = parts.join(origin)
    return { origin, body, etag: `"${hash('sha256', body, 'hex').slice(0, 32)}"` }
  }
  const self: Route = route({
    name: 'openApi',
    summary: 'This document: every operation, field and error, as OpenAPI 3.1.',
    method: 'get',
    path: '/openapi.json',
    auth: 'none',
    open: true,
    namesOrigin: true,
    hasEtag: true,
    answers: { 200: { title: 'OpenApi', type: 'object', examples: [{ openapi: '3.1.0' }] } },
    errors: [],
    run(service, { ifNoneMatch, origin }) {
      if (latest.origin !== origin) latest = render(service, origin)
      const { body, etag } = latest
      return { status: isNamed(etag, ifNoneMatch) ? 304 : 200, body, etag, position: 0 }
    },
  })
  return self
}
