// Deliveries: merging, attempts and their outcomes, and receipts.

import t from 'tap'
import { expireGuests } from '../../../src/forum/identities/commands.ts'
import { eraseMessage, type Moderated } from '../../../src/forum/moderation/commands.ts'
import { reply } from '../../../src/forum/threads/commands.ts'
import { removeWebhook } from '../../../src/forum/webhooks/commands.ts'
import {
  beginAttempt,
  eventId,
  finishAttempt,
  readDeliveries,
  takeDue,
} from '../../../src/forum/webhooks/deliveries.ts'
import {
  DeliveryReceipts,
  noReceipt,
  receiptsShownMax,
} from '../../../src/forum/webhooks/delivery-receipts.ts'
import { type Delivery, deliveryActors } from '../../../src/forum/webhooks/webhook.ts'
import { admitOwn, commit, type Permit } from '../../../src/forum/write.ts'
import { dayMs, hourMs, replayed } from '../doubles.ts'
import { bad, inbox, ok, Scene, seen, sent } from './webhook-scene.ts'

t.test('wakeup: not begun: more messages, own ones too: one wakeup for the others', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  const first = scene.reply(2, 0)
  scene.reply(1, 0)
  const last = scene.reply(3, 0)
  scene.reply(1, 0)
  const attempt = sent(scene.begin())
  t.same(JSON.parse(attempt.body), {
    type: 'notifications.available',
    event_id: attempt.eventId,
    inbox_url: inbox,
    after: first - 1,
    through: last,
    created_at: scene.state.now,
    content_included: false,
  })
  t.ok(attempt.position > last, 'D1: its start is newer than its messages')
  t.equal(scene.begin(), undefined)
})

t.test('delivery: not verified yet: a message comes: nobody is woken', async (t) => {
  const scene = new Scene()
  scene.register(1)
  scene.follow(1, 0)
  scene.reply(2, 0)
  t.same(scene.deliveries(1), [])
  scene.verify(1)
  const seq = scene.reply(2, 0)
  t.equal(sent(scene.begin()).first, seq, 'only messages after its verification')
})

t.test('delivery: retried later: begun before it is due: not sent, stays due', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(2, 0)
  const attempt = sent(scene.begin())
  t.ok(finishAttempt(scene.forum, attempt, bad))
  const due = scene.forum.dueWebhooks.nextAt
  const { position } = scene.state
  t.equal(beginAttempt(scene.forum, attempt.webhook, inbox), null)
  scene.forum.dueWebhooks.take(due)
  t.equal(beginAttempt(scene.forum, attempt.webhook, inbox), null, 'found due before its time')
  t.strictSame([scene.state.position, scene.forum.dueWebhooks.nextAt], [position, due])
})

t.test('delivery: sending: another message: a second wakeup, which waits', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(2, 0)
  const attempt = sent(scene.begin())
  const second = scene.reply(2, 0)
  scene.reply(2, 0)
  t.equal(scene.begin(), undefined, 'one attempt at a time')
  finishAttempt(scene.forum, attempt, ok)
  t.equal(sent(scene.begin()).first, second)
  t.same(
    scene.deliveries(1).map(({ state }) => state),
    ['delivered', 'sending'],
  )
})

t.test('D2: delivery: sending in a crash: sent again with the same id, and counted', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(2, 0)
  const before = sent(scene.begin())
  scene.reply(2, 0)
  scene.restart()
  scene.reply(2, 0)
  const after = sent(scene.begin())
  t.equal(after.eventId, before.eventId)
  t.equal(after.body, before.body)
  finishAttempt(scene.forum, after, ok)
  t.match(scene.deliveries(1), [{ state: 'delivered', attempts: 2, lastHttpStatus: 204 }])
  const rest = sent(scene.begin())
  t.equal(rest.first, after.first + 2, 'what has come meanwhile')
})

t.test(
  'D2: delivery: sending at the leader: its follower leads in place: sent again',
  async (t) => {
    const scene = new Scene()
    scene.woken(1)
    scene.reply(2, 0)
    // What the follower has read: the leader has begun, and nothing is due here.
    const before = sent(scene.begin())
    t.equal(scene.forum.dueWebhooks.size, 0)
    scene.forum.dueWebhooks.resume()
    const after = sent(scene.begin())
    t.equal(after.eventId, before.eventId)
    finishAttempt(scene.forum, after, ok)
    t.match(scene.deliveries(1), [{ state: 'delivered', attempts: 2 }])
  },
)

t.test('delivery: every attempt fails: six attempts, ever later, then failed', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(2, 0)
  const waits: number[] = []
  for (let n = 1; n <= 6; n++) {
    finishAttempt(scene.forum, sent(scene.begin()), bad)
    const [{ nextAttemptAt, attempts, lastHttpStatus, lastError }] = scene.deliveries(1)
    t.match({ attempts, lastHttpStatus, lastError }, { attempts: n, lastHttpStatus: 500 })
    t.equal(lastError, 'webhook_http_500')
    if (n === 6) break
    waits.push(nextAttemptAt - scene.world.clock.now)
    scene.world.clock.now = nextAttemptAt - 1
    t.equal(scene.begin(), undefined, 'not before it is due')
    scene.world.clock.now = nextAttemptAt
  }
  for (const [n, minutes] of [1, 5, 15, 60, 360].entries()) {
    t.ok(waits[n] >= minutes * 60_000 && waits[n] <= minutes * 72_000, `${minutes} min`)
  }
  t.match(scene.deliveries(1), [{ state: 'failed', nextAttemptAt: 0 }])
  t.equal(scene.begin(), undefined)
  const next = scene.reply(2, 0)
  t.equal(sent(scene.begin()).first, next, 'the next message is tried at once')
})

t.test('delivery: two days old: tried once more, then abandoned', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(2, 0)
  finishAttempt(scene.forum, sent(scene.begin()), bad)
  scene.world.clock.now += 2 * dayMs
  finishAttempt(scene.forum, sent(scene.begin()), bad)
  t.match(scene.deliveries(1), [{ state: 'failed', attempts: 2 }])
})

t.test('delivery: a message is merged in between attempts: another id, same cursor', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  const seq = scene.reply(2, 0)
  const first = sent(scene.begin())
  finishAttempt(scene.forum, first, bad)
  scene.world.clock.now += hourMs
  scene.reply(3, 0)
  const second = sent(scene.begin())
  t.not(second.eventId, first.eventId, 'a receiver that drops repeated ids still gets it')
  t.equal(second.first, seq)
  t.equal(scene.deliveries(1)[0].id, second.eventId)
  const { position } = readDeliveries(scene.forum, { caller: 1, after: 0, limit: 1 })
  t.equal(position, second.position, 'the new id waits for the record')
})

t.test('D3: delivery: access lost before the attempt: cancelled, nothing is sent', async (t) => {
  const scene = new Scene('guest')
  scene.woken(1)
  scene.woken(2)
  scene.reply(3, 0)
  scene.leave(1, 0)
  finishAttempt(scene.forum, sent(scene.begin()), bad)
  t.match(scene.deliveries(1), [], 'nothing begins for who has left')
  scene.leave(2, 0)
  scene.world.clock.now += hourMs
  t.equal(scene.begin(), null)
  t.match(scene.deliveries(2), [{ state: 'cancelled', attempts: 1, nextAttemptAt: 0 }])
  scene.follow(2, 0)
  scene.reply(3, 0)
  scene.world.clock.now += 7 * dayMs
  t.equal(scene.begin(), undefined, 'an expired guest is not woken')
  expireGuests(scene.forum)
  t.equal(scene.state.webhooks.of(2), undefined, 'and has no webhook')
  t.same(seen(replayed(scene.world.rows)), seen(scene.state))
})

const notInTheFeed: Record<string, (scene: Scene) => void> = {
  'its own reply': (scene) => scene.reply(1, 0),
  'in a thread that it has left': (scene) => {
    scene.follow(1, 2)
    scene.leave(1, 2)
    scene.reply(2, 2)
  },
  'in a thread that has expired': (scene) => {
    scene.follow(1, 1)
    scene.reply(2, 1)
    const permit = admitOwn(scene.forum) as Permit
    commit(scene.forum, permit, { type: 'thread.expired', at: permit.at, thread: 1 })
  },
  'a mention that was removed': (scene) => {
    const { forum, state } = scene
    const said = { content: 'hello', mentionIds: [state.identities.id(1)], address: '' }
    const to = { caller: 2, threadId: scene.threadIds[1]! }
    scene.post(() => reply(forum, { ...to, ...said, key: scene.key() }))
    const id = `msg_${state.messages.id(state.messages.count - 1)}`
    scene.post(() => eraseMessage(forum, { id, reason: '' }) as Moderated)
  },
}

for (const [name, publish] of Object.entries(notInTheFeed)) {
  t.test(`delivery: the newest message is ${name}: announced up to the one before`, async (t) => {
    const scene = new Scene()
    scene.woken(1)
    const [first, last] = [scene.reply(2, 0), scene.reply(2, 0)]
    publish(scene)
    t.match(JSON.parse(sent(scene.begin()).body), { after: first - 1, through: last })
  })
}

t.test('delivery: left one of two threads: still woken for the other', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.follow(1, 1)
  scene.reply(2, 0)
  scene.reply(2, 1)
  scene.leave(1, 0)
  t.ok(sent(scene.begin()).eventId)
})

t.test('delivery: the log is full: nothing begins or finishes, and nothing is lost', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  scene.reply(2, 0)
  const due = takeDue(scene.forum)!
  scene.world.rows.health = 'storage_full'
  t.equal(beginAttempt(scene.forum, due.webhook, inbox), 'later')
  scene.world.rows.health = 'ok'
  const attempt = sent(beginAttempt(scene.forum, due.webhook, inbox))
  scene.world.rows.health = 'storage_full'
  t.equal(finishAttempt(scene.forum, attempt, ok), false)
  scene.world.rows.health = 'ok'
  t.equal(finishAttempt(scene.forum, attempt, ok), true)
  t.match(scene.deliveries(1), [{ state: 'delivered' }])
})

t.test('webhook: replaced or removed while sending: the outcome is dropped', async (t) => {
  for (const end of ['replaced', 'removed']) {
    const scene = new Scene()
    scene.woken(1)
    scene.reply(2, 0)
    const attempt = sent(scene.begin())
    if (end === 'replaced') scene.register(1)
    else removeWebhook(scene.forum, 1)
    t.equal(finishAttempt(scene.forum, attempt, ok), true)
    t.same(scene.deliveries(1), [], 'its queue is gone')
    scene.reply(2, 0)
    t.equal(scene.begin(), undefined)
  }
})

t.test('D2: receipts: shown for seven days, at most the newest thousand', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  for (let n = 0; n < receiptsShownMax + 10; n++) {
    scene.reply(2, 0)
    finishAttempt(scene.forum, sent(scene.begin()), ok)
  }
  const firsts = () => {
    const webhook = scene.state.webhooks.of(1)!
    const deliveries = scene.state.webhooks.deliveries(webhook, scene.state.now)
    return deliveries.map(({ context }) => context.first)
  }
  t.equal(firsts().length, receiptsShownMax)
  t.equal(firsts().at(-1), scene.state.position - 2)
  scene.world.clock.now += 7 * dayMs - 1
  const recent = scene.reply(2, 0)
  finishAttempt(scene.forum, sent(scene.begin()), ok)
  t.equal(firsts().length, receiptsShownMax, 'the newest in place of the oldest')
  scene.world.clock.now += 1
  scene.reply(1, 0)
  t.same(firsts(), [recent])
  t.same(seen(replayed(scene.world.rows)), seen(scene.state))
})

t.test('receipts: a page of very many: only those of the page are made', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  const firsts: number[] = []
  for (let n = 0; n < receiptsShownMax; n++) {
    firsts.push(scene.reply(2, 0))
    finishAttempt(scene.forum, sent(scene.begin()), ok)
  }
  firsts.push(scene.reply(2, 0))
  sent(scene.begin()) // one that is not finished is on the last page
  const { through } = scene.state.webhooks.receipts.stores
  const made = t.capture(through, 'get', through.get) // read for each receipt that is made
  for (const [begin, limit] of [
    [0, 5],
    [10, 100],
    [firsts.length - 3, 2],
    [firsts.length - 2, 2],
  ]) {
    const after = firsts[begin - 1] ?? 0
    const page = readDeliveries(scene.forum, { caller: 1, after, limit })
    const expected = firsts.slice(begin, begin + limit)
    t.same(
      page.deliveries.map(({ context }) => context.first),
      expected,
    )
    t.equal(page.hasMore, begin + limit < firsts.length)
    t.equal(page.nextAfter, expected.at(-1))
    t.ok(made().length <= limit + 1)
  }
})

t.test('D1: receipts: more than are kept of all webhooks: the oldest are replaced', async (t) => {
  const receipts = new DeliveryReceipts(4)
  const finished = (first: number): Delivery => {
    const delivery = deliveryActors.create()
    deliveryActors.tell(delivery, { type: 'started', first, through: first, at: 1 })
    deliveryActors.tell(delivery, { type: 'failed', status: 500, error: 'webhook_http_500' })
    return delivery
  }
  let [one, other] = [receipts.add(finished(1), noReceipt), receipts.add(finished(2), noReceipt)]
  for (const first of [3, 4]) one = receipts.add(finished(first), one)
  other = receipts.add(finished(5), other)
  const firsts = (of: number) => receipts.shown(of, 2).map(({ context }) => context.first)
  t.strictSame(
    [firsts(one), firsts(other)],
    [
      [3, 4],
      [2, 5],
    ],
  )
  t.strictSame(receipts.shown(other, 2).at(-1), finished(5), 'as it was')
  one = receipts.add(finished(6), one)
  t.strictSame([firsts(one), firsts(other)], [[3, 4, 6], [5]])
  t.equal(receipts.stores.first.length, 4, 'no further memory')
})

t.test('delivery: due, sent or retried: its message is erased: the same wakeup', async (t) => {
  for (const isRestarted of [false, true]) {
    for (const when of ['due', 'in flight', 'retried', 'delivered'] as const) {
      const scene = new Scene()
      scene.woken(1)
      scene.reply(2, 0)
      const webhook = scene.state.webhooks.of(1)!
      const [first] = scene.owed(1, 0)
      const delivery = { state: 0, context: { first, through: first } } as Delivery
      const id = eventId(scene.forum, webhook, delivery)
      let attempt = when === 'due' ? null : sent(scene.begin())
      if (when === 'retried') finishAttempt(scene.forum, attempt!, bad)
      if (when === 'delivered') finishAttempt(scene.forum, attempt!, ok)
      const { messages } = scene.state
      const about = { id: `msg_${messages.id(messages.count - 1)}`, reason: '' }
      t.match(eraseMessage(scene.forum, about), { isNew: true })
      t.same(seen(replayed(scene.world.rows)), seen(scene.state))
      if (isRestarted) scene.restart()
      if (when === 'retried') scene.world.clock.now += hourMs
      if (when === 'due' || when === 'retried' || (when === 'in flight' && isRestarted)) {
        attempt = sent(scene.begin())
      }
      t.equal(attempt!.eventId, id, 'receivers that drop repeated ids have it once')
      t.notMatch(attempt!.body, /hello/)
      if (when !== 'delivered') finishAttempt(scene.forum, attempt!, ok)
      t.match(scene.deliveries(1), [{ id, state: 'delivered', lastError: '' }])
      t.equal(scene.begin(), undefined, `${when}: nothing more is sent`)
    }
  }
})

t.test('deliveries: pages: by the cursor, to the last one', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  const firsts: number[] = []
  for (let n = 0; n < 7; n++) {
    firsts.push(scene.reply(2, 0))
    finishAttempt(scene.forum, sent(scene.begin()), ok)
  }
  const seenFirsts: number[] = []
  let after = 0
  for (;;) {
    const page = readDeliveries(scene.forum, { caller: 1, after, limit: 3 })
    seenFirsts.push(...page.deliveries.map(({ context }) => context.first))
    after = page.nextAfter
    if (!page.hasMore) break
  }
  t.same(seenFirsts, firsts)
  const { deliveries, ...rest } = readDeliveries(scene.forum, { caller: 1, after, limit: 3 })
  t.match(rest, { nextAfter: after, hasMore: false })
  t.same(deliveries, [])
})
