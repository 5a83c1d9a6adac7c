// Goal:   whoever follows a thread with an active webhook is woken for every message by another,
//         and nobody else; a restart changes nothing.
// Method: random programs of commands of a few identities in a few threads, with attempts that end
//         in every way, a clock that jumps, and restarts. After every step the promises at the
//         heads of the files are asked; in the end the state is compared with what the log folds
//         to.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { finishAttempt } from '../../src/forum/deliveries.ts'
import { expireGuests } from '../../src/forum/identities.ts'
import { removeWebhook, sweepWebhooks } from '../../src/forum/webhooks.ts'
import { dayMs, hourMs, replayed } from './doubles.ts'
import { agents, bad, ok, Scene, seen, threads } from './webhook-scene.ts'

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
      sweepWebhooks(scene.forum)
      return
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
  const folded = replayed(world.rows)
  assert.deepEqual(seen(folded), seen(state), 'the log folds to this')
  const waiting = [...folded.webhooks.all()].filter(({ open }) => {
    const states = open.map((delivery) => folded.webhooks.state(delivery))
    return states.includes('pending') && !states.includes('sending')
  })
  assert.equal(folded.webhooks.due.size, waiting.length, 'H3')
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
    { numRuns: 60 },
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
