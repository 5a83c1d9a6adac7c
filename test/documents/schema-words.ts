// Describes schemas in words, for the tables of the documents.

import { notBlank, type Schema } from '../../src/edge/api/schema.ts'

/** An error that no schema declares: the kind selects the schema. */
const codes: Record<string, string> = { kind: 'invalid_kind' }

/** Returns the rows of a table of request fields: name, type and limits, required, error code. */
export function fieldsOf(schema: Schema, before = ''): string[][] {
  const { properties = {}, required = [], oneOf } = schema
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${before}${name}`
    const code = codes[path] ?? field['x-error'] ?? 'invalid_field'
    const isOneOf = oneOf?.some((one) => one.required?.includes(name)) ?? false
    const needed = required.includes(name) ? 'yes' : isOneOf ? 'exactly one' : 'no'
    const row = [`\`${path}\``, typeOf(field), needed, `\`${code}\``]
    const parts = field.items?.properties === undefined ? [] : fieldsOf(field.items, `${path}[].`)
    return [row, ...parts]
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
    parts.push([schema.type ?? 'any'].flat().join(' or '))
  }
  parts.push(...limitsOf(schema))
  if (uniqueItems) parts.push('all different')
  if (pattern === notBlank) parts.push('not only white space')
  else if (pattern !== undefined) parts.push(`\`${pattern}\``)
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
