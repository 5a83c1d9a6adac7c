// Makes the examples of the OpenAPI document from the schemas: from a schema's own examples, const
// or default, and otherwise from its `x-example`.
//
// E1. Every example is valid under its schema, which a test checks.
// E2. A text field with none of these gets `unknown`, which the test rejects: such a field needs an
//     example (`about` in schema.ts).

import type { Schema } from './schema.ts'

/** The placeholder for a text field that has no example (E2). */
export const unknown = '…'

const id = '4b7d1f0c2a9e48d6b3f5a1c7e9d20486'

/** Returns an example of the schema, including the optional properties if `all` is set. */
export function exampleOf(schema: Schema, all = false): unknown {
  const { properties, items, oneOf, pattern } = schema
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (properties === undefined && oneOf !== undefined) return exampleOf(oneOf[0], all)
  if (properties !== undefined) return exampleObject(schema, all)
  const types = [schema.type].flat()
  if (schema['x-example'] !== undefined) return schema['x-example']
  if (schema.enum !== undefined) return schema.enum[0]
  if (items !== undefined) return [exampleOf(items, all)]
  if (types.includes('null')) return null
  if (types.includes('string')) return textOf(pattern)
  if (types.includes('integer')) return schema.minimum ?? 0
  return types.includes('boolean') ? true : {}
}

function exampleObject({ properties, required, oneOf }: Schema, all: boolean): unknown {
  // If the alternatives require different properties, only those of the first are shown.
  const others = new Set(oneOf?.slice(1).flatMap((alternative) => alternative.required ?? []))
  const first = oneOf?.[0].required ?? []
  const shown = Object.entries(properties!).filter(
    ([name]) => !others.has(name) && (all || required?.includes(name) || first.includes(name)),
  )
  return Object.fromEntries(shown.map(([name, part]) => [name, exampleOf(part, all)]))
}

const idPattern = /^\^([a-z]+_)\[a-f0-9\]\{32\}\$$/

function textOf(pattern: string | undefined): string {
  const prefix = idPattern.exec(pattern ?? '')?.[1]
  return prefix === undefined ? unknown : `${prefix}${id}`
}
