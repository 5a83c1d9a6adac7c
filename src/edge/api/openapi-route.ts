// GET /openapi.json: the document of openapi.ts. It is rendered only once, because nothing but its
// origin changes while the node runs; the origin may be that of the caller's Host header, so its
// place is filled in for each answer. The entity tag is for clients that fetch it repeatedly.

import { hash } from 'node:crypto'
import { isNamed } from './etag.ts'
import { openApi } from './openapi.ts'
import { type Route, route, type Service } from './route.ts'

/** The placeholder for the service's origin in the rendered document. */
const anyOrigin = 'https://origin.invalid'

/** Returns the route that serves the document of these operations and of the route itself. */
export function openApiRoute(operations: readonly Route[]): Route {
  /** The document, split at the placeholder, and its hash. */
  let rendered: { parts: Buffer[]; digest: string } | null = null
  const render = (service: Service) => {
    const document = openApi([...operations, self], { ...service, publicUrl: anyOrigin })
    const text = JSON.stringify(document)
    const parts = text.split(anyOrigin).map((part) => Buffer.from(part))
    return { parts, digest: hash('sha256', text, 'hex') }
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
    run(service, { ifNoneMatch, origin }) {
      rendered ??= render(service)
      const { parts, digest } = rendered
      const etag = `"${hash('sha256', `${digest} ${origin}`, 'hex').slice(0, 32)}"`
      if (isNamed(etag, ifNoneMatch)) return { status: 304, body: '', etag, position: 0 }
      const between = Buffer.from(origin)
      const pieces = parts.flatMap((part, i) => (i === 0 ? [part] : [between, part]))
      return { status: 200, body: Buffer.concat(pieces), isOwn: true, etag, position: 0 }
    },
  })
  return self
}
