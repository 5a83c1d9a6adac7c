// Checks every answer against the service's own /openapi.json, so that the document and the answers
// cannot drift apart.
//
// D1. The operation declares the status, and the body satisfies the schema of that status. Object
//     schemas are closed first: a field that the document does not describe is also a failure.
// D2. The operation declares the error code for the status.
// D3. Every answer has the headers of docs/interface.md, "Headers".

import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'

type Json = Record<string, unknown>

export interface Operation {
  operationId: string
  security: unknown[]
  parameters: { name: string; in: string; required: boolean; schema: Json }[]
  requestBody?: { content: Record<string, { schema: Json }> }
  responses: Record<string, { content: Record<string, Content> }>
}

interface Content {
  schema: Json
  // biome-ignore lint/suspicious/noExplicitAny: whatever the schema describes
  example?: any
  examples?: Json
}

export interface OpenApi {
  openapi: string
  info: { version: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: { schemas: Record<string, Json> }
}

/** An answer as it was received, before any checks. */
export interface Received {
  method: string
  path: string
  status: number
  headers: Record<string, string>
  body: unknown
}

const standardHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

export class Document {
  readonly openApi: OpenApi
  readonly #ajv: Ajv2020
  readonly #patterns: { pattern: RegExp; path: string }[]

  constructor(openApi: OpenApi) {
    this.openApi = openApi
    this.#ajv = ajvOf(openApi.components)
    this.#patterns = Object.keys(openApi.paths).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replace(/\{\w+\}/, '[^/]+')}$`),
    }))
  }

  /** Throws an AssertionError that names the rule that the answer violates. */
  check(received: Received): void {
    const { method, path, status, headers, body } = received
    const what = `${method} ${path}: ${status} ${JSON.stringify(body)?.slice(0, 300)}`
    const isGuide = status === 200 && /^\/(?:\w+\.txt)?(?:\?|$)/.test(path)
    const type = isGuide ? 'text/plain' : 'application/json'
    assert.equal(headers['content-type'], `${type}; charset=utf-8`, `${what}: content type`)
    for (const [name, value] of Object.entries(standardHeaders)) {
      assert.equal(headers[name], value, `${what}: header ${name}`)
    }
    if (status === 429 || status === 503) assert.match(headers['retry-after'], /^\d+$/, what)
    if (method === 'HEAD' || method === 'OPTIONS') return
    const operation = this.#operation(method, path)
    if (operation === null) {
      assert.ok(status === 404 || status === 405, what)
      this.#fits({ $ref: '#/components/schemas/Error' }, body, what)
      return
    }
    const response = operation.responses[status]
    assert.ok(response, `${what}: a status that ${operation.operationId} does not declare`)
    if (status === 304) return assert.equal(body, undefined, what)
    assert.ok(response.content[type], `${what}: a type that it does not declare`)
    if (isGuide) return
    const { schema, examples } = response.content[type]
    this.#fits(schema, body, what)
    if (status >= 400) {
      const { error } = body as { error: string }
      assert.ok(examples?.[error], `${what}: a code that ${operation.operationId} does not declare`)
    }
  }

  /** Checks a request that the service sent. `name` is one of the document's webhooks. */
  checkSent(name: string, headers: Record<string, unknown>, body: unknown): void {
    const { parameters, requestBody } = this.openApi.webhooks[name]!.post
    this.#fits(requestBody!.content['application/json']!.schema, body, name)
    assert.ok(parameters.length > 0, name)
    for (const { name: header, required, schema } of parameters) {
      const value = headers[header.toLowerCase()]
      assert.ok(required && this.#ajv.validate(schema, value), `${name}: ${header}: ${value}`)
    }
  }

  #operation(method: string, path: string): Operation | null {
    const bare = path.split('?', 1)[0]
    const found = this.#patterns.find(({ pattern }) => pattern.test(bare))
    return this.openApi.paths[found?.path ?? '']?.[method.toLowerCase()] ?? null
  }

  #fits(schema: Json, body: unknown, what: string): void {
    const reference = schema.$ref as string
    assert.match(reference, /^#\/components\/schemas\/\w+$/, what)
    const validate = this.#ajv.getSchema(`document${reference}`)
    assert.ok(validate, `${what}: no schema ${reference}`)
    assert.ok(validate(body), `${what}: ${this.#ajv.errorsText(validate.errors)}`)
  }
}

/**
 * By the schemas. Compiling them takes a third as long as the start of a node, so nodes that a
 * process starts one after the other share what is compiled.
 */
const compiled = new Map<string, Ajv2020>()

function ajvOf(schemas: OpenApi['components']): Ajv2020 {
  const key = JSON.stringify(schemas)
  const known = compiled.get(key)
  if (known !== undefined) return known
  const ajv = new Ajv2020({ strict: false, formats: { uri: true } })
  ajv.addSchema({ $id: 'document', components: closed(schemas) })
  compiled.set(key, ajv)
  return ajv
}

/** Returns a copy of the schemas in which objects may have only the properties described. */
function closed<T>(part: T): T {
  if (Array.isArray(part)) return part.map(closed) as T
  if (typeof part !== 'object' || part === null) return part
  const copy: Json = Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, closed(value)]),
  )
  if (copy.type === 'object' && copy.properties !== undefined) copy.additionalProperties = false
  return copy as T
}
