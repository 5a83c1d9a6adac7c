// The functions to which schemas are compiled. `npm run build` writes those of all routes into a
// module beside this one; any other schema is compiled on first use.
//
// S1. A function is found by a hash of its schema. A schema that has changed since the build is
//     compiled here, and never served by the function of its older version.
//
// Compiling them at each start took 0.2 of the 0.4 s of processor time that precede reading the
// log, and most of that went into loading the libraries.

import { createHash } from 'node:crypto'
import { loadModule } from '../../base/program-files.ts'
import {
  compileRenderer,
  compileValidator,
  type JsonSchema,
  type Render,
  rendererModule,
  type Validate,
  validatorModule,
} from './schema-compiler.ts'

/** The file that the build writes, beside this one. */
export const compiledFile = 'edge/api/compiled-schemas-of-routes.cjs'

/** Compiled functions, by the names of their schemas. */
interface Functions {
  validators: Record<string, Validate>
  renderers: Record<string, Render>
}

const functions = (loadModule(compiledFile) ?? { validators: {}, renderers: {} }) as Functions
/** The schemas requested in this process, by name. */
const requested = {
  validators: new Map<string, JsonSchema>(),
  renderers: new Map<string, JsonSchema>(),
}

/** Returns the function that validates values of a schema; equal schemas share one. */
export function validateFunction(schema: JsonSchema): Validate {
  const name = nameOf(schema)
  requested.validators.set(name, schema)
  functions.validators[name] ??= compileValidator(schema)
  return functions.validators[name]
}

/** Returns the function that renders values of a schema as JSON. */
export function renderFunction(schema: JsonSchema): Render {
  const name = nameOf(schema)
  requested.renderers.set(name, schema)
  functions.renderers[name] ??= compileRenderer(schema)
  return functions.renderers[name]
}

/**
 * Returns the source of `compiledFile`, with the functions that this process has requested so far.
 */
export function moduleOfRequested(): string {
  const renderers = Array.from(requested.renderers, ([name, schema]) => [
    `(() => { const module = {}; ${rendererModule(schema)}; return module.exports })()`,
    name,
  ])
  return `'use strict'
// Written by the build, from the schemas of the routes: see src/edge/api/compiled-schemas.ts.
const validators = {}
;((exports) => {${validatorModule(requested.validators)}})(validators)
const renderers = {
${renderers.map(([code, name]) => `'${name}': ${code},`).join('\n')}
}
module.exports = { validators, renderers }
`
}

function nameOf(schema: JsonSchema): string {
  return createHash('sha256').update(JSON.stringify(schema)).digest('hex')
}
