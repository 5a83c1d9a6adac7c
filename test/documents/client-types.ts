// Generates src/client/types.ts: the shapes of requests and answers as TypeScript, from the schemas
// with which the server validates requests and renders answers. Answers keep the field names of the
// wire format. The fields of a request are in camelCase, as are the client's arguments.

import { meaningOf, type Schema } from '../../src/edge/api/schema.ts'
import { webhookEvents } from '../../src/edge/api/webhook-requests.ts'
import { operations } from '../../src/forum/routes.ts'
import { errors } from '../../src/kernel/rejection.ts'
import { isFlag, type Method, methods, wordOf } from './client-methods.ts'
import { titledSchemas } from './schema-words.ts'

const lineMax = 100

const head = `\
// Generated from the schemas of the server by \`npm run fix\`; a test keeps it up to date. What the
// fields mean, and which limits hold: docs/interface.md, "Resources" and "Endpoints".

// biome-ignore-all format: lists, filled to be short

`

/** Returns the schemas of everything that the service sends, by title. */
export function answerSchemas(): Map<string, Schema> {
  const answers = new Map<string, Schema>()
  for (const { answers: byStatus } of operations) {
    for (const [status, schema] of Object.entries(byStatus)) {
      const isRefusal = Number(status) >= 400 // which the client throws, whatever its body
      if (!isRefusal) titledSchemas(schema, answers)
    }
  }
  answers.delete('NoWebhook') // it is shown as `Webhook | null`
  for (const event of webhookEvents) titledSchemas(event, answers)
  return answers
}

/** Returns the whole file. */
export function clientTypes(): string {
  const bodies = operations.flatMap(({ body }) => body ?? [])
  return [
    head,
    refusalCodes(),
    ...[...answerSchemas()].map(([title, schema]) => declaration(title, fieldsOf(schema, wire))),
    ...bodies.flatMap((body) => (body.oneOf === undefined ? requestType(body) : union(body))),
    ...methods.filter(({ route }) => route.query !== undefined).map(queryType),
  ].join('')
}

function refusalCodes(): string {
  const codes = filled(Object.keys(errors).map((code) => `| '${code}'`))
  return `/** The codes with which the service refuses. */\nexport type RefusalCode =\n${codes}`
}

/** Returns the type of a body, preceded by the types of its parts. */
function requestType(body: Schema): string {
  const found = new Map<string, Schema>()
  titledSchemas(body, found)
  const parts = [...found].toReversed()
  return parts
    .map(([, part]) => declaration(camel.type(part, body), fieldsOf(part, camel)))
    .join('')
}

function union({ title, oneOf }: Schema): string[] {
  const names = oneOf!.map((form) => form.title).join(' | ')
  return [...oneOf!.map(requestType), `export type ${title} = ${names}\n`]
}

/** Returns the type of the parameters of a query, each with its meaning. */
function queryType({ route, parameters, required }: Method): string {
  const lines = Object.entries(parameters).flatMap(([name, schema]) => {
    if (schema.const !== undefined) return []
    const meaning = meaningOf(schema)
    const optional = required.includes(name) ? '' : '?'
    const field = `  ${camelCase(name)}${optional}: ${typeOf(schema, camel)}`
    return meaning === undefined ? [field] : [...comment(meaning), field]
  })
  const title = `${route.name[0]!.toUpperCase()}${route.name.slice(1)}Query`
  return [`export interface ${title} {`, ...lines, '}', ''].join('\n')
}

function comment(text: string): string[] {
  const short = `  /** ${text} */`
  if (short.length <= lineMax) return [short]
  const lines: string[] = ['  /**']
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 1 && longer.length <= lineMax) lines[lines.length - 1] = longer
    else lines.push(`   * ${word}`)
  }
  return [...lines, '   */']
}

/** Returns a type declaration, on one line if it fits. */
function declaration(name: string, fields: readonly string[]): string {
  const short = `export type ${name} = { ${fields.join('; ')} }\n`
  if (short.length <= lineMax + 1) return short
  const listed = fields.map((field, i) => (i < fields.length - 1 ? `${field};` : field))
  return `export type ${name} = {\n${filled(listed)}}\n`
}

/** Returns indented lines, each with as many parts as fit. */
function filled(parts: readonly string[]): string {
  const lines: string[] = []
  for (const part of parts) {
    const longer = `${lines.at(-1) ?? ''} ${part}`
    if (lines.length > 0 && longer.length + 2 <= lineMax) lines[lines.length - 1] = longer
    else lines.push(part)
  }
  return lines.map((line) => `  ${line}\n`).join('')
}

interface Naming {
  field(name: string): string
  /** The name of an object's type. */
  type(schema: Schema, body?: Schema): string
  list: string
  /** The type of an object of any shape. */
  any: string
}

const wire: Naming = {
  field: (name) => name,
  type: ({ title }) => (title === 'NoWebhook' ? 'Webhook' : title!),
  list: '',
  any: 'Record<string, unknown>',
}

export function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

const camel: Naming = {
  field: camelCase,
  type: (schema, body) => (schema === body ? schema.title! : `New${schema.title}`),
  list: 'readonly ',
  any: 'object',
}

function fieldsOf({ properties = {}, required = [] }: Schema, naming: Naming): string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?'
    return `${naming.field(name)}${optional}: ${typeOf(schema, naming)}`
  })
}

function typeOf(schema: Schema, naming: Naming): string {
  const { properties, items } = schema
  const word = wordOf(schema)
  if (word !== undefined) return `number | ${literal(word)}`
  if (isFlag(schema)) return 'boolean'
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  if (properties !== undefined) {
    const orNull = [schema.type].flat().includes('null') ? ' | null' : ''
    return `${naming.type(schema)}${orNull}`
  }
  if (items !== undefined) return `${naming.list}${typeOf(items, naming)}[]`
  if (schema.type === 'object') return naming.any
  return [schema.type].flat().map(scalar).join(' | ')
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function scalar(type: string | undefined): string {
  if (type === 'integer') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  throw new Error(`no type for ${type}`)
}
