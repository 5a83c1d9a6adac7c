// Describes schemas in words, for the tables of the documents.

import { meaningOf, notBlank, type Schema, time } from '../../src/edge/api/schema.ts'

/** An error that no schema declares: the kind selects the schema. */
const codes: Record<string, string> = { kind: 'invalid_kind' }

/**
 * Returns the fields of a request: the name; and type, limits and the error code, if it is not the
 * usual one. For the fields in `late` the document says in words which code it is.
 */
export function fieldsOf(
  schema: Schema,
  usual: (field: Schema) => string,
  late: readonly string[] = [],
  before = '',
): string[][] {
  const { properties = {}, required = [], oneOf } = schema
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${before}${name}`
    const code = codes[path] ?? field['x-error'] ?? usual(field)
    const isOneOf = oneOf?.some((one) => one.required?.includes(name)) ?? false
    const says = [
      typeOf(field),
      ...(required.includes(name) ? ['required'] : isOneOf ? ['exactly one required'] : []),
    ].join(', ')
    const otherwise = code === usual(field) || late.includes(name) ? '' : `; otherwise \`${code}\``
    const parts =
      field.items?.properties === undefined ? [] : fieldsOf(field.items, usual, [], `${path}[].`)
    return [[`\`${path}\``, says + otherwise], ...parts]
  })
}

/** Returns the fields of an answer: the name; and type and meaning. */
export function answerFieldsOf({ properties = {}, required = [] }: Schema): string[][] {
  return Object.entries(properties).map(([name, field]) => {
    const type = typeOf(field) + (required.includes(name) ? '' : ', optional')
    const meaning = field.description === time.description ? '' : `. ${meaningOf(field) ?? ''}`
    return [`\`${name}\``, type + meaning]
  })
}

/** Collects every schema with a title, including nested ones, in order of appearance. */
export function titledSchemas(schema: Schema, found: Map<string, Schema>): void {
  const { title, properties = {}, items } = schema
  if (title !== undefined && schema.properties !== undefined) found.set(title, schema)
  for (const part of Object.values(properties)) titledSchemas(part, found)
  if (items !== undefined) titledSchemas(items, found)
}

/** Describes type and limits in words: "string, 1 to 160 characters, not only white space". */
export function typeOf(schema: Schema): string {
  const { title, items, uniqueItems, pattern, default: preset, properties } = schema
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  const prefix = /^\^(\w+_)\[a-f0-9\]\{32\}\$$/.exec(pattern ?? '')?.[1]
  const parts: string[] = []
  if (schema.enum !== undefined) {
    parts.push(schema.enum.map((value) => `\`${value}\``).join(', '))
  } else if (title !== undefined && properties !== undefined) {
    const name = title === 'NoWebhook' ? 'Webhook' : title
    const orNull = [schema.type].flat().includes('null') ? ' or null' : ''
    parts.push(`[${name}](#${name.toLowerCase()})${orNull}`)
  } else if (items !== undefined) {
    parts.push(`array of ${typeOf(items)}`)
  } else {
    const noun =
      schema.description === time.description
        ? 'time'
        : prefix === undefined
          ? null
          : `\`${prefix}…\``
    const types = [schema.type ?? 'any'].flat()
    parts.push([noun ?? types[0]!, ...types.slice(1)].join(' or '))
  }
  parts.push(...limitsOf(schema))
  if (uniqueItems) parts.push('all different')
  if (pattern === notBlank) parts.push('not only white space')
  else if (pattern !== undefined && prefix === undefined) parts.push(`\`${pattern}\``)
  if (preset !== undefined) parts.push(`default \`${JSON.stringify(preset)}\``)
  return parts.join(', ')
}

function limitsOf(schema: Schema): string[] {
  const ranges: [from: number | undefined, to: number | undefined, unit: string][] = [
    [schema.minLength, schema.maxLength, schema.maxLength ? ' characters' : ' character'],
    [schema.minItems, schema.maxItems, ' items'],
    [schema.minimum, schema.maximum, ''],
  ]
  return ranges.flatMap(([from, to, unit]) => {
    if (from === undefined && to === undefined) return []
    if (to === undefined) return from === 0 ? [] : [`at least ${from}${unit}`]
    return [from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`]
  })
}
