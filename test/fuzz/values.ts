// Values for the fuzzer: values that satisfy a schema, values that nearly do, and values that have
// crashed other servers.
//
// A seed must generate the same values every time, so that they cannot contain ids of what exists.
// Instead, the placeholder `«thread:1»` stands for the id of a thread, and is replaced when a
// request is sent.

import fc, { type Arbitrary } from 'fast-check'
import type { Schema } from '../../src/edge/api/schema.ts'
import { codePoint } from '../code-point.ts'

export const places = ['thread', 'identity', 'proposal', 'hash', 'ticket', 'cursor'] as const
export type Place = (typeof places)[number]

function place(name: Place): Arbitrary<string> {
  return fc.nat(3).map((n) => `«${name}:${n}»`)
}

/** Texts that programs often mishandle. */
const nastyTexts = fc.constantFrom(
  '',
  ' ',
  '\n',
  '\u0000',
  '\u001b[31mred\u001b[0m',
  'line\nbreak\r\n{"level":30}',
  '\ud800',
  '\udfff\ud800',
  '😀'.repeat(80),
  '\u202eabc',
  '\u2028',
  'a\u0301'.repeat(100),
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  "'; drop table threads; --",
  '%00%ff',
  'x'.repeat(8000),
  'x'.repeat(8001),
  '\u0001'.repeat(8000),
  '\\'.repeat(8000),
  '𝒳'.repeat(8000),
)

export const anyText: Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 60 }) },
  { weight: 2, arbitrary: fc.string({ unit: codePoint, maxLength: 200 }) },
  { weight: 2, arbitrary: nastyTexts },
)

const oddNumbers = fc.constantFrom(0, -1, 1.5, 1e21, -0, 2 ** 53, 2 ** 53 - 1, 1e308, 50, 51, 101)

/** Any JSON value. Some have property names with a special meaning in JavaScript. */
export const anyJson: Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  anyText,
  oddNumbers,
  fc.constantFrom(null, true, [], {}, [[]], { length: 1e9 }, { toString: 1 }, { valueOf: null }),
)

/** Returns the value in one of `oneIn` cases, otherwise null. */
export function rarely<T>(value: Arbitrary<T>, oneIn: number): Arbitrary<T | null> {
  return fc.oneof(
    { weight: oneIn - 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: value },
  )
}

const idPlaces: [pattern: RegExp, place: Place][] = [
  [/thr_/, 'thread'],
  [/agt_/, 'identity'],
  [/gov_/, 'proposal'],
  [/\{64\}/, 'hash'],
]

/** Webhook endpoints for which no request leaves this machine. */
const endpoint = fc.constantFrom(
  'https://127.0.0.1:1/wakeup',
  'http://127.0.0.1:1/wakeup',
  'https://127.0.0.1:1/a#b',
  'https://user@127.0.0.1:1/',
  'https://[::1]:1/',
  'https://127.0.0.1:99999/',
  'https:',
  'file:///etc/passwd',
  'https://127.1:1/\u0000',
)

/** Returns values that usually satisfy the schema. `name` is the name of the property. */
export function valueFor(schema: Schema, name = ''): Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (name === 'url') return endpoint
  if (name === 'mention_ids') return fc.array(place('identity'), { maxLength: 3 })
  if (name === 'type') return fc.constantFrom('question', 'bug-report')
  if (name === 'tags') return fc.constantFrom([], ['bug'], ['infra', 'bug'])
  if (name === 'tag') return fc.constantFrom('bug', 'infra')
  if (name === 'participant_ids') return fc.array(place('identity'), { maxLength: 11 })
  if (name === 'ticket' || name === 'cursor') return place(name)
  if (name === 'candidate_id') return place('identity')
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'integer') {
    const { minimum = 0, maximum = 1000 } = schema
    return fc.oneof(fc.integer({ min: minimum, max: Math.min(maximum, 1000) }), oddNumbers)
  }
  if (type === 'array') {
    const { items = {}, minItems = 0, maxItems = 3 } = schema
    return fc.array(valueFor(items), { minLength: minItems, maxLength: Math.min(maxItems, 3) })
  }
  if (schema.oneOf !== undefined && schema.discriminator !== undefined) {
    return fc.oneof(...schema.oneOf.map((each) => objectOf(each)))
  }
  if (type === 'object' || schema.properties !== undefined) return objectOf(schema)
  return textOf(schema)
}

function textOf({ pattern = '', maxLength = 200, minLength = 0 }: Schema): Arbitrary<string> {
  const known = idPlaces.find(([shape]) => shape.test(pattern))
  if (known !== undefined) {
    return fc.oneof(
      { weight: 8, arbitrary: place(known[1]) },
      fc.stringMatching(/^\w{4}[a-f0-9]{32}$/),
    )
  }
  const fitting = fc.string({ minLength, maxLength: Math.min(maxLength, 100) })
  return fc.oneof({ weight: 6, arbitrary: fitting.map((text) => `t${text}`) }, nastyTexts)
}

/** Returns objects with the schema's properties, some of them missing, wrong or strange. */
function objectOf({ properties = {}, required = [], oneOf }: Schema): Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const value = fc.oneof({ weight: 12, arbitrary: valueFor(schema, name) }, anyJson)
    const isRequired = required.includes(name)
    return fc.option(value, { freq: isRequired ? 30 : 3, nil: undefined }).map((v) => [name, v])
  })
  const alternatives = oneOf?.map((each) => valueFor({ ...each, type: 'object' })) ?? []
  const chosen = alternatives.length === 0 ? fc.constant({}) : fc.oneof(...alternatives)
  const stray = rarely(fc.tuple(anyText, anyJson), 12)
  return fc.tuple(chosen, stray, ...fields).map(([first, other, ...pairs]) => {
    const own = pairs as [string, unknown][]
    const all = [...Object.entries(first as object), ...own, ...(other === null ? [] : [other])]
    return Object.fromEntries(all.filter(([, value]) => value !== undefined))
  })
}
