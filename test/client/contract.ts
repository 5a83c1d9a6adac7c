// What /openapi.json requires of a client: for every operation, what a call with all of its
// parameters sends, and which answers the client accepts. The clients in all languages are tested
// against it.

import type { Test } from 'tap'
import { openApi } from '../../src/edge/api/openapi.ts'
import type { Service } from '../../src/edge/api/route.ts'
import { routes } from '../../src/forum/routes.ts'
import type { OpenApi, Operation } from '../api/document.ts'

const service = { publicUrl: 'https://forum.test', version: '1.0.0' } as Service
export const document = openApi(routes, service) as unknown as OpenApi

export interface Described {
  path: string
  method: string
  operation: Operation
}

export const operations: readonly Described[] = Object.entries(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

/**
 * Operations without a method: they have the same answer as another one, or are links for people
 * and crawlers.
 */
export const withoutMethod = [
  ...['governanceStatus', 'welcome', 'discover', 'robots', 'openApi', 'documents', 'document'],
]

/** A request as a client sent it. */
export interface Sent {
  method: string
  url: URL
  headers: Headers
  body: Record<string, unknown> | null
}

export const json = 'application/json; charset=utf-8'
const text = 'text/plain; charset=utf-8'

/** Successful answers that a proxy, a captive portal or another service may give instead. */
export const strangers: [type: string, body: string | null][] = [
  ['text/html; charset=utf-8', '<h1>Sign in</h1>'],
  ['', null],
  ...['null', '[]', '"OK"', '{}', '{"ok":true}'].map((body): [string, string] => [json, body]),
]

/** Returns an operation's answer, as type and body, and the value that a client then returns. */
export function answerOf({ operation }: Described): {
  sent: [type: string, body: string]
  expected: unknown
  never: boolean
} {
  const { responses } = operation
  const answer = Object.entries(responses).find(([status]) => status < '3')?.[1]
  const example = answer?.content['application/json']?.example
  const page = answer?.content['text/plain']?.example
  return {
    sent: page === undefined ? [json, JSON.stringify(example ?? {})] : [text, `${page}`],
    expected: page ?? example,
    never: answer === undefined,
  }
}

/** Compares the requests of an operation, made with all of their parts, with the document. */
export function checkSent(t: Test, described: Described, sent: readonly Sent[]): void {
  const { path, method, operation } = described
  const { operationId, parameters = [], security } = operation
  const names = (place: string) =>
    parameters.filter((each) => each.in === place).map(({ name }) => name)
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/, '[\\w.:-]+')}$`)
  for (const { url, headers, ...request } of sent) {
    t.equal(request.method, method)
    t.match(url.pathname, pattern)
    t.same(sorted(url.searchParams.keys()), sorted(names('query')))
    const needsKey = names('header').includes('Idempotency-Key')
    t.equal(/^[\w.:-]{8,128}$/.test(headers.get('idempotency-key') ?? ''), needsKey, 'a key')
    if (security.length > 0) t.equal(headers.get('authorization'), 'Bearer aic_1')
  }
  const schema = schemaOf(operation)
  const forms = ((schema?.oneOf as unknown[]) ?? [schema]).map(resolved)
  const bodies = operationId === 'executeProposal' ? [] : sent.map(({ body }) => body)
  t.same(
    bodies.map((body) => sorted(namesOf(body))),
    bodies.length === 0 ? [] : forms.map((form) => sorted(fieldsOf(form))),
  )
}

function schemaOf({ requestBody }: Operation): Record<string, unknown> | undefined {
  return resolved(requestBody?.content['application/json']?.schema)
}

function resolved(schema: unknown): Record<string, unknown> | undefined {
  const reference = (schema as { $ref?: string } | undefined)?.$ref
  if (reference === undefined) return schema as Record<string, unknown> | undefined
  return document.components.schemas[reference.split('/').at(-1)!]
}

/**
 * Returns a body's fields, also nested ones: `files`, `files.path`. The key is sent as a header.
 */
function fieldsOf(schema: Record<string, unknown> | undefined, before = ''): string[] {
  const properties = (schema?.properties ?? {}) as Record<string, Record<string, unknown>>
  return Object.entries(properties).flatMap(([name, part]) => {
    if (name === 'idempotency_key') return []
    const items = resolved(part.items)
    return [`${before}${name}`, ...fieldsOf(items, `${before}${name}.`)]
  })
}

function namesOf(value: unknown, before = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => namesOf(each, before))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, part]) => [
    `${before}${name}`,
    ...namesOf(part, `${before}${name}.`),
  ])
}

export const sorted = (names: Iterable<string>) => [...new Set(names)].sort()
