// Publishing by GET: docs/interface.md, "Publishing by GET"; docs/faults.md, row 26.

import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Answer, type Client, type Forum, publishedThread, startForum } from './harness.ts'
import { requestText, wire } from './wire.ts'

/** More tickets than these tests request. */
const flags = ['--ticket-limit', '1000']
const forum = await startForum(t, flags)
const { anonymous } = forum
const path = '/api/compat/publish'

async function newTicket(client: Client = anonymous): Promise<string> {
  return (await client.get('/api/compat/ticket')).body.ticket
}

type Parameters = Record<string, string>

function urlOf(parameters: Parameters): string {
  return `${path}?${new URLSearchParams(parameters)}`
}

/** Publishes a thread. `parameters` replace or remove the parameters of a valid request. */
function publish(parameters: Parameters, client = anonymous): Promise<Answer> {
  return client.get(urlOf({ ack: 'publish', content: 'by GET', ...parameters }))
}

function code({ status, body }: Answer): string {
  return `${status} ${body.error}`
}

async function messageCount(of: Forum = forum): Promise<number> {
  const { body } = await of.anonymous.get('/api/threads?limit=50')
  return body.threads.reduce((sum, { message_count }) => sum + message_count, 0)
}

t.test('ticket: requested: all its fields, and nothing is published', async (t) => {
  const before = Date.now()
  const { status, body, text } = await anonymous.get('/api/compat/ticket')
  t.equal(status, 200)
  t.match(body.ticket, /^tkt_[0-9a-f]{32}\.[\w.-]+$/)
  t.ok(body.expires_at! >= before + 120_000 && body.expires_at! <= Date.now() + 120_000)
  const { limits, method, publish_path, required_ack, ...rest } = JSON.parse(text)
  t.strictSame([method, publish_path, required_ack], ['GET', path, 'publish'])
  t.strictSame(limits, { content_utf8_bytes: 1024, url_characters: 4096, public_only: true })
  for (const field of ['effect', 'authorization', 'privacy']) t.match(rest[field], /^[A-Z].+\.$/)
  t.equal(await messageCount(), 0)
})

t.test('thread: published, read, retried: one message by a GET guest', async (t) => {
  const ticket = await newTicket()
  const post = { ticket, title: 'Höfe & + Gärten', content: 'äöü 😀 %41 "x"' }
  const { status, body } = await publish(post)
  t.equal(status, 201)
  t.match(body, { published: true, replayed: false, identity_mode: 'one-message-guest' })
  const again = await publish(post)
  t.strictSame([again.status, again.body], [200, { ...body, replayed: true }])
  const { body: page } = await anonymous.read(body.thread_id)
  t.match(page.thread, { title: post.title, visibility: 'public', display_name: 'GET guest' })
  t.equal(page.messages.length, 1)
  const own = { id: body.message_id, author_id: body.author_id, content: post.content }
  t.match(page.messages[0], { kind: 'compat', display_name: 'GET guest', ...own })
})

t.test('reply: published: the feeds of followers show it', async (t) => {
  const ana = await forum.identity()
  const id = await publishedThread(ana)
  const { status, body } = await publish({ ticket: await newTicket(), thread_id: id })
  t.strictSame([status, body.thread_id], [201, id])
  const { body: feed } = await ana.feed()
  t.strictSame([feed.notifications.length, feed.notifications[0].message_id], [1, body.message_id])
})

t.test('ticket: 100 requests at once: one 201, 99 replays, one message', async (t) => {
  const before = await messageCount()
  const ticket = await newTicket()
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => publish({ ticket, title: 'At once' })),
  )
  const statuses = answers.map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 201).length, 1)
  t.equal(statuses.filter((status) => status === 200).length, 99)
  t.equal(new Set(answers.map(({ body }) => body.message_id)).size, 1)
  t.equal(await messageCount(), before + 1)
})

t.test('ticket: used: other content, title or kind of post: 409', async (t) => {
  const ticket = await newTicket()
  const { body } = await publish({ ticket, title: 'One' })
  for (const other of [
    { title: 'One', content: 'other' },
    { title: 'Two' },
    { thread_id: body.thread_id },
  ] as Parameters[]) {
    t.equal(code(await publish({ ticket, ...other })), '409 ticket_already_used')
  }
})

t.test('checks: several errors at once: the first in order is reported', async (t) => {
  const ticket = await newTicket()
  const absent = `thr_${'0'.repeat(32)}`
  const long = 'x'.repeat(1025)
  const forged = ticket.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  const good = { ticket, ack: 'publish', content: 'x', title: 'T' }
  const { ack: _, ...unacknowledged } = good
  // The rows go from the last check to the first, and each row also fails the checks of all rows
  // above it.
  const rows: [string, Parameters | string][] = [
    ['404 not_found', { ticket, ack: 'publish', content: 'x', thread_id: absent }],
    ['400 invalid_id', { ticket, ack: 'publish', content: 'x', thread_id: 'thr_x' }],
    ['413 too_large', { ticket, ack: 'publish', content: 'ä'.repeat(513), thread_id: 'thr_x' }],
    ['400 invalid_field', { ticket, ack: 'publish', content: long, thread_id: 'thr_x' }],
    ['400 invalid_field', { ticket, ack: 'publish', content: '', thread_id: 'thr_x' }],
    ['400 invalid_field', { ticket, ack: 'publish', content: ' \n\t', title: 'T' }],
    ['400 invalid_field', { ...good, title: '' }],
    ['400 invalid_field', { ...good, title: 'x'.repeat(161) }],
    ['403 invalid_ticket', { ...good, ticket: forged, content: '' }],
    ['403 invalid_ticket', { ...good, ticket: '', content: '' }],
    ['400 publish_ack_required', { ...good, ack: 'yes', ticket: forged, content: '' }],
    ['400 publish_ack_required', { ...unacknowledged, ticket: forged, content: '' }],
    ['400 invalid_query', { ...good, thread_id: 'thr_x', ack: 'yes' }],
    ['400 invalid_query', { ticket: forged, ack: 'yes', content: '' }],
    ['400 invalid_query', { ack: 'yes', content: '', title: 'T' }],
    ['400 invalid_query', { ticket: forged, ack: 'yes', title: 'T' }],
    ['400 invalid_query', { ...good, visibility: 'public', ack: 'yes' }],
    ['400 invalid_query', `${urlOf({ ...good, ack: 'yes' })}&title=T`],
    ['400 invalid_query', `${urlOf(good)}&%74icket=x`],
    ['400 invalid_query', path],
    ['414 url_too_long', { ...good, extra: 'x'.repeat(5000), ack: 'yes' }],
  ]
  for (const [expected, wrong] of rows) {
    const answer = await anonymous.get(typeof wrong === 'string' ? wrong : urlOf(wrong))
    t.equal(code(answer), expected, JSON.stringify(wrong).slice(0, 300))
  }
  t.equal((await publish({ ticket, title: 'T' })).status, 201, 'none of them used the ticket')
})

t.test('query: not percent-encoded UTF-8: refused, the ticket stays unused', async (t) => {
  const ticket = await newTicket()
  const start = `${urlOf({ ticket, ack: 'publish', title: 'T' })}&content=`
  for (const content of ['100%', '%zz', '%E4', '%ED%A0%80', '50%+sure', '%C3x']) {
    const answer = await anonymous.get(start + content)
    t.equal(code(answer), '400 invalid_query', content)
    t.match(answer.body.message, /%25/)
  }
  t.equal(code(await anonymous.get(`${start}x&%ff=1`)), '400 invalid_query')
  const { body } = await anonymous.get(`${start}100%25`)
  t.equal((await anonymous.read(body.thread_id)).body.messages[0].content, '100%')
})

t.test('content: of the maximum length: published unchanged', async (t) => {
  for (const content of [
    'x'.repeat(1024),
    'ä'.repeat(512),
    '😀'.repeat(256),
    'a+b c%2B\r\n\u0000',
  ]) {
    const { status, body } = await publish({ ticket: await newTicket(), title: 'T', content })
    t.equal(status, 201)
    t.equal((await anonymous.read(body.thread_id)).body.messages[0].content, content)
  }
  const ticket = await newTicket()
  const { body } = await publish({ ticket, title: '😀'.repeat(160) })
  t.equal((await anonymous.read(body.thread_id)).body.thread.title, '😀'.repeat(160))
})

t.test('private thread: replied to by GET: not found', async (t) => {
  const ana = await forum.identity()
  const id = await publishedThread(ana, { visibility: 'private' })
  t.equal(code(await publish({ ticket: await newTicket(), thread_id: id })), '404 not_found')
})

t.test('cross-site, prefetch, HEAD: of both: refused, without any effect', async (t) => {
  const before = await messageCount()
  const ticket = await newTicket()
  const url = urlOf({ ticket, ack: 'publish', content: 'x', title: 'T' })
  const refused: [string, Record<string, string>][] = [
    ['403 cross_origin', { origin: 'https://elsewhere.example' }],
    ['403 cross_origin', { origin: 'null' }],
    ['403 cross_site', { 'sec-fetch-site': 'cross-site' }],
    ['403 prefetch', { purpose: 'prefetch' }],
    ['403 prefetch', { 'sec-purpose': 'prefetch;prerender' }],
  ]
  for (const target of ['/api/compat/ticket', url, path, `${path}?${'x'.repeat(5000)}`]) {
    for (const [expected, headers] of refused) {
      t.equal(code(await anonymous.get(target, headers)), expected)
    }
    const head = await anonymous.send('HEAD', target)
    t.strictSame([head.status, head.headers.allow], [405, 'GET, OPTIONS'])
    t.equal((await anonymous.send('OPTIONS', target)).headers.allow, 'GET, OPTIONS')
    t.equal(code(await anonymous.send('POST', target)), '405 method_not_allowed')
  }
  t.equal(await messageCount(), before)
  const own = { origin: forum.url, 'sec-fetch-site': 'same-origin' }
  t.equal((await anonymous.get(url, own)).status, 201, 'the ticket is still unused')
})

t.test('--no-compat: both are absent, also from status and document', async (t) => {
  const without = await startForum(t, ['--no-compat'])
  for (const target of ['/api/compat/ticket', path]) {
    t.equal(code(await without.anonymous.get(target)), '404 not_found')
    t.notOk(without.document!.openApi.paths[target])
  }
  const capability = async (of: Forum) =>
    JSON.parse((await of.anonymous.get('/api/status')).text).capabilities.get_publish_experimental
  t.strictSame([await capability(forum), await capability(without)], [true, false])
  t.ok(forum.document!.openApi.paths[path])
})

t.test('restart: used and unused tickets: work as before', async (t) => {
  const again = await startForum(t, flags)
  const [used, unused] = [await newTicket(again.anonymous), await newTicket(again.anonymous)]
  const first = await publish({ ticket: used, title: 'T' }, again.anonymous)
  await again.stop('SIGKILL')
  await again.start()
  const { body } = await publish({ ticket: used, title: 'T' }, again.anonymous)
  t.strictSame(body, { ...first.body, replayed: true })
  const other = await publish({ ticket: used, title: 'Other' }, again.anonymous)
  t.equal(code(other), '409 ticket_already_used')
  t.equal((await publish({ ticket: unused, title: 'T' }, again.anonymous)).status, 201)
  t.equal(await messageCount(again), 2)
})

t.test('client address: behind a proxy: a ticket is valid for its requester only', async (t) => {
  const behind = await startForum(t, ['--trust-proxy', '--proxy-hops', '2'])
  const ask = (url: string, address: string) =>
    behind.anonymous.get(url, { 'x-forwarded-for': `192.0.2.1, ${address}, 10.0.0.1` })
  for (const [one, other] of [
    ['198.51.100.7', '198.51.100.8'],
    ['2001:db8::7', '2001:db8::8'], // in the same /64, which limits count as one caller
  ]) {
    const { body } = await ask('/api/compat/ticket', one)
    const url = urlOf({ ticket: body.ticket, ack: 'publish', content: 'x', title: 'T' })
    t.equal(code(await ask(url, other)), '403 ticket_client_changed')
    t.equal((await ask(url, one)).status, 201)
  }
})

for (const http of ['auto', 'node']) {
  t.test(`URL: on ${http}: 4096 characters with the origin, not one more`, async (t) => {
    await urlLimit(t, await startForum(t, ['--http', http]))
  })
}

async function urlLimit(t: Test, of: Forum): Promise<void> {
  const urlOfLength = async (characters: number) => {
    const ticket = await newTicket(of.anonymous)
    const url = urlOf({ ticket, ack: 'publish', title: 'T', content: 'x' })
    // A character can be written literally or as a percent-encoded sequence of three characters, so
    // that the URL can have any length.
    const spare = characters - of.url.length - url.length
    const name = '%74%69%74%6C%65'
    const grown = url.replace('title=T', `${name}=T${'%54'.repeat(Math.floor((spare - 10) / 3))}`)
    return grown + '&'.repeat(characters - of.url.length - grown.length)
  }
  const long = await urlOfLength(4096)
  t.equal(code(await of.anonymous.get(`${long}&`)), '414 url_too_long')
  t.equal(code(await of.anonymous.get(long)), '400 invalid_field', 'a long title, read completely')

  const connection = await wire(t, of.port)
  const text = requestText('GET', long)
  const [from, to] = [text.indexOf('/') + 1, text.indexOf(' HTTP/1.1')] // uws.ts, U9
  await connection.write(text.slice(0, from))
  await connection.writeBytes(text.slice(from, to))
  await connection.write(text.slice(to))
  const answer = await connection.answer()
  t.strictSame([answer.status, JSON.parse(answer.text).error], [400, 'invalid_field'])

  const longer = await wire(t, of.port)
  const pieces = requestText('GET', `/api/compat/publish?${'x'.repeat(4980)}`)
  for (let i = 0; i < pieces.length; i += 1000) {
    await longer.write(pieces.slice(i, i + 1000))
    await setTimeout(5)
  }
  const refusal = await longer.answer()
  t.strictSame([refusal.status, JSON.parse(refusal.text).error], [414, 'url_too_long'])
}

t.test('log: whatever was requested: no ticket is logged', async (t) => {
  t.notMatch(forum.log, /tkt_/)
})
