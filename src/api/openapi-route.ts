// GET /openapi.json: the document of openapi.ts. It is rendered once, because only the origin in it
// changes while the node runs, and has an entity tag, because clients fetch it again and again.

import { hash } from 'node:crypto'
import { isNamed } from './etag.ts'
import { openApi } from './openapi.ts'
import { type Route, route, type Service } from './route.ts'

/** Stands for the service's origin in the rendered document. */
const anyOrigin = 'https://origin.invalid'

/** The route that serves the document of these operations and of itself. */
export function openApiRoute(operations: readonly Route[]): Route {
  /** The document, split at the origin. */
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
