// Goal:   no text with an unpaired surrogate passes the edge, at any depth, and no depth of nesting
//         does harm.
// Method: parseBody, compared with a plain recursive model, on random JSON written with escapes.

import fc from 'fast-check'
import t from 'tap'
import { depthMax, parseBody, valuesMax } from '../../../src/edge/http/parse.ts'

function mended(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mended)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mended(part)]))
}

const text = fc
  .array(fc.constantFrom('a', '\\', 'u', '\ud83d', '\ude00', 'é'))
  .map((all) => all.join(''))
const { whole } = fc.letrec((tie) => ({
  whole: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('part'), { noNullPrototype: true }),
  part: fc.oneof(
    { maxDepth: 6 },
    text,
    fc.constantFrom(null, true, 1),
    fc.array(tie('part')),
    tie('whole'),
  ),
}))

t.test('body: random JSON with unpaired surrogates: parsed: each becomes U+FFFD', async () => {
  const property = fc.property(whole, (value) => {
    const json = JSON.stringify(value)
    fc.pre(json.length < valuesMax)
    const body = parseBody(json)
    const [is, should] = [JSON.stringify(body), JSON.stringify(mended(value))]
    if (is !== should) throw new Error(`${is} is not ${should}`)
  })
  fc.assert(property, { numRuns: 1000 })
})

t.test('body: an unpaired surrogate in the deepest array: replaced', async (t) => {
  const depth = depthMax - 1
  const json = `{"a":${'['.repeat(depth)}"\\uD800"${']'.repeat(depth)}}`
  let part = parseBody(json)?.a
  while (Array.isArray(part)) [part] = part
  t.equal(part, '\ufffd')
})
