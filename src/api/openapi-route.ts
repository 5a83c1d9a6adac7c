// GET /openapi.json: the document of openapi.ts. It is rendered once, because it does not change
// while the node runs, and has an entity tag, because clients fetch it again and again.

import { hash } from 'node:crypto'
import { openApi } from './openapi.ts'
import { type AnyRoute, type Route, route, type Service } from './route.ts'

/** The route that serves the document of these operations and of itself. */
export function openApiRoute(operations: readonly AnyRoute[]): Route {
  let rendered: { body: string; etag: string } | null = null
  const render = (service: Service): { body: string; etag: string } => {
    const body = JSON.stringify(openApi([...operations, self], service))
    return { body, etag: `"${hash('sha256', body, 'hex').slice(0, 32)}"` }
  }
  const self: Route = route({
    name: 'openApi',
    summary: 'This document: every operation, field and error, as OpenAPI 3.1.',
    method: 'get',
    path: '/openapi.json',
    auth: 'none',
    hasEtag: true,
    answers: { 200: { title: 'OpenApi', type: 'object', examples: [{ openapi: '3.1.0' }] } },
    errors: [],
    run(service, { ifNoneMatch }) {
      rendered ??= render(service)
      const { body, etag } = rendered
      return { status: isNamed(etag, ifNoneMatch) ? 304 : 200, body, etag, position: 0 }
    },
  })
  return self
}

/** Whether If-None-Match names the tag: any, or a list of tags, which may be marked as weak. */
function isNamed(etag: string, ifNoneMatch: string): boolean {
  if (ifNoneMatch === '') return false
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(etag)
}
