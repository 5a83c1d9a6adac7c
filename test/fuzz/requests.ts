// Inputs for the fuzzer: requests for each route, generated from the route's declaration, and
// damaged requests.

import fc, { type Arbitrary } from 'fast-check'
import type { Route } from '../../src/edge/api/route.ts'
import { routes } from '../../src/forum/routes.ts'
import { anyJson, anyText, rarely, valueFor } from './values.ts'

/** A request that is valid HTTP and must be answered. */
export interface FuzzRequest {
  kind: 'request'
  method: string
  /** The path, including the query. */
  path: string
  headers: [name: string, value: string][]
  body: string
}

/** Arbitrary bytes, which must do no harm. */
export interface FuzzBytes {
  kind: 'bytes'
  /** The bytes, one character for each. */
  text: string
}

export type Input = FuzzRequest | FuzzBytes

/** Returns `count` inputs, which are the same for the same seed. */
export function inputsOf(seed: number, count: number): Input[] {
  return fc.sample(input, { seed, numRuns: count })
}

const methods = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS')

function encoded(text: string): string {
  // Placeholders are kept literally, because they are replaced when the request is sent.
  const whole = encodeURIComponent(text.toWellFormed())
  return whole.replaceAll(/%C2%AB(\w+)%3A(\d)%C2%BB/g, '«$1:$2»')
}

const badEncoding = fc.constantFrom('%', '%zz', '%ff', '%C3', '%00', '+', '%2', '%uD800')

function queryOf({ query }: Route): Arbitrary<string> {
  const pairs = Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const value = fc.oneof(
      { weight: 10, arbitrary: valueFor(schema, name).map((each) => encoded(`${each}`)) },
      { weight: 1, arbitrary: anyText.map(encoded) },
      { weight: 1, arbitrary: badEncoding },
    )
    // A longer wait would outlast the time after which a request counts as hanging.
    const isLong = (text: string) => name === 'wait' && /^(?:[2-9]|[1-4]\d|50)$/.test(text)
    const pair = value.map((text) => `${name}=${isLong(text) ? 1 : text}`)
    return fc.option(pair, { freq: query?.required?.includes(name) ? 20 : 2, nil: '' })
  })
  const strayPair = fc.tuple(anyText, anyText).map((each) => each.map(encoded).join('='))
  const stray = rarely(strayPair, 10).map((pair) => pair ?? '')
  return fc
    .tuple(...pairs, stray)
    .map((parts) =>
      parts
        .filter((part) => part !== '')
        .join('&')
        .slice(0, 2500),
    )
    .map((text) => (text === '' ? '' : `?${text}`))
}

function pathOf({ path, id }: Route): Arbitrary<string> {
  if (id === undefined) return fc.constant(path)
  const value = fc.oneof(
    { weight: 12, arbitrary: valueFor(id) },
    { weight: 1, arbitrary: anyText },
    { weight: 1, arbitrary: fc.constantFrom('..', '.', '%2e%2e', '%', 'thr_', '*') },
  )
  return value.map((each) => path.replace(/:\w+/, () => encoded(`${each}`).slice(0, 500)))
}

const authorization = fc.oneof(
  { weight: 12, arbitrary: fc.nat(3).map((n) => `Bearer «token:${n}»`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      `Bearer aic_${'0'.repeat(64)}`,
      'Bearer ',
      'Bearer',
      'Basic YTpi',
      `bearer    «token:0»`,
      'Bearer «token:0» «token:1»',
      `Bearer ${'x'.repeat(2000)}`,
    ),
  },
)

const key = fc.oneof(
  { weight: 8, arbitrary: fc.uuid() },
  { weight: 3, arbitrary: fc.nat(9).map((n) => `used-key-${n}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'short', 'x'.repeat(129), 'with space', 'ümlaut-key'),
  },
)

const contentType = fc.oneof(
  { weight: 20, arbitrary: fc.constant('application/json') },
  fc.constantFrom('Application/JSON; charset=latin1', 'text/plain', 'application/jsonx', ';'),
)

const strangeHeader = fc.constantFrom<[string, string]>(
  ['Origin', 'https://elsewhere.example'],
  ['Origin', 'null'],
  ['Sec-Fetch-Site', 'cross-site'],
  ['Purpose', 'prefetch'],
  ['X-Forwarded-For', '1.2.3.4, ::ffff:5.6.7.8, unknown'],
  ['X-Forwarded-For', ','.repeat(500)],
  ['CF-Connecting-IP', 'fe80::1%eth0'],
  ['Expect', '100-continue'],
  ['Accept-Encoding', 'gzip;q=-1'],
  ['Range', 'bytes=0-1'],
  ['Cookie', 'x'.repeat(1000)],
  ['X-HTTP-Method-Override', 'DELETE'],
)

function headersOf(route: Route): Arbitrary<[string, string][]> {
  const headers: Arbitrary<[string, string] | null>[] = []
  const add = (name: string, value: Arbitrary<string>, freq: number) => {
    headers.push(
      fc.option(
        value.map((text): [string, string] => [name, text]),
        { freq },
      ),
    )
  }
  if (route.auth !== 'none') add('Authorization', authorization, 15)
  if (route.idempotent) add('Idempotency-Key', key, 10)
  if (route.body !== undefined) add('Content-Type', contentType, 30)
  headers.push(rarely(strangeHeader, 15))
  return fc.tuple(...headers).map((all) => all.filter((each) => each !== null))
}

/** JSON that is hard to parse, within the size limit of a body. */
const bombs = fc.constantFrom(
  '['.repeat(100_000),
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  `{"content":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
  `{"content":"a",${Array.from({ length: 15_000 }, (_, i) => `"k${i}":0`).join()}}`,
  `{"content":${'9'.repeat(200_000)}}`,
  `{"content":1e${'9'.repeat(1000)}}`,
  '{"__proto__":{"content":"x","title":"y"},"constructor":{"prototype":{"a":1}}}',
  '{"content":"a","content":"b","title":"c","title":null}',
  `{"title":"t","content":"${'\\ud83d'.repeat(8000)}"}`,
  `{"title":"t","content":"${'\\u0000'.repeat(8000)}"}`,
  '{"content":"a"}\u0000',
  '\ufeff{"content":"a"}',
  '{"content":"a"} {"content":"b"}',
  ' '.repeat(200_000),
  'null',
  '"text"',
  '{"a":Infinity}',
)

function bodyOf({ body, method }: Route): Arbitrary<string> {
  if (body === undefined) return fc.constantFrom('', method === 'get' ? '' : '{"ignored":1}')
  const json = (value: unknown) => JSON.stringify(value) ?? ''
  const valid = valueFor(body).map(json)
  return fc.oneof(
    { weight: 30, arbitrary: valid },
    { weight: 2, arbitrary: anyJson.map(json) },
    { weight: 1, arbitrary: anyText },
    { weight: 1, arbitrary: bombs },
    { weight: 2, arbitrary: fc.tuple(valid, fc.nat(100)).map(([text, at]) => text.slice(0, -at)) },
  )
}

function requestTo(route: Route): Arbitrary<FuzzRequest> {
  const own = fc.constant(route.method.toUpperCase())
  return fc.record({
    kind: fc.constant('request' as const),
    method: fc.oneof({ weight: 15, arbitrary: own }, methods),
    path: fc.tuple(pathOf(route), queryOf(route)).map(([path, query]) => path + query),
    headers: headersOf(route),
    body: bodyOf(route),
  })
}

const anyRequest = fc.oneof(
  ...routes.map((route) => {
    const { body, query, id } = route
    const weight = body !== undefined ? 6 : query !== undefined || id !== undefined ? 3 : 1
    return { weight, arbitrary: requestTo(route) }
  }),
)

/** Returns the bytes of a request, with every placeholder replaced by `fill`. */
export function textOf(request: FuzzRequest, fill: (text: string) => string): string {
  const body = Buffer.from(fill(request.body).toWellFormed()).toString('latin1')
  const lines = request.headers.map(([name, value]) => `${name}: ${fill(value)}\r\n`)
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`
  const head = `${request.method} ${fill(request.path)} HTTP/1.1\r\nHost: forum.example\r\n`
  const printable = (head + lines.join('') + length).replaceAll(/[^\x20-\x7e\r\n]/g, '?')
  return `${printable}\r\n${body}`
}

const framings = fc.constantFrom(
  'Content-Length: 0\r\nContent-Length: 44\r\n',
  'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
  'Transfer-Encoding: xchunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Content-Length:\r\n 5\r\n',
  'Content-Length: 5\n',
  `X: ${'y'.repeat(70_000)}\r\n`,
  'a: b\r\n'.repeat(200),
  '\r\n',
  'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: x\r\n',
)

const chunked = fc.constantFrom(
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  'fffffffffffffffff\r\n',
  '-1\r\nx',
  '5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n',
  'GET /api/status HTTP/1.1\r\nHost: x\r\n\r\n',
)

/** A change to the bytes of a request: some are cut out, and others are inserted. */
const change = fc.record({
  at: fc.nat(400),
  length: fc.nat(20),
  put: fc.oneof(
    fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 20 }),
    framings,
    chunked,
    fc.constantFrom('\r', '\n', '\r\n', '\0', ' ', ':', '\t'),
  ),
})

const anyBytes: Arbitrary<FuzzBytes> = fc
  .oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(anyRequest, fc.array(change, { minLength: 1, maxLength: 3 }), fc.nat(3))
        .map(([request, changes, more]) => {
          const text = textOf(request, (each) => each).repeat(more + 1)
          return changes.reduce((whole, { at, length, put }) => {
            return whole.slice(0, at) + put + whole.slice(at + length)
          }, text)
        }),
    },
    {
      weight: 1,
      arbitrary: fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)) }),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(framings, chunked).map(([framing, rest]) => {
        return `POST /api/identities HTTP/1.1\r\nHost: x\r\n${framing}\r\n${rest}`
      }),
    },
  )
  .map((text) => ({ kind: 'bytes' as const, text }))

const input: Arbitrary<Input> = fc.oneof(
  { weight: 4, arbitrary: anyRequest },
  { weight: 1, arbitrary: anyBytes },
)
