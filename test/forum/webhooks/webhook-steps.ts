// The steps of random programs for webhooks.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { expireGuests } from '../../../src/forum/identities/commands.ts'
import { blockIdentity, unblockIdentity } from '../../../src/forum/moderation/commands.ts'
import { removeWebhook, sweepWebhooks } from '../../../src/forum/webhooks/commands.ts'
import { type Attempt, finishAttempt } from '../../../src/forum/webhooks/deliveries.ts'
import { timeOf } from '../../../src/kernel/clock.ts'
import { dayMs, hourMs } from '../doubles.ts'
import { agents, bad, ok, type Scene, threads } from './webhook-scene.ts'

const by = fc.nat(agents - 1)
const thread = fc.nat(threads - 1)
/** An action of identities, of the scheduler, or of time. */
export const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ does: fc.constant('reply' as const), by, thread }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('follow' as const), by, thread }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('leave' as const), by, thread }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('register' as const), by }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('verify' as const), by }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('fail' as const), by }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('remove' as const), by }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('block' as const), by }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('unblock' as const), by }) },
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
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

export function run(scene: Scene, command: Step): void {
  const { identities } = scene.state
  if (command.does === 'block' || command.does === 'unblock') {
    const moderate = command.does === 'block' ? blockIdentity : unblockIdentity
    moderate(scene.forum, { id: identities.id(command.by), reason: '' })
    return
  }
  if ('by' in command && identities.isBlocked(command.by)) return // its token is refused
  switch (command.does) {
    case 'reply':
      if (identities.mayAct(command.by, timeOf(scene.forum)))
        scene.reply(command.by, command.thread)
      return
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
      if (!attempt || attempt === 'later') return
      checkRange(scene, attempt)
      scene.attempts.push(attempt)
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

/** Checks that a first attempt announces exactly the messages that its owner is owed. */
function checkRange(scene: Scene, attempt: Attempt): void {
  const { owner, announced, delivery } = scene.state.webhooks.get(attempt.webhook)!
  const { first, through, attempts } = delivery!.context
  if (attempts > 1) return
  const seqs = scene.owed(owner, announced)
  assert.deepEqual([first, through], [seqs[0], seqs.at(-1)], `who is woken: ${owner}`)
}
