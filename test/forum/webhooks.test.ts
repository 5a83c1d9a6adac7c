// Goal:   whoever follows a thread with an active webhook is woken for every message by another, and
//         nobody else; a restart changes nothing.
// Method: random programs of commands of a few identities in a few threads, with attempts that end in
//         every way, a clock that jumps, and restarts. After every step the promises at the heads of
//         the files are asked; in the end the state is compared with what the log folds to.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  type Attempt,
  beginAttempt,
  eventId,
  finishAttempt,
  readDeliveries,
  takeDue,
} from '../../src/forum/deliveries.ts'
import { isRefusal } from '../../src/forum/forum.ts'
import { createIdentity, expireGuests } from '../../src/forum/identities.ts'
import { createThread, reply } from '../../src/forum/posts.ts'
import { subscribe, unsubscribe } from '../../src/forum/subscriptions.ts'
import { open, sealNew, seedBytes } from '../../src/forum/webhook-secret.ts'
import {
  beginVerification,
  finishVerification,
  hasRightKey,
  readWebhook,
  registerWebhook,
  removeWebhook,
  sweepWebhooks,
} from '../../src/forum/webhooks.ts'
import type { State } from '../../src/state/state.ts'
import { deliveriesKeptMax } from '../../src/state/webhooks.ts'
import { dayMs, hourMs, newWorld, replayed, webhookKey } from './doubles.ts'

const inbox = 'https://forum.example/api/notifications'
const agents = 4
const threads = 3

/** A forum of a few identities, the first of which wrote all threads and then left them. */
class Scene {
  readonly world = newWorld()
  readonly threadIds: string[] = []
  readonly attempts: Attempt[] = []
  /** For each identity the messages it has to be woken for, and has not been. */
  readonly owed = new Map<number, Set<number>>()
  keys = 0

  constructor(kind: 'guest' | 'persistent' = 'persistent') {
    for (let n = 0; n < agents; n++) {
      createIdentity(this.forum, { kind, displayName: `agent ${n}`, address: '' })
    }
    for (let n = 0; n < threads; n++) {
      this.post(() =>
        createThread(this.forum, {
          caller: 0,
          title: `thread ${n}`,
          content: 'first',
          visibility: 'public',
          participantIds: [],
          address: '',
          key: this.key(),
        }),
      )
      this.threadIds.push(this.state.threads.id(n))
      unsubscribe(this.forum, { caller: 0, threadId: this.threadIds[n] })
    }
  }

  get forum() {
    return this.world.forum
  }

  get state(): State {
    return this.forum.state
  }

  key(): string {
    this.keys += 1
    return `key-${this.keys}`
  }

  post(publish: () => { position: number } | { refused: string }): number {
    const outcome = publish()
    assert.ok(!isRefusal(outcome), 'it is published')
    return (outcome as { position: number }).position
  }

  reply(caller: number, thread: number): number {
    const threadId = this.threadIds[thread]
    return this.post(() =>
      reply(this.forum, { caller, threadId, content: 'hello', address: '', key: this.key() }),
    )
  }

  follow(caller: number, thread: number): void {
    subscribe(this.forum, { caller, threadId: this.threadIds[thread] })
  }

  leave(caller: number, thread: number): void {
    unsubscribe(this.forum, { caller, threadId: this.threadIds[thread] })
  }

  register(caller: number, key = this.key(), endpoint = 'https://hooks.example.com/') {
    return registerWebhook(this.forum, { caller, endpoint, key })
  }

  verify(caller: number, error: string | null = null) {
    const begun = beginVerification(this.forum, caller)
    return isRefusal(begun) ? begun : finishVerification(this.forum, begun, error)
  }

  /** An identity with an active webhook that follows the first thread. */
  woken(caller: number): void {
    this.register(caller)
    this.verify(caller)
    this.follow(caller, 0)
  }

  begin(): Attempt | null | 'later' | undefined {
    const due = takeDue(this.forum)
    return due && beginAttempt(this.forum, due.webhook, inbox)
  }

  deliveries(caller: number) {
    const { webhook, deliveries } = readDeliveries(this.forum, { caller, after: 0, limit: 100 })
    return deliveries.map((delivery) => ({
      id: eventId(webhook!, delivery),
      state: this.state.webhooks.state(delivery),
      ...delivery.context,
    }))
  }

  /** Goes on from what the log says, as after a crash. */
  restart(): void {
    this.forum.state = replayed(this.world.rows)
    this.state.webhooks.resume()
    this.attempts.length = 0
  }
}

/** All that can be seen of webhooks from outside. */
function seen(state: State) {
  return {
    registrations: state.webhooks.registrations,
    webhooks: [...state.webhooks.all()].map(({ actor, deliveries, open, sealed, ...rest }) => ({
      ...rest,
      actor,
      sealed: Buffer.from(sealed).toString('hex'),
      deliveries,
      open: open.map(({ context }) => context.first),
    })),
    changed: Array.from({ length: agents }, (_, n) => state.webhooks.changedAt(n)),
  }
}

function sent(attempt: ReturnType<Scene['begin']>): Attempt {
  assert.ok(attempt && attempt !== 'later', 'there is an attempt')
  return attempt
}

const ok = { status: 204, error: null }
const bad = { status: 500, error: 'webhook_http_500' }

const by = fc.nat(agents - 1)
const thread = fc.nat(threads - 1)
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ does: fc.constant('reply' as const), by, thread }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('follow' as const), by, thread }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('leave' as const), by, thread }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('register' as const), by }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('verify' as const), by }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('fail' as const), by }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('remove' as const), by }) },
  { weight: 10, arbitrary: fc.record({ does: fc.constant('begin' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('finish' as const),
      pick: fc.nat(9),
      result: fc.constantFrom(ok, ok, bad, { status: 0, error: 'webhook_timeout' }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('clock' as const),
      ms: fc.constantFrom(1, 90_000, hourMs, 8 * hourMs, 3 * dayMs, 8 * dayMs, -hourMs),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

function run(scene: Scene, command: Step): void {
  switch (command.does) {
    case 'reply':
      return checkWoken(scene, command.by, command.thread)
    case 'follow':
      return scene.follow(command.by, command.thread)
    case 'leave':
      return scene.leave(command.by, command.thread)
    case 'register':
      scene.register(command.by)
      return
    case 'verify':
      scene.verify(command.by)
      return
    case 'fail':
      scene.verify(command.by, 'webhook_timeout')
      return
    case 'remove':
      removeWebhook(scene.forum, command.by)
      return
    case 'begin': {
      const attempt = scene.begin()
      if (attempt && attempt !== 'later') scene.attempts.push(attempt)
      return
    }
    case 'finish': {
      const { attempts } = scene
      if (attempts.length === 0) return
      const [attempt] = attempts.splice(command.pick % attempts.length, 1)
      assert.equal(finishAttempt(scene.forum, attempt, command.result), true)
      return
    }
    case 'clock':
      scene.world.clock.now += command.ms
      expireGuests(scene.forum)
      return sweepWebhooks(scene.forum)
    case 'restart':
      return scene.restart()
  }
}

/** A reply wakes exactly those who follow with an active webhook, but its author. */
function checkWoken(scene: Scene, author: number, thread: number): void {
  const { state, forum } = scene
  if (!state.identities.isActive(author, forum.stamps.clock())) return
  const followers = Array.from({ length: agents }, (_, n) => n).filter(
    (n) => n !== author && state.subscriptions.isSubscribed(n, thread),
  )
  const seq = scene.reply(author, thread)
  for (let identity = 0; identity < agents; identity++) {
    const webhook = state.webhooks.of(identity)
    const isOwed =
      webhook !== undefined && state.webhooks.isActive(webhook) && followers.includes(identity)
    const told = scene
      .deliveries(identity)
      .filter(({ state, through }) => state === 'pending' && through === seq)
    assert.equal(told.length, isOwed ? 1 : 0, `who is woken: ${identity}`)
  }
}

function checkPromises({ state }: Scene): void {
  for (const webhook of state.webhooks.all()) {
    const { open, deliveries } = webhook
    const states = open.map((delivery) => state.webhooks.state(delivery))
    assert.ok(states.length <= 2 && states.filter((name) => name === 'sending').length <= 1, 'H2')
    assert.equal(state.webhooks.of(webhook.owner), webhook, 'H1')
    const firsts = deliveries.map(({ context }) => context.first)
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
      'the cursor grows',
    )
    for (const { context } of deliveries) assert.ok(context.first <= context.through, 'D1')
  }
}

function checkReplay({ state, world }: Scene): void {
  assert.deepEqual(seen(replayed(world.rows)), seen(state), 'the log folds to this')
}

t.test('webhooks: random programs: the right ones are woken, restarts change nothing', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom('guest' as const, 'persistent' as const),
      fc.array(step, { minLength: 1, maxLength: 80 }),
      (kind, program) => {
        const scene = new Scene(kind)
        for (let n = 1; n < agents; n++) scene.woken(n)
        for (const command of program) {
          run(scene, command)
          checkPromises(scene)
        }
        checkReplay(scene)
      },
    ),
    { numRuns: 100 },
  )
})

t.test('H3: webhooks: whatever happened: in the end everything is tried, none stays', async () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (program) => {
      const scene = new Scene()
      for (let n = 1; n < agents; n++) scene.woken(n)
      for (const command of program) run(scene, command)
      for (const attempt of scene.attempts) finishAttempt(scene.forum, attempt, ok)
      scene.world.clock.now = scene.state.now + dayMs
      for (;;) {
        const attempt = scene.begin()
        if (attempt === undefined) break
        if (attempt && attempt !== 'later') finishAttempt(scene.forum, attempt, ok)
      }
      for (const { open } of scene.state.webhooks.all()) assert.equal(open.length, 0)
      assert.equal(scene.state.webhooks.due.size, 0)
    }),
    { numRuns: 60 },
  )
})

t.test('delivery: pending: more messages, own ones too: one wakeup for the others', async (t) => {
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
    created_at: scene.state.messages.createdAt(scene.state.messages.count - 4),
    content_included: false,
  })
  t.ok(attempt.position > last, 'D1: its start is newer than what it tells of')
  t.equal(scene.begin(), undefined)
})

t.test('delivery: sending: another message: a second wakeup, which waits its turn', async (t) => {
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
  t.match(scene.deliveries(1), [
    { state: 'delivered', attempts: 2, lastHttpStatus: 204 },
    { state: 'pending', attempts: 0 },
  ])
})

t.test('delivery: it fails for ever: six attempts, ever later, then failed', async (t) => {
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
    t.equal(scene.begin(), undefined, 'not before its time')
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

t.test('delivery: two days old: tried once more, then given up', async (t) => {
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
  t.not(second.eventId, first.eventId, 'a receiver that drops repeated ids still hears of it')
  t.equal(second.first, seq)
  t.equal(scene.deliveries(1)[0].id, second.eventId)
})

t.test('D3: delivery: access lost before the attempt: cancelled, nothing is sent', async (t) => {
  const scene = new Scene('guest')
  scene.woken(1)
  scene.woken(2)
  scene.reply(3, 0)
  scene.leave(1, 0)
  t.equal(scene.begin(), null)
  t.match(scene.deliveries(1), [{ state: 'cancelled', attempts: 0, nextAttemptAt: 0 }])
  scene.world.clock.now += 7 * dayMs
  t.equal(scene.begin(), null, 'an expired guest is not woken')
  expireGuests(scene.forum)
  t.equal(scene.state.webhooks.of(2), undefined, 'and has no webhook')
  t.same(seen(replayed(scene.world.rows)), seen(scene.state))
})

t.test('delivery: left one of two threads: still told of the other', async (t) => {
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

t.test('webhook: replaced or removed while sending: the outcome has nowhere to go', async (t) => {
  for (const end of ['replaced', 'removed']) {
    const scene = new Scene()
    scene.woken(1)
    scene.reply(2, 0)
    const attempt = sent(scene.begin())
    if (end === 'replaced') scene.register(1)
    else removeWebhook(scene.forum, 1)
    t.equal(finishAttempt(scene.forum, attempt, ok), true)
    t.same(scene.deliveries(1), [], 'its queue went with it')
    scene.reply(2, 0)
    t.equal(scene.begin(), undefined)
  }
})

t.test('webhook: registered with the same key: the same secret, until it is gone', async (t) => {
  const scene = new Scene()
  const first = scene.register(1, 'key-of-it')
  assert.ok(!isRefusal(first))
  t.match(first.secret, /^whsec_[0-9a-f]{64}$/)
  t.notOk(Buffer.concat(scene.world.rows.packed).toString('latin1').includes(first.secret))
  scene.forum.state = replayed(scene.world.rows)
  const again = scene.register(1, 'key-of-it')
  t.match(again, { replayed: true, secret: first.secret, position: first.position })
  const conflict = { refused: 'idempotency_conflict' }
  t.match(scene.register(1, 'key-of-it', 'https://other.example.com/'), conflict)
  const second = scene.register(1)
  t.not((second as typeof first).secret, first.secret)
  t.match(scene.register(1, 'key-of-it'), conflict, 'replaced')
  t.match(scene.register(1, `key-${scene.keys}`), { replayed: true })
  removeWebhook(scene.forum, 1)
  t.match(scene.register(1, `key-${scene.keys}`), conflict, 'removed')
  const threadId = scene.threadIds[0]
  const wish = { caller: 1, threadId, content: 'x', address: '', key: 'key-of-it' }
  t.match(reply(scene.forum, wish), conflict, 'one key space')
})

t.test('webhook: unverified for a day: lapsed; verified: stays', async (t) => {
  const scene = new Scene()
  scene.register(1)
  scene.register(2)
  scene.verify(2)
  scene.world.clock.now += dayMs - 1
  sweepWebhooks(scene.forum)
  t.ok(readWebhook(scene.forum, 1).webhook)
  scene.world.clock.now += 1
  sweepWebhooks(scene.forum)
  t.equal(readWebhook(scene.forum, 1).webhook, null)
  t.equal(readWebhook(scene.forum, 1).position, scene.world.rows.position)
  t.ok(readWebhook(scene.forum, 2).webhook)
  t.match(scene.verify(1), { refused: 'webhook_not_registered' })
  const { length } = scene.world.rows.packed
  sweepWebhooks(scene.forum)
  t.equal(scene.world.rows.packed.length, length, 'no record for nothing')
})

t.test('webhook: removed while the challenge is out: not registered', async (t) => {
  const scene = new Scene()
  scene.register(1)
  const begun = beginVerification(scene.forum, 1)
  assert.ok(!isRefusal(begun))
  scene.register(1)
  t.match(finishVerification(scene.forum, begun, null), { refused: 'webhook_not_registered' })
  const { webhook } = readWebhook(scene.forum, 1)
  t.equal(scene.state.webhooks.isActive(webhook!), false, 'the other one proved nothing')
})

t.test('H4: deliveries: seven days, and the newest thousand: no more are kept', async (t) => {
  const scene = new Scene()
  scene.woken(1)
  for (let n = 0; n < deliveriesKeptMax + 10; n++) {
    scene.reply(2, 0)
    finishAttempt(scene.forum, sent(scene.begin()), ok)
  }
  const { deliveries } = scene.state.webhooks.of(1)!
  t.equal(deliveries.length, deliveriesKeptMax)
  t.equal(deliveries.at(-1)!.context.first, scene.state.position - 2)
  scene.world.clock.now += 7 * dayMs - 1
  const recent = scene.reply(2, 0)
  sweepWebhooks(scene.forum)
  t.equal(deliveries.length, deliveriesKeptMax, 'the oldest made room for the newest')
  scene.world.clock.now += 1
  sweepWebhooks(scene.forum)
  t.same(
    deliveries.map(({ context }) => context.first),
    [recent],
  )
  t.same(seen(replayed(scene.world.rows)), seen(scene.state))
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

t.test('secret: sealed: opens for its webhook and key only, and not when touched', async (t) => {
  const sealed = sealNew(webhookKey, 'a', Buffer.alloc(seedBytes, 9))
  t.equal(open(webhookKey, 'a', sealed), `whsec_${'09'.repeat(32)}`)
  t.equal(open(webhookKey, 'b', sealed), null)
  t.equal(open(Buffer.alloc(32, 6), 'a', sealed), null)
  for (let i = 0; i < sealed.length; i++) {
    const touched = Buffer.from(sealed)
    touched[i] ^= 1
    t.equal(open(webhookKey, 'a', touched), null)
  }
  const scene = new Scene()
  t.equal(hasRightKey(scene.forum), true)
  scene.register(1)
  t.equal(hasRightKey(scene.forum), true)
  t.equal(hasRightKey({ ...scene.forum, webhookKey: Buffer.alloc(32, 6) }), false)
})
