// Compiles schemas to the checks of requests.
//
// V1. What refuses a parameter or field is made from its schema, and has one form: its name, and
//     what it must be. `limit must be a whole number from 1 to 100.`

import type { ErrorObject } from 'ajv'
import { misspelledFields, unknownField } from '../../base/misspelled-fields.ts'
import { type ErrorCode, errors } from '../../kernel/rejection.ts'
import { validateFunction } from './compiled-schemas.ts'
import { notBlank, type Schema } from './schema.ts'

/** Why a request is refused. */
export interface Violation {
  code: ErrorCode
  /** A sentence for the caller. */
  detail: string
}

/** Returns a function that fills in defaults and returns a violation, or null if there is none. */
export function validator(schema: Schema): (value: unknown) => Violation | null {
  const validate = validateFunction(schema)
  // The last error is reported: that of an alternative itself follows the errors of its parts.
  return (value) => (validate(value) ? null : violation(validate.errors!.at(-1)!))
}

/**
 * Like `validator`, for the body of a request: a field that nearly matches the name of a known one
 * is a violation too. `further` lists known fields that are not in the schema.
 */
export function bodyValidator(
  schema: Schema,
  further: readonly string[],
): (body: Record<string, unknown>) => Violation | null {
  const validate = validator(schema)
  const { properties, required = [], additionalProperties } = schema
  if (properties === undefined || additionalProperties === false) return validate
  const known = Object.keys(properties)
  const misspelled = misspelledFields([...known, ...further])
  // Whether every valid body has all known fields, so that counting shows whether it has others.
  const isComplete = known.every((name) => {
    return required.includes(name) || properties[name].default !== undefined
  })
  return (body) => {
    const violation = validate(body)
    if (violation === null && isComplete && countFields(body) === known.length) return null
    const field = misspelled(body)
    if (field === null) return violation
    return { code: 'unknown_field', detail: unknownField(field.name, [field.meant]) }
  }
}

function countFields(body: object): number {
  let count = 0
  for (const _ in body) count += 1
  return count
}

function violation(error: ErrorObject): Violation {
  const { keyword, instancePath, params, message } = error
  const schema = error.parentSchema as Schema
  const code = codeOf(error)
  const path = instancePath.split('/').slice(1)
  const nameOf = (field: string) => [...path, field].join('.')
  switch (keyword) {
    case 'discriminator':
      return { code, detail: errors[code].message }
    case 'oneOf': {
      const names = schema.oneOf!.map(({ required = [] }) => nameOf(required.join(' and ')))
      return { code, detail: `Either ${names.join(' or ')} must be given.` }
    }
    case 'additionalProperties': {
      const known = Object.keys(schema.properties ?? {})
      return { code, detail: unknownField(params.additionalProperty, known, nameOf('')) }
    }
    case 'required': {
      const name: string = params.missingProperty
      return { code, detail: mustBe(nameOf(name), schema.properties?.[name] ?? {}) }
    }
  }
  const field = path.length === 0 ? 'The request' : path.join('.')
  return { code, detail: wordsOf(schema) === null ? `${field} ${message}.` : mustBe(field, schema) }
}

function codeOf({ keyword, params, parentSchema }: ErrorObject): ErrorCode {
  if (keyword === 'additionalProperties') return 'unknown_field'
  const schema = parentSchema as Schema
  const broken = keyword === 'required' ? schema.properties?.[params.missingProperty] : schema
  return broken?.['x-error'] ?? 'invalid_field'
}

/** Returns the sentence that refuses the value of a parameter or field: what it must be (V1). */
export function mustBe(name: string, schema: Schema): string {
  return `${name} must be ${wordsOf(schema) ?? 'given'}.`
}

/** Returns what a value of the schema is, in words, or null for a schema without any. */
export function wordsOf(schema: Schema): string | null {
  const { type = [], description, minimum, maximum } = schema
  const opaque = description !== undefined && isOpaque(schema) ? description : null
  if (opaque !== null) return opaque[0].toLowerCase() + opaque.slice(1, -1).replaceAll('`', '')
  const values = schema.const === undefined ? schema.enum : [schema.const]
  if (values !== undefined) return values.join(' or ')
  const words = [type].flat().map((one) => {
    if (one === 'integer') return `a whole number${within(minimum, maximum, 'from')}`
    if (one === 'boolean') return 'true or false'
    if (one === 'array') return listWords(schema)
    return one === 'string' ? textWords(schema) : one
  })
  return words.join(' or ') || null
}

/** Returns whether only its description says where a value comes from. */
function isOpaque(schema: Schema): boolean {
  const limits = ['const', 'enum', 'pattern', 'minLength', 'maxLength'] as const
  if (schema['x-error'] === 'invalid_cursor') return true
  return (
    (schema.type ?? 'string') === 'string' && limits.every((limit) => schema[limit] === undefined)
  )
}

function textWords({ pattern, minLength, maxLength }: Schema): string {
  const [, word] = /^\^(\w+)\$$/.exec(pattern ?? '') ?? []
  if (word !== undefined) return word
  const [, prefix, digits] = /^\^(\w*)\[a-f0-9\]\{(\d+)\}\$$/.exec(pattern ?? '') ?? []
  if (digits !== undefined) {
    return `${prefix === '' ? '' : `${prefix} and `}${digits} lowercase hexadecimal digits`
  }
  if (pattern !== undefined && pattern !== notBlank) return `a text that matches ${pattern}`
  const length = within(minLength, maxLength, 'of')
  const characters = length === '' ? '' : `${length} character${length.endsWith(' 1') ? '' : 's'}`
  return `a text${characters}${pattern === undefined ? '' : ', not only white space'}`
}

function listWords({ minItems, maxItems, uniqueItems }: Schema): string {
  return `a list${within(minItems, maxItems, 'of')}${uniqueItems ? ' different' : ''} items`
}

function within(from: number | undefined, to: number | undefined, word: string): string {
  if (from === undefined) return to === undefined ? '' : ` of at most ${to}`
  return to === undefined ? ` of at least ${from}` : ` ${word} ${from} to ${to}`
}
