// Goal:   every follower of a thread that has an active webhook is woken for each message by
//         others, and nobody else is. A restart changes nothing.
// Method: random programs of commands by a few identities in a few threads, with attempts that end
//         in every way, a clock that jumps, and restarts. After every step, the invariants in the
//         heads of the source files are checked. At the end, the state is compared with the fold of
//         the log.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { finishAttempt } from '../../../src/forum/webhooks/deliveries.ts'
import { DueWebhooks } from '../../../src/forum/webhooks/due-webhooks.ts'
import { isOpen } from '../../../src/forum/webhooks/webhook.ts'
import { sizeOf } from '../../depth.ts'
import { dayMs, replayed } from '../doubles.ts'
import { agents, ok, Scene, seen } from './webhook-scene.ts'
import { run, type Step, step } from './webhook-steps.ts'

function checkPromises({ state }: Scene): void {
  for (const webhook of state.webhooks.all()) {
    const deliveries = state.webhooks.deliveries(webhook, state.now)
    assert.ok(deliveries.filter(isOpen).length <= 1, 'H2')
    assert.equal(state.webhooks.of(webhook.owner), webhook, 'H1')
    const firsts = deliveries.map(({ context }) => context.first)
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
      'the cursor increases',
    )
    for (const { context } of deliveries) assert.ok(context.first <= context.through, 'D1')
  }
}

function checkReplay({ state, world }: Scene): void {
  const folded = replayed(world.rows)
  assert.deepEqual(seen(folded), seen(state), 'the log folds to this')
  const active = [...folded.webhooks.all()].filter((webhook) => folded.webhooks.isActive(webhook))
  const due = new DueWebhooks(folded.webhooks)
  due.resume()
  assert.equal(due.size, active.length, 'D2')
}

t.test('webhooks: random programs: exactly the right ones are woken, across restarts', async () => {
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
    { numRuns: sizeOf('WEBHOOK_PROGRAMS') },
  )
})

/** A crash interrupts an attempt. The webhook gets another message before the next attempt. */
const interrupted: Step[] = [
  { does: 'reply', by: 0, thread: 0 },
  { does: 'begin' },
  { does: 'restart' },
  { does: 'reply', by: 0, thread: 0 },
  { does: 'begin' },
]

t.test('webhooks: whatever happened: in the end every message has been announced', async () => {
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
      const { webhooks, identities } = scene.state
      for (const webhook of webhooks.all()) {
        const { owner, announced, delivery } = webhook
        assert.equal(delivery, null)
        const isWoken = webhooks.isActive(webhook) && identities.mayAct(owner, scene.state.now)
        if (isWoken) assert.deepEqual(scene.owed(owner, announced), [])
      }
      assert.equal(scene.forum.dueWebhooks.nextAt, Number.POSITIVE_INFINITY)
    }),
    { numRuns: sizeOf('WEBHOOK_PROGRAMS'), examples: [[interrupted]] },
  )
})
