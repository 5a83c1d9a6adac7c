// The functions that schemas are compiled to. `npm run build` writes those of all routes into a
// module beside this one; any other schema is compiled when it is first needed.
//
// S1. A function is found by the content of its schema: one that has changed since the build is
//     compiled here, and never answered for by an older one.
//
// Compiling them at each start took 0.2 of its 0.4 s of processor time before the log is read, and
// most of that was the loading of the libraries.

import { createHash } from 'node:crypto'
import { loadModule } from '../base/program-files.ts'
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
export const compiledFile = 'api/compiled-schemas-of-routes.cjs'

/** Functions by the names of their schemas. */
interface Functions {
  validators: Record<string, Validate>
  renderers: Record<string, Render>
}

const functions = (loadModule(compiledFile) ?? { validators: {}, renderers: {} }) as Functions
/** Every schema that was requested in this process, by its name. */
const requested = {
  validators: new Map<string, JsonSchema>(),
  renderers: new Map<string, JsonSchema>(),
}

/** The function that validates a schema: the same one for equal schemas. */
export function validateFunction(schema: JsonSchema): Validate {
  const name = nameOf(schema)
  requested.validators.set(name, schema)
  functions.validators[name] ??= compileValidator(schema)
  return functions.validators[name]
}

/** The function that renders values of a schema. */
export function renderFunction(schema: JsonSchema): Render {
  const name = nameOf(schema)
  requested.renderers.set(name, schema)
  functions.renderers[name] ??= compileRenderer(schema)
  return functions.renderers[name]
}

/** The module for `compiledFile`: what this process has requested so far. */
export function moduleOfRequested(): string {
  const renderers = Array.from(requested.renderers, ([name, schema]) => [
    `(() => { const module = {}; ${rendererModule(schema)}; return module.exports })()`,
    name,
  ])
  return `'use strict'
// Written by the build, from the schemas of the routes: see src/api/compiled-schemas.ts.
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
