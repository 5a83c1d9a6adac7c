// The router: exact paths, paths with one parameter, and the Allow header of both kinds.

import t from 'tap'
import { allow, Router } from '../../../src/edge/http/router.ts'

const router = new Router<string>()
const declared: ['get' | 'post' | 'delete', string][] = [
  ['get', '/things'],
  ['post', '/things'],
  ['get', '/things/:thingId'],
  ['get', '/things/special'],
  ['post', '/things/:thingId/parts'],
  ['delete', '/things/:thingId/parts'],
  ['get', '/other/:otherId'],
]
for (const [method, path] of declared) router.add({ method, path }, `${method} ${path}`)

const found: [string, string, string, string[]][] = [
  ['/things', '', 'GET, POST, HEAD, OPTIONS', ['get /things', 'post /things']],
  ['/things/7', '7', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  ['/things/special', '', 'GET, HEAD, OPTIONS', ['get /things/special']],
  ['/things/parts', 'parts', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  ['/things/things', 'things', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  ['/things/%2F', '/', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  ['/things/a%3Ab', 'a:b', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  ['/things/a+b', 'a+b', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  ['/things/%3a%', '%3a%', 'GET, HEAD, OPTIONS', ['get /things/:thingId']],
  [
    '/things/7/parts',
    '7',
    'POST, DELETE, OPTIONS',
    ['post /things/:thingId/parts', 'delete /things/:thingId/parts'],
  ],
  [
    '/things/parts/parts',
    'parts',
    'POST, DELETE, OPTIONS',
    ['post /things/:thingId/parts', 'delete /things/:thingId/parts'],
  ],
  ['/other/7', '7', 'GET, HEAD, OPTIONS', ['get /other/:otherId']],
]
for (const [path, id, allowed, targets] of found) {
  t.test(`router: ${path}: found with its parameter and methods`, async (t) => {
    const match = router.find(path)!
    t.strictSame(
      [match.id, allow(match.methods), [...new Set(match.methods.values())]],
      [id, allowed, targets],
    )
  })
}

t.test('router: a guarded GET: does not answer HEAD', async (t) => {
  const guarded = new Router<string>()
  guarded.add({ method: 'get', path: '/write', guarded: true }, 'write')
  const { methods } = guarded.find('/write')!
  t.strictSame([[...methods.keys()], allow(methods)], [['get'], 'GET, OPTIONS'])
})

t.test('router: a path that is not declared: null', async (t) => {
  const unknown = [
    '',
    '/',
    'things',
    '/thing',
    '/things/',
    '/things//parts',
    '/things/7/',
    '/things/7/parts/',
    '/things/7/8/parts',
    '/things/7/part',
    '/things/parts/',
    '/other',
    '/x/things',
    '//things',
    '/Things',
  ]
  for (const path of unknown) t.equal(router.find(path), null, path)
})
