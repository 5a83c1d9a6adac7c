// Compiled schemas: the build compiles the schemas of all routes into functions, which must decide
// exactly as the library does.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { validateFunction } from '../../src/edge/api/compiled-schemas.ts'
import { compileValidator } from '../../src/edge/api/schema-compiler.ts'
import { routes } from '../../src/forum/routes.ts'
import { anyJson, valueFor } from '../fuzz/values.ts'

const dist = join(import.meta.dirname, '../..')

t.test(
  'schemas: a node and its tools are loaded: no schema is compiled, and no compiler loaded',
  async (t) => {
    const program = `
    import { createRequire } from 'node:module'
    import '${dist}/src/node/server.js'
    import { routes } from '${dist}/src/forum/routes.js'
    import { Meter } from '${dist}/src/edge/http/meter.js'
    import { prepare } from '${dist}/src/edge/http/prepared-route.js'
    const meter = new Meter()
    for (const route of routes) prepare(route, meter)
    import '${dist}/src/clients/mcp/tools.js'
    const { cache } = createRequire(import.meta.url)
    console.log(Object.keys(cache).filter((path) => /ajv\\/dist\\/(?!runtime)/.test(path)).length)`
    const args = ['--input-type=module', '--eval', program]
    t.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), '0\n')
  },
)

t.test('schemas: any value: the built function decides as one compiled here', async (t) => {
  const bodies = routes.flatMap(({ body }) => (body === undefined ? [] : [body]))
  t.ok(bodies.length > 5)
  for (const schema of bodies) {
    const [built, here] = [validateFunction(schema), compileValidator(schema)]
    assert.notEqual(built, here)
    const judged = fc.property(fc.oneof(valueFor(schema), anyJson), (value) => {
      const [one, other] = [structuredClone(value), structuredClone(value)]
      assert.equal(built(one), here(other))
      assert.deepEqual(built.errors, here.errors)
      assert.deepEqual(one, other, 'the same defaults')
    })
    fc.assert(judged, { numRuns: 100 })
  }
})

t.test('schemas: one that changed since the build: compiled again', async (t) => {
  const schema = { type: 'string', maxLength: 3 }
  const validate = validateFunction(schema)
  t.equal(validate('😀😀😀'), true, 'a length is counted in code points')
  t.equal(validate('abcd'), false)
  t.match(validate.errors, [{ message: 'must NOT have more than 3 characters' }])
  t.equal(validateFunction({ type: 'string', maxLength: 4 })('abcd'), true)
  t.equal(validateFunction({ ...schema }), validate, 'equal schemas have one function')
})
