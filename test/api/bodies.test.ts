// Request bodies: type, size and syntax. docs/interface.md, "Bodies" and "Unknown fields and
// parameters".

import t from 'tap'
import { dropBytesMax } from '../../src/edge/http/incoming-body.ts'
import { type Client, type Headers, newKey, publishedThread, startForum } from './harness.ts'
import { requestText, wire } from './wire.ts'

const forum = await startForum(t)
const { anonymous } = forum
const ana = await forum.identity()
const id = await publishedThread(ana)
const limitBytes = 256 * 1024
const json = { 'content-type': 'application/json' }

const writes: [string, string][] = [
  ['identity', '/api/identities'],
  ['thread', '/api/threads'],
  ['reply', `/api/threads/${id}/replies`],
]

function post(path: string, body: string | Uint8Array | null, headers: Headers = json) {
  return ana.send('POST', path, { 'idempotency-key': newKey(), ...headers }, body)
}

/** Returns `body` as JSON, padded to this length with a field that the server ignores. */
function padded(body: object, bytes: number): string {
  const start = `${JSON.stringify(body).slice(0, -1)},"x":"`
  return `${start}${'x'.repeat(bytes - Buffer.byteLength(start) - 2)}"}`
}

for (const [what, path] of writes) {
  t.test(`${what}: a content type other than JSON, or none: json_required`, async (t) => {
    const wrong = ['', 'text/plain', 'application/jsonx', 'text/json', 'application/x-json', 'json']
    for (const type of [...wrong, 'multipart/form-data; boundary=x', 'a, application/json']) {
      const { status, body } = await post(path, '{}', { 'content-type': type })
      t.equal(`${status} ${body.error}`, '415 json_required', type)
    }
    for (const body of ['{}', '', null]) {
      t.equal((await post(path, body, {})).body.error, 'json_required')
    }
  })

  t.test(`${what}: a body that is no JSON object: invalid_json`, async (t) => {
    const texts = [
      '',
      ' ',
      '{',
      '{}}',
      'null',
      'true',
      '1',
      '"x"',
      '[]',
      '[{}]',
      "{'a':1}",
      '{a:1}',
    ]
    for (const body of [...texts, '{"a":1,}', '{"a":NaN}', '{"a":"\n"}', '\ufeff{}', '{}\0']) {
      const { status, body: answer } = await post(path, body)
      t.equal(`${status} ${answer.error}`, '400 invalid_json', JSON.stringify(body))
    }
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90]]) {
      const body = Buffer.concat([Buffer.from('{"title":"'), Buffer.from(bytes), Buffer.from('"}')])
      const { status, body: answer } = await post(path, body)
      t.equal(`${status} ${answer.error}`, '400 invalid_json', body.toString('hex'))
    }
    const utf16 = Buffer.from('{"title":"t","content":"c"}', 'utf16le')
    t.equal((await post(path, utf16)).body.error, 'invalid_json')
  })

  t.test(`${what}: 256 KiB: read; a byte more: too_large`, async (t) => {
    const fields = { title: 't', content: 'c' }
    t.equal((await post(path, padded(fields, limitBytes))).status, 201)
    const { status, body } = await post(path, padded(fields, limitBytes + 1))
    t.equal(`${status} ${body.error}`, '413 too_large')
    t.equal((await post(path, 'x'.repeat(limitBytes + 1))).status, 413, 'before it is parsed')
  })
}

t.test('body: far too long: the connection is closed before its end', async (t) => {
  const pieces = 8
  const headers = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${ana.token}`,
    'Content-Length': `${pieces * dropBytesMax}`,
  }
  const { socket } = await wire(t, forum.port)
  socket.write(requestText('POST', '/api/threads', headers))
  let written = 0
  while (written < pieces && !socket.destroyed) {
    await new Promise((resolve) => socket.write(Buffer.alloc(dropBytesMax, ' '), resolve))
    written += 1
  }
  t.ok(written < pieces, `${written} pieces were read`)
})

t.test('body: content type with parameters, in any case: read', async (t) => {
  const types = ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json ;a=b']
  for (const type of types) {
    t.equal((await post('/api/identities', '{}', { 'content-type': type })).status, 201, type)
  }
})

/** Resolves to the answers to bodies with arrays nested this deep, wherever an array is allowed. */
async function answersToNested(depth: number): Promise<string[]> {
  const arrays = '['.repeat(depth) + ']'.repeat(depth)
  const asField = (field: string) => `{"content":"c","title":"t","${field}":${arrays}}`
  const answers = [
    await post('/api/threads', arrays),
    await post('/api/threads', asField('title')),
    await post('/api/threads', asField('visibility')),
    await post('/api/threads', asField('participant_ids')),
    await post('/api/threads', asField('idempotency_key')),
    await post('/api/threads', `{"content":"c","title":"t","participant_ids":[${arrays}]}`),
    await post('/api/threads', asField('unknown')),
  ]
  return answers.map(({ status, body }) => `${status} ${body.error ?? ''}`)
}

t.test('body: nested a hundred thousand deep: no JSON, and the server lives', async (t) => {
  const depth = 100_000
  t.strictSame(await answersToNested(depth), new Array(7).fill('400 invalid_json'))
  const objects = `${'{"a":'.repeat(depth / 2)}1${'}'.repeat(depth / 2)}`
  t.equal((await post('/api/threads', objects)).body.error, 'too_large')
})

t.test('body: nested as deeply as is allowed: refused or ignored by its fields', async (t) => {
  t.strictSame(await answersToNested(30), [
    '400 invalid_json',
    '400 invalid_field',
    '400 invalid_visibility',
    '400 invalid_members',
    '201 ',
    '400 invalid_members',
    '201 ',
  ])
})

t.test('body: the longest that is allowed, all in escapes: published', async (t) => {
  const surrogates = '\\ud83d\\ude00'
  const identities = await Promise.all(Array.from({ length: 10 }, () => forum.identity()))
  const body = [
    `"title":"${surrogates.repeat(160)}"`,
    `"content":"${surrogates.repeat(8000)}"`,
    `"participant_ids":[${identities.map((member) => `"${escapes(member)}"`).join(',')}]`,
    '"visibility":"private"',
  ]
  const { status } = await post('/api/threads', `{${body.join(',')}}`)
  t.equal(status, 201)
})

function escapes({ id }: Client): string {
  return id.replaceAll(/./g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

t.test('body: names with a meaning in JavaScript: fields like any other', async (t) => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']
  const extra = names.map((name) => `"${name}":{"title":"t","visibility":"secret"}`).join(',')
  const { status } = await post('/api/threads', `{"title":"t","content":"c",${extra}}`)
  t.equal(status, 201)
  const { status: withoutTitle } = await post('/api/threads', `{"content":"c",${extra}}`)
  t.equal(withoutTitle, 400)
  t.equal((await post('/api/identities', '{"__proto__":{"kind":"compat"}}')).status, 201)
})

t.test('body: a field named twice: the last counts, as JSON.parse has it', async (t) => {
  const { status, body } = await post('/api/threads', '{"title":"","content":"c","title":"last"}')
  t.equal(status, 201)
  t.equal((await anonymous.get(body.read_url)).body.thread.title, 'last')
})

t.test('body: where none is expected: ignored, whatever it is', async (t) => {
  const path = `/api/threads/${id}/subscribe`
  for (const body of ['', '{', 'x'.repeat(limitBytes + 1), '{"subscribed":false}']) {
    for (const headers of [{}, json, { 'content-type': 'text/plain' }]) {
      t.equal((await ana.send('POST', path, headers, body)).body.subscribed, true)
      t.equal((await ana.send('DELETE', path, headers, body)).body.subscribed, false)
    }
  }
})

t.test('error: order: token, id, query, type, size, JSON, key, fields, visibility', async (t) => {
  const absent = `/api/threads/thr_${'0'.repeat(32)}/replies`
  const steps: [string, Client, string, Headers, string][] = [
    ['authentication_required', anonymous, '/api/threads/x/replies', {}, '{'],
    ['invalid_id', ana, '/api/threads/x/replies', {}, '{'],
    ['json_required', ana, absent, {}, 'x'.repeat(limitBytes + 1)],
    ['too_large', ana, absent, json, 'x'.repeat(limitBytes + 1)],
    ['invalid_json', ana, absent, json, '{'],
    ['idempotency_required', ana, absent, json, '{}'],
    ['invalid_field', ana, absent, { ...json, 'idempotency-key': newKey() }, '{}'],
    ['not_found', ana, absent, { ...json, 'idempotency-key': newKey() }, '{"content":"c"}'],
  ]
  for (const [code, caller, path, headers, body] of steps) {
    t.equal((await caller.send('POST', path, headers, body)).body.error, code)
  }
})
