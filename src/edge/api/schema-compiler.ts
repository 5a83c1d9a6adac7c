// Compiles JSON Schemas to functions, in this process or as the source of a module. The libraries
// take longer to load than the rest of the service, so they are loaded on first use: in a built
// program that is never (compiled-schemas.ts).

import { createRequire } from 'node:module'
import type { Ajv, AnySchemaObject, KeywordCxt, ValidateFunction } from 'ajv'

/** A JSON Schema; schema.ts lists the keywords in use. */
export type JsonSchema = AnySchemaObject

/** Checks a value and fills in defaults. Its property `errors` says what is wrong. */
export type Validate = ValidateFunction
/** Renders a value of the schema's shape as JSON. */
export type Render = (value: unknown) => string

const require = createRequire(import.meta.url)

let validators: Ajv | null = null

export function compileValidator(schema: JsonSchema): Validate {
  validators ??= newAjv()
  return validators.compile(schema)
}

export function compileRenderer(schema: JsonSchema): Render {
  return fastJson()(schema, rendererOptions) as Render
}

/** Returns the source of a CommonJS module that exports the validators, by their schemas' names. */
export function validatorModule(schemas: ReadonlyMap<string, JsonSchema>): string {
  const ajv = newAjv()
  const names: Record<string, string> = {}
  for (const [name, schema] of schemas) {
    ajv.addSchema(schema, name)
    names[name] = name
  }
  const standalone = require('ajv/dist/standalone') as typeof import('ajv/dist/standalone/index.js')
  return standalone.default(ajv, names)
}

/** Returns the source of a CommonJS module that exports the renderer. */
export function rendererModule(schema: JsonSchema): string {
  const options = { ...rendererOptions, mode: 'standalone' } as const
  return fastJson()(schema, options) as unknown as string
}

// The renderer's own validator does not know our keywords (schema.ts).
const rendererOptions = { ajv: { strict: false } } as const

function fastJson() {
  return require('fast-json-stringify') as typeof import('fast-json-stringify').default
}

function newAjv(): Ajv {
  const { Ajv } = require('ajv') as typeof import('ajv')
  const ajv = new Ajv({
    useDefaults: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    discriminator: true,
    code: { source: true },
  })
  for (const keyword of ['x-error', 'x-meaning', 'x-example']) ajv.addKeyword(keyword)
  countFast(ajv, 'minLength', 'fewer')
  countFast(ajv, 'maxLength', 'more')
  // Formats serve as documentation only: the code that uses a value checks it.
  ajv.addFormat('uri', true)
  return ajv
}

/**
 * Redefines a keyword that limits a length in code points, as JSON Schema defines it. The library's
 * own keyword visits every character. But a text of n UTF-16 units has n / 2 to n code points, so
 * its number of units usually decides.
 */
function countFast(ajv: Ajv, keyword: 'minLength' | 'maxLength', relation: 'fewer' | 'more'): void {
  const { _, str } = require('ajv') as typeof import('ajv')
  const { useFunc } = require('ajv/dist/compile/util') as typeof import('ajv/dist/compile/util.js')
  const { default: codePoints } = require('ajv/dist/runtime/ucs2length')
  ajv.removeKeyword(keyword)
  ajv.addKeyword({
    keyword,
    type: 'string',
    schemaType: 'number',
    code(context: KeywordCxt) {
      const { gen, data, schema: limit } = context
      const points = _`${useFunc(gen, codePoints)}(${data})`
      context.fail(
        keyword === 'minLength'
          ? _`${data}.length < ${2 * limit} && ${points} < ${limit}`
          : _`${data}.length > ${limit} && ${points} > ${limit}`,
      )
    },
    error: {
      message: ({ schemaCode }) => str`must NOT have ${relation} than ${schemaCode} characters`,
    },
  })
}
