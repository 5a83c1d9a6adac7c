// Paths and methods: docs/interface.md, "Paths and methods" and "Headers".

import t from 'tap'
import { startForum } from './harness.ts'
import { requestText, wire } from './wire.ts'

const forum = await startForum(t)
const { anonymous } = forum
const id = `thr_${'0'.repeat(32)}`

const paths: Record<string, string> = {
  '/': 'GET, HEAD, OPTIONS',
  '/api/status': 'GET, HEAD, OPTIONS',
  '/api/identities': 'POST, GET, HEAD, OPTIONS',
  '/api/identities/me': 'GET, PATCH, HEAD, OPTIONS',
  '/api/threads': 'GET, POST, HEAD, OPTIONS',
  [`/api/threads/${id}`]: 'GET, HEAD, OPTIONS',
  [`/api/threads/${id}/replies`]: 'POST, OPTIONS',
  [`/api/threads/${id}/subscribe`]: 'POST, DELETE, OPTIONS',
  '/api/tags/a:b/subscribe': 'POST, DELETE, OPTIONS',
  '/api/notifications': 'GET, HEAD, OPTIONS',
  '/api/notifications/read': 'GET, PUT, HEAD, OPTIONS',
  '/openapi.json': 'GET, HEAD, OPTIONS',
}
// All methods that the HTTP library accepts. On any other it closes the connection.
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

for (const [path, allow] of Object.entries(paths)) {
  t.test(`${path}: OPTIONS: 204 with Allow, and no content`, async (t) => {
    const { status, headers, text } = await anonymous.send('OPTIONS', path)
    t.strictSame([status, headers.allow, text], [204, allow, ''])
    t.notOk('content-length' in headers)
  })

  const others = methods.filter((method) => !allow.split(', ').includes(method))
  t.test(`${path}: ${others}: 405 with Allow`, async (t) => {
    for (const method of others) {
      const { status, headers, text } = await anonymous.send(method, path)
      t.strictSame([status, headers.allow], [405, allow], method)
      if (method === 'HEAD') t.equal(text, '')
      else t.equal(JSON.parse(text).error, 'method_not_allowed')
    }
  })
}

t.test('HEAD: the answer to GET without its body', async (t) => {
  const ana = await forum.identity()
  const { body } = await ana.thread()
  const readable = ['/', '/api/threads', body.read_url, '/api/notifications', '/openapi.json']
  for (const path of [...readable, '/api/threads/x', '/api/threads?limit=0']) {
    const got = await ana.get(path)
    const { status, headers, text } = await ana.send('HEAD', path)
    t.strictSame([status, text], [got.status, ''], path)
    t.equal(headers['content-length'], got.headers['content-length'], path)
  }
  t.equal((await anonymous.send('HEAD', '/api/notifications')).status, 401)
})

t.test('HEAD and OPTIONS on one connection: the following answers are in sync', async (t) => {
  const connection = await wire(t, forum.port)
  for (const method of ['HEAD', 'OPTIONS', 'GET', 'HEAD', 'HEAD', 'GET']) {
    await connection.write(requestText(method, '/api/threads'))
    const { status, text } = await connection.answer({ hasBody: method === 'GET' })
    t.equal(status, method === 'OPTIONS' ? 204 : 200)
    if (method === 'GET') t.strictSame(JSON.parse(text).threads.length, 1)
  }
})

t.test('path: unknown: 404, whatever the method', async (t) => {
  const unknown = [
    '/api',
    '/api/',
    '/api/nothing',
    '/api/status/',
    '/API/status',
    '//api/status',
    '/api//status',
    '/api/threads/',
    `/api/threads/${id}/`,
    `/api/threads/${id}/replies/`,
    `/api/threads/${id}/replies/x`,
    `/api/threads/${id}/other`,
    '/api/threads//replies',
    '/openapi.json/',
    '/%61pi/status',
  ]
  for (const path of unknown) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const { status, body } = await anonymous.send(method, path)
      t.equal(`${status} ${body.error}`, '404 not_found', `${method} ${path}`)
      for (const guide of ['/llms.txt', '/openapi.json', '/notifications.txt', '/governance.txt']) {
        t.match(body.message, guide, `${method} ${path}`)
      }
    }
    t.equal((await anonymous.send('HEAD', path)).status, 404)
  }
})

t.test('error: its body: a code and a sentence, and nothing else', async (t) => {
  const answers = [
    await anonymous.get('/nowhere'),
    await anonymous.get('/api/threads/x'),
    await anonymous.get('/api/notifications'),
    await anonymous.send('PUT', '/api/status'),
  ]
  for (const { text } of answers) {
    t.strictSame(Object.keys(JSON.parse(text)), ['error', 'message'])
    // A sentence about a parameter begins with its name, as callers have to write it.
    t.match(JSON.parse(text).message, /^(?:[A-Z]|threadId must ).*\.$/)
  }
})
