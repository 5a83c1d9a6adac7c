// Wakeups and their deliveries over HTTP: docs/interface.md, "Wakeups".

import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { echo } from '../forum/webhooks/receiver.ts'
import { startForum } from './harness.ts'
import { run } from './process.ts'
import {
  conversation,
  deliveriesOf,
  lab,
  newReceiver,
  path,
  register,
  settled,
  webhookOf,
  woken,
} from './webhook-lab.ts'

const forum = await startForum(t, lab)
/** The node that tests stop or kill, and start again. */
const own = await startForum(t, lab)

t.test('wakeup: messages by others in followed threads: signed, without content', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation(forum)
  const secret = await woken(ana, receiver)
  await ana.reply(thread)
  await ben.reply(thread, 'a text that no wakeup shows')
  await receiver.until(() => receiver.wakeups.length > 0)
  const [delivery, ...more] = await settled(ana)
  t.same(more, [], 'own messages wake nobody')

  const [{ body, headers, text }] = receiver.wakeups
  const { messages } = (await ana.read(thread)).body
  const { seq } = messages[2]
  t.strictSame(body, {
    type: 'notifications.available',
    event_id: delivery.id,
    inbox_url: `${forum.url}/api/notifications`,
    after: seq - 1,
    through: seq,
    created_at: delivery.created_at,
    content_included: false,
  })
  for (const { body, headers } of receiver.received) {
    const name = body.type === 'webhook.challenge' ? 'challenge' : 'wakeup'
    forum.document!.checkSent(name, headers, body)
  }
  t.equal(receiver.received.length, 2, 'a challenge and a wakeup, as /openapi.json has them')
  t.same(new Webhook(secret).verify(text, headers as Record<string, string>), body)
  t.equal(headers['webhook-id'], delivery.id)
  const { id, created_at, delivered_at, ...rest } = delivery
  t.match(id, /^evt_[0-9a-f]{32}$/)
  t.ok(delivered_at! >= created_at)
  t.strictSame(rest, {
    message_seq: seq,
    state: 'delivered',
    attempts: 1,
    next_attempt_at: null,
    last_http_status: 204,
    last_error: null,
  })
  t.same(await deliveriesOf(ana, `?after=${seq}`), [])
  t.same(await deliveriesOf(ben), [], 'only deliveries of the caller are listed')
})

t.test('wakeup: a private thread: its participants are woken by the first message', async (t) => {
  const receiver = await newReceiver()
  const [ana, ben] = await Promise.all([forum.identity(), forum.identity()])
  await woken(ana, receiver)
  await ben.thread({ visibility: 'private', participant_ids: [ana.id] })
  await receiver.until(() => receiver.wakeups.length > 0)
  t.match(await settled(ana), [{ state: 'delivered' }])
})

t.test('wakeup: unsubscribed, replaced, removed: none is sent', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation(forum)
  await woken(ana, receiver)
  await ana.unsubscribe(thread)
  await ben.reply(thread)
  t.same(await deliveriesOf(ana), [])
  await ana.subscribe(thread)
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 1)
  await settled(ana)
  await register(ana, `https://localhost:${receiver.port}/other`)
  await ben.reply(thread)
  t.same(await deliveriesOf(ana), [], 'the queue went with the old one; the new one is unverified')
  await ana.send('POST', `${path}/verify`)
  await ana.del(path)
  await ben.reply(thread)
  t.same(await deliveriesOf(ana), [])
  t.equal(receiver.wakeups.length, 1)
})

t.test('wakeup: the receiver fails: waits for the next attempt, shows the reason', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation(forum)
  await woken(ana, receiver)
  receiver.behave = (_, response) => void response.writeHead(503).end()
  await ben.reply(thread)
  const [delivery] = await settled(ana)
  t.match(delivery, { state: 'pending', attempts: 1, last_http_status: 503 })
  t.equal(delivery.last_error, 'webhook_http_503')
  t.ok(delivery.next_attempt_at! >= delivery.created_at + 60_000)
})

t.test('restart: a webhook and its deliveries: unchanged, and wakeups continue', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation(own)
  const secret = await woken(ana, receiver)
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 1)
  const before = { webhook: await webhookOf(ana), deliveries: await settled(ana) }
  await own.stop()
  await own.start()
  t.same({ webhook: await webhookOf(ana), deliveries: await deliveriesOf(ana) }, before)
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 2)
  const { text, headers } = receiver.wakeups[1]
  t.ok(new Webhook(secret).verify(text, headers as Record<string, string>), 'the same secret')
})

t.test('SIGKILL between the POST and its record: sent again with the same id', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation(own)
  await woken(ana, receiver)
  receiver.behave = () => {} // no answer: the attempt has no outcome yet
  await ben.reply(thread)
  await receiver.until(() => receiver.wakeups.length === 1)
  await own.stop('SIGKILL')
  receiver.behave = echo
  await own.start()
  await receiver.until(() => receiver.wakeups.length === 2)
  const [first, second] = receiver.wakeups
  t.equal(second.headers['webhook-id'], first.headers['webhook-id'])
  t.equal(
    second.text.replace(/localhost:\d+|127.0.0.1:\d+/, ''),
    first.text.replace(/localhost:\d+|127.0.0.1:\d+/, ''),
  )
  t.ok(second.headers['webhook-timestamp']! >= first.headers['webhook-timestamp']!)
  t.match(await settled(ana), [{ state: 'delivered', attempts: 2, id: first.body.event_id }])
})

t.test('its message is removed while it is sent, SIGKILL: the same wakeup again', async (t) => {
  const receiver = await newReceiver()
  const { ana, ben, thread } = await conversation(own)
  await woken(ana, receiver)
  receiver.behave = () => {}
  const text = 'a text that is removed'
  const { message_id } = (await ben.reply(thread, text)).body
  await receiver.until(() => receiver.wakeups.length === 1)
  // The command does not wait for two checkpoints, because the attempt might time out meanwhile.
  const removing = ['admin', 'remove-message', '--yes', message_id, '--no-wait', '--data', own.data]
  const removed = await run(removing)
  t.equal(removed.code, 0, removed.stderr)
  await own.stop('SIGKILL')
  receiver.behave = echo
  await own.start()
  await receiver.until(() => receiver.wakeups.length === 2)
  const [first, second] = receiver.wakeups.map(({ body }) => body)
  t.same({ ...second, inbox_url: '' }, { ...first, inbox_url: '' })
  for (const { text: sent } of receiver.received) t.notMatch(sent, text)
  t.match(await settled(ana), [{ state: 'delivered', attempts: 2, id: first.event_id }])
  const { notifications } = (await ana.feed()).body
  t.match(notifications.at(-1), { message_id }, 'the feed shows its place')
})

t.test(
  'stopping while a receiver is silent: the attempt ends, and the stop is clean',
  async (t) => {
    const receiver = await newReceiver()
    const { ana, ben, thread } = await conversation(own)
    await woken(ana, receiver)
    receiver.behave = () => {}
    await ben.reply(thread)
    await receiver.until(() => receiver.wakeups.length === 1)
    const verifying = ana.send('POST', `${path}/verify`)
    await receiver.until(() => receiver.received.length === 3)
    const ended = await own.stop()
    t.match(ended, { code: 0 })
    t.match(JSON.parse((await verifying).text), { verified: false, error: 'webhook_timeout' })
    await own.start()
    t.match(await deliveriesOf(ana), [{ attempts: 1, last_error: 'webhook_timeout' }])
  },
)
