// Goal:   a thread with `ttl_seconds` expires on a real node: nobody finds it by any route, in any
//         process; whatever waits for it, or holds a part of it, ends as docs/operating.md,
//         "Retention" says; and soon no file of the data directory has its text.
// Method: the real program with a reader, the search and a webhook. The shortest life is a minute.
//         The node's clock is set ahead in small steps; without libfaketime, the test waits.

import t from 'tap'
import { newKey, publishedThread } from '../api/harness.ts'
import { run } from '../api/process.ts'
import { deliveriesOf, lab, newReceiver, settled, woken } from '../api/webhook-lab.ts'
import { timeoutMs } from '../depth.ts'
import { findAll, indexed, searchedForum } from '../forum/search/forum.ts'
import { visit } from '../people/browser.ts'
import { until } from '../until.ts'
import { filesWith } from './files-with.ts'
import { newClock, passTimeUntil } from './node-clock.ts'

t.setTimeout(timeoutMs)

t.test('a real node: a thread expires: gone for all, and from every file', async (t) => {
  const clock = newClock(t)
  const flags = ['--readers', '1', '--segment-mb', '4', '--retention-days', '40', ...lab]
  const forum = await searchedForum(t, flags, { environment: clock?.environment ?? {} })
  const [ana, bob] = [await forum.identity({ display_name: 'Ana' }), await forum.identity()]
  const word = `mortal${process.pid}`
  const content = `Content with ${word}`
  const other = await publishedThread(bob, { content: 'A thread that stays' })
  const sent = { title: `Title ${word}`, content, tags: ['mortal'], ttl_seconds: 60 }
  const key = { 'idempotency-key': 'the-key-of-the-mortal' }
  const made = await ana.post('/api/threads', sent, key)
  t.equal(made.status, 201)
  const { thread_id: thread } = made.body
  const receiver = await newReceiver()
  await woken(bob, receiver)
  receiver.behave = (_, response) => response.writeHead(500).end()
  await bob.subscribe(thread)
  const replied = await ana.reply(thread, content)
  t.match(await settled(bob), [{ state: 'pending', attempts: 1 }])
  const { body: ticket } = await forum.anonymous.get('/api/compat/ticket')
  const seconds = { seconds: 600 }
  await ana.post(`/api/threads/${thread}/claim`, seconds, { 'idempotency-key': newKey() })
  const shown = await ana.read(thread)
  t.equal(shown.body.thread.expires_at, replied.body.created_at + 60_000)
  t.match((await visit(forum, `/t/${thread}`)).text, /expires/)
  await indexed(forum)
  t.equal((await findAll(bob, word)).length, 2)
  t.ok(filesWith(forum.data, word).length > 0)
  t.notMatch((await ana.read(other)).body.thread, { expires_at: Number })

  const last = shown.body.messages.at(-1)!.seq
  const polled = bob.read(thread, `?after=${last}&wait=50`)
  const poll = { method: 'GET', path: `/api/threads/${thread}?after=${last}` }
  const batch = bob.post('/api/batch', { requests: [poll], wait: 50 })
  const isGone = async () => (await bob.read(thread)).status === 404
  const ahead = await passTimeUntil('the thread to expire', isGone, [clock])
  t.equal((await polled).status, 404, 'a poll that waits for it')
  t.match((await batch).text, '{"responses":[{"status":404,', 'a batch that waits for it')

  for (let i = 0; i < 8; i++) {
    t.match((await ana.get('/api/status')).body, { retention_days: 40 })
    t.equal((await ana.read(thread)).status, 404, 'its author, in every process')
    t.same(
      (await forum.anonymous.get('/api/threads')).body.threads.map(({ id }) => id),
      [other],
    )
  }
  t.equal((await visit(forum, `/t/${thread}`)).status, 404)
  t.same((await bob.feed()).body.notifications, [])
  t.match((await bob.get('/api/tags')).text, '{"tags":[],')
  t.match((await bob.get(`/api/identities/${ana.id}`)).text, '"public_messages":0')
  t.match((await forum.anonymous.get('/api/identities?name=ana')).text, '{"identities":[],')
  t.same(await findAll(bob, word), [])
  t.equal((await ana.reply(thread, 'Late')).status, 404)
  const again = await ana.post('/api/threads', { ...sent, content: 'Something else' }, key)
  t.match(again, { status: 200, body: { thread_id: thread, replayed: true } })
  t.equal((await ana.post('/api/threads', { ...sent, ttl_seconds: 61 }, key)).status, 409)
  const ended = await ana.del(`/api/threads/${thread}/claim`)
  t.equal(ended.status, 404, 'its claim has ended')
  const byGet = (to: Record<string, string>) => {
    const said = { ticket: ticket.ticket, ack: 'publish', content: 'by GET', ...to }
    return forum.anonymous.get(`/api/compat/publish?${new URLSearchParams(said)}`)
  }
  t.equal((await byGet({ thread_id: thread })).status, 404)
  t.equal((await byGet({ title: 'Another' })).status, 201, 'the ticket was not used')
  const lock = await run(['admin', 'lock-thread', thread, '--data', forum.data])
  t.not(lock.code, 0, 'operators do not find it either')

  const calls = receiver.received.length
  const isCancelled = async () => {
    await ana.thread() // a node looks at what is due when something is published
    return (await deliveriesOf(bob)).every((each) => each.state === 'cancelled')
  }
  await passTimeUntil('the delivery to be due again', isCancelled, [clock], ahead)
  t.equal(receiver.received.length, calls, 'nobody is woken for it')
  await until('its text to leave all files', () => filesWith(forum.data, word).length === 0)
  await forum.stop()
  t.same(filesWith(forum.data, word), [])
  await forum.start()
  t.equal((await ana.read(thread)).status, 404)
  t.equal((await ana.read(other)).status, 200)
  const exported = await run(['export', '--data', forum.data])
  t.notOk(exported.stdout.includes(thread))
})
