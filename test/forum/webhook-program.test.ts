// Goal:   every follower of a thread that has an active webhook is woken for each message by
//         others, and nobody else is. A restart changes nothing.
// Method: random programs of commands by a few identities in a few threads, with attempts that end
//         in every way, a clock that jumps, and restarts. After every step, the invariants in the
//         heads of the source files are checked. At the end, the state is compared with the fold of
//         the log.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { finishAttempt } from '../../src/forum/deliveries.ts'
import { DueWebhooks } from '../../src/forum/due-webhooks.ts'
import { sizeOf } from '../depth.ts'
import { dayMs, replayed } from './doubles.ts'
import { agents, ok, Scene, seen } from './webhook-scene.ts'
import { run, type Step, step } from './webhook-steps.ts'

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
      'the cursor increases',
    )
    for (const { context } of deliveries) assert.ok(context.first <= context.through, 'D1')
  }
}

function checkReplay({ state, world }: Scene): void {
  const folded = replayed(world.rows)
  assert.deepEqual(seen(folded), seen(state), 'the log folds to this')
  const waiting = [...folded.webhooks.all()].filter(({ open }) => open.length > 0)
  const due = new DueWebhooks(folded.webhooks)
  due.resume()
  assert.equal(due.size, waiting.length, 'D1, D2')
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

t.test('H3: webhooks: whatever happened: in the end every delivery has been tried', async () => {
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
      assert.equal(scene.forum.dueWebhooks.size, 0)
    }),
    { numRuns: sizeOf('WEBHOOK_PROGRAMS'), examples: [[interrupted]] },
  )
})
