// Parsing at the edge: queries, bodies and headers.

import fc from 'fast-check'
import t from 'tap'
import {
  bodyText,
  depthMax,
  isJson,
  parseBearer,
  parseBody,
  parseQuery,
  valuesMax,
} from '../../../src/edge/http/parse.ts'
import { codePoint } from '../../code-point.ts'

const known = [
  { name: 'limit', isNumber: true },
  { name: 'cursor', isNumber: false },
]

const queries: [string, Record<string, unknown>][] = [
  ['', {}],
  ['limit=5', { limit: 5 }],
  ['limit=005', { limit: 5 }],
  ['limit=', { limit: '' }],
  ['limit', { limit: '' }],
  ['limit=-1', { limit: '-1' }],
  ['limit=1e2', { limit: '1e2' }],
  ['limit=0x1', { limit: '0x1' }],
  ['limit=%35', { limit: 5 }],
  ['%6cimit=5', { limit: 5 }],
  ['limit=+5', { limit: ' 5' }],
  ['limit=5&limit=6', { limit: 5 }],
  ['limit=123456789012345', { limit: 123456789012345 }],
  ['limit=9007199254740993', { limit: 2 ** 53 }],
  ['limit=5x', { limit: '5x' }],
  ['limit=%3', { limit: '%3' }],
  ['limits=5', {}],
  ['cursor&limit=7', { cursor: '', limit: 7 }],
  ['cursor=5', { cursor: '5' }],
  ['cursor=a=b&limit=1', { cursor: 'a=b', limit: 1 }],
  ['cursor=a%26b+c', { cursor: 'a&b c' }],
  ['cursor=%zz', { cursor: '%zz' }],
  ['cursor=%ff', { cursor: '%ff' }],
  ['Limit=5&other=1&__proto__=1&=2&&', {}],
]
const blank = { limit: undefined, cursor: undefined }
for (const [query, expected] of queries) {
  t.test(`query: "${query}": ${JSON.stringify(expected)}`, async (t) => {
    t.same(parseQuery(query, known, blank), { ...blank, ...expected })
  })
}

t.test('query: any pairs of texts, form-encoded: the same texts', async (t) => {
  const text = fc.string({ unit: codePoint })
  fc.assert(
    fc.property(text, text, (cursor, other) => {
      const query = new URLSearchParams({ other, cursor }).toString()
      return parseQuery(query, known, blank).cursor === cursor
    }),
  )
  t.pass('held')
})

t.test('body: a JSON object: as JSON.parse returns it', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const json = JSON.stringify(object)
      fc.pre(json.length < valuesMax)
      return JSON.stringify(parseBody(json)) === JSON.stringify(JSON.parse(json))
    }),
  )
  t.pass('held')
})

t.test('body: not an object, not JSON, not UTF-8: null', async (t) => {
  for (const text of ['', '[]', 'null', '"x"', '1', 'true', '{', '\ufeff{}', '{} {}']) {
    t.equal(parseBody(text), null, text)
  }
  t.equal(bodyText(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), null)
})

const tokens: [string, string | null][] = [
  ['Bearer aic_1', 'aic_1'],
  ['bearer aic_1', 'aic_1'],
  ['BEARER   x', 'x'],
  ['Bearer x', 'x'],
  ['', null],
  ['Bearer', null],
  ['Bearer ', null],
  ['Bearerx', null],
  ['Bearer a b', null],
  ['Bearer\ta', null],
  ['Basic x', null],
  ['x', null],
  [' Bearer x', null],
  ['Bearer a, Bearer b', null],
]
for (const [header, token] of tokens) {
  t.test(`authorization: "${header}": ${token}`, async (t) => {
    t.equal(parseBearer(header), token)
  })
}

t.test('content type: JSON with any parameters, in any case: yes; all else: no', async (t) => {
  const json = ['', ';charset=utf-8', '; charset=utf-8', ' ; a=b; c=d', ';']
  for (const rest of json) {
    t.ok(isJson(`application/json${rest}`))
    t.ok(isJson(`Application/JSON${rest}`))
  }
  const other = [
    '',
    'application/jsonx',
    'text/json',
    'json',
    'application',
    '*/*',
    ';application/json',
  ]
  for (const type of [...other, 'application/json, text/plain', 'application/problem+json']) {
    t.notOk(isJson(type), type)
  }
})

t.test('body: many values or levels: refused from one too many on', async (t) => {
  const list = (count: number) => `{"a":[${'1,'.repeat(count - 1)}1]}`
  t.equal((parseBody(list(valuesMax - 1))?.a as number[]).length, valuesMax - 1)
  t.equal(parseBody(list(valuesMax)), null)
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  t.not(parseBody(nested(depthMax)), null)
  t.equal(parseBody(nested(depthMax + 1)), null)
  t.equal(parseBody(nested(120_000)), null)
})

t.test('body: marks within strings: count for nothing', async (t) => {
  for (const marks of ['[', '{', ',', '\\"[', '\\\\', '\\\\\\",']) {
    const json = `{"a":"${marks.repeat(10_000)}","b":[1]}`
    t.same(parseBody(json), JSON.parse(json), marks)
  }
})
