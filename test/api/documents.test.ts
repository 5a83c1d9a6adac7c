// The guides are correct: their requests work, and their example signatures can be recomputed.

import { createHmac } from 'node:crypto'
import t from 'tap'
import { type Forum, startForum } from './harness.ts'
import { wire } from './wire.ts'

let forum: Forum
t.before(async () => {
  forum = await startForum(t, ['--public-url', 'https://forum.example', '--poll-after', '45'])
})

async function text(path: string): Promise<string> {
  const { status, text } = await forum.anonymous.get(path)
  t.equal(status, 200, path)
  return text
}

t.test('guides: any caller: fetched: text that links only to what is served', async (t) => {
  const paths = [
    '/',
    '/notifications.txt',
    '/governance.txt',
    '/llms.txt',
    '/.well-known/agent-forum.json',
  ]
  for (const path of paths) {
    const guide = await text(path)
    const links = [...guide.matchAll(/https:\/\/forum\.example(\/[\w./-]*)/g)]
    t.not(links.length, 0, path)
    for (const [, link] of links) {
      const { headers } = await forum.anonymous.send('OPTIONS', link.replace(/\/$/, ''))
      if (/\/(threads|proposals)\/$|^\/api$/.test(link)) continue // before an id, or a base
      t.match(headers.allow, 'OPTIONS', `${path} links to ${link}`)
    }
    t.notMatch(guide, /undefined|127\.0\.0\.1/)
  }
  t.match(await text('/robots.txt'), 'Disallow: /api/')
  t.equal((await forum.anonymous.send('POST', '/llms.txt')).headers.allow, 'GET, HEAD, OPTIONS')
})

t.test('llms.txt: an agent follows it: an identity, a thread, a feed', async (t) => {
  const guide = await text('/llms.txt')
  const body = JSON.parse(/POST \S+\/api\/identities with (\{.*\})/.exec(guide)![1])
  const ana = await forum.identity(body)
  const ben = await forum.identity()
  const { thread_id: id } = (await ana.thread()).body
  const reply = await ben.reply(id)
  t.equal(reply.status, 201)
  t.equal((await ana.feed('?after=0')).body.notifications[0].message_id, reply.body.message_id)
})

t.test('notifications.txt: an agent polls as described: reads what is new', async (t) => {
  t.match(await text('/notifications.txt'), 'wait 45 seconds')
  const [ana, ben] = [await forum.identity(), await forum.identity()]
  const { thread_id: id } = (await ana.thread()).body
  await ben.reply(id, 'older')
  await ben.reply(id, 'newest')
  const { notifications } = (await ana.feed('?after=0&limit=100')).body
  const { thread_id, seq } = notifications[1]
  const { messages } = (await ana.read(thread_id, `?after=${seq - 1}`)).body
  t.strictSame(
    messages.map(({ content }) => content),
    ['newest'],
  )
})

t.test(
  'notifications.txt: its worked example: recomputed by its own rules: the same',
  async (t) => {
    const guide = await text('/notifications.txt')
    const field = (name: string) => new RegExp(`^  ${name}:? +(.+)$`, 'm').exec(guide)![1]
    const [secret, body] = [field('secret'), field('body')]
    const signed = { id: field('id'), timestamp: field('timestamp') }
    t.match(JSON.parse(body), { type: 'webhook.challenge', event_id: signed.id })

    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    const standard = createHmac('sha256', key).update(`${signed.id}.${signed.timestamp}.${body}`)
    t.match(guide, `webhook-signature: v1,${standard.digest('base64')}`)
    const older = createHmac('sha256', secret).update(`${signed.timestamp}.${signed.id}.${body}`)
    t.match(guide, `X-AI-Commons-Signature: v1=${older.digest('hex')}`)
  },
)

t.test('discovery: any caller: fetched: the links of this node', async (t) => {
  const links = JSON.parse(await text('/.well-known/agent-forum.json'))
  t.equal(links.openapi, 'https://forum.example/openapi.json')
  t.equal(links.api, 'https://forum.example/api')
})

t.test('/: any caller: 200, a text that names the guides and the document', async (t) => {
  const welcome = await text('/')
  for (const path of ['llms.txt', 'openapi.json', 'notifications.txt', 'governance.txt']) {
    t.match(welcome, `https://forum.example/${path}\n`)
  }
})

t.test('llms.txt: a caller that can only fetch URLs: learns how, and publishes', async (t) => {
  const guide = await text('/llms.txt')
  const [, ticketPath] = /GET https:\/\/forum\.example(\/\S+ticket)\n/.exec(guide)!
  const [, publishPath] = /GET https:\/\/forum\.example(\/\S+publish\?\S+)\n/.exec(guide)!
  const { ticket } = (await forum.anonymous.get(ticketPath)).body
  const filled = publishPath
    .replace('<ticket>', ticket)
    .replace('<title>', 'By%20GET')
    .replace('<content>', 'Only%20URLs')
  const { status, body } = await forum.anonymous.get(filled)
  t.equal(status, 201)
  t.equal((await forum.anonymous.get(body.read_url)).body.thread.title, 'By GET')
  const links = JSON.parse(await text('/.well-known/agent-forum.json'))
  t.equal(links.get_publishing.ticket, `https://forum.example${ticketPath}`)
  t.equal(links.get_publishing.publish, 'https://forum.example/api/compat/publish')
})

t.test('guides: with --no-compat: nothing about publishing by GET', async (t) => {
  const without = await startForum(t, ['--no-compat'])
  for (const path of ['/', '/llms.txt', '/.well-known/agent-forum.json']) {
    const { status, text } = await without.anonymous.get(path)
    t.equal(status, 200, path)
    t.notMatch(text, /\/api\/compat|get_publishing/, path)
  }
  const paths = Object.keys(without.document!.openApi.paths)
  t.notOk(paths.some((path) => path.startsWith('/api/compat')))
})

t.test('/openapi.json: fetched again with its ETag: 304 without a body', async (t) => {
  const { headers, text } = await forum.anonymous.get('/openapi.json')
  t.match(headers.etag, /^"[\w-]+"$/)
  const known = [headers.etag, `W/${headers.etag}`, `"other", ${headers.etag}`, '*']
  for (const tag of known) {
    const again = await forum.anonymous.get('/openapi.json', { 'if-none-match': tag })
    t.strictSame([again.status, again.text, again.headers.etag], [304, '', headers.etag], tag)
    const head = await forum.anonymous.send('HEAD', '/openapi.json', { 'if-none-match': tag })
    t.equal(head.status, 304)
  }
  for (const tag of ['"other"', headers.etag.slice(1, -1), '']) {
    const other = await forum.anonymous.get('/openapi.json', { 'if-none-match': tag })
    t.strictSame([other.status, other.text], [200, text], tag)
  }
  t.notOk('etag' in (await forum.anonymous.get('/llms.txt')).headers)
})

const guides = ['/', '/llms.txt', '/notifications.txt', '/governance.txt']
const documents = [...guides, '/openapi.json', '/.well-known/agent-forum.json']

t.test('without a public URL: documents name the host of the request', async (t) => {
  const open = await startForum(t, ['--host', '0.0.0.0'])
  for (const [host, origin] of [
    ['forum.lan:8787', 'http://forum.lan:8787'],
    ['192.168.1.5', 'http://192.168.1.5'],
    ['[FD00::5]:80', 'http://[fd00::5]'],
    ['Forum_1.LAN', 'http://forum_1.lan'],
  ]) {
    for (const path of documents) {
      const { text } = await open.anonymous.get(path, { host })
      t.match(text, origin, path)
      t.notMatch(text, /0\.0\.0\.0/, path)
    }
  }
  const { headers } = await open.anonymous.get('/openapi.json', { host: 'a.lan' })
  const etag = { 'if-none-match': headers.etag }
  const ask = async (host: string) =>
    (await open.anonymous.get('/openapi.json', { host, ...etag })).status
  t.equal(await ask('a.lan'), 304)
  t.equal(await ask('b.lan'), 200, 'another origin is another document')
})

t.test('an invalid Host: not named in any document', async (t) => {
  const local = await startForum(t, ['--allowed-hosts', '*'])
  const odd = ['a"b', 'a/b', 'a b', '<b>', 'a:b', 'a:99999', 'u@h', '[::1', '%41', '-a', '']
  for (const host of odd) {
    for (const path of documents) {
      const connection = await wire(t, local.port)
      await connection.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      const { status, text } = await connection.answer()
      t.equal(status, 200)
      t.match(text, local.url, `${path} ${host}`)
      connection.socket.destroy()
    }
  }
})

t.test('a public URL: documents name it, whatever the host of the request', async (t) => {
  const other = await startForum(t, [
    ...['--public-url', 'https://forum.example', '--allowed-hosts', '*'],
  ])
  for (const path of documents) {
    const { text } = await other.anonymous.get(path, { host: 'elsewhere.example' })
    t.match(text, 'https://forum.example')
    t.notMatch(text, 'elsewhere')
  }
})

for (const host of ['0.0.0.0', '::']) {
  t.test(`--host ${host}: a warning at the start, but not with a public URL`, async (t) => {
    const { log } = await startForum(t, ['--host', host])
    const line = log.split('\n').find((line) => line.includes('public_url_missing'))
    t.match(JSON.parse(line!), { level: 40, hint: /--public-url/, inbox_url: /\/api\/notif/ })
    const known = await startForum(t, ['--host', host, '--public-url', 'https://forum.example'])
    t.notMatch(known.log, 'public_url_missing')
  })
}
