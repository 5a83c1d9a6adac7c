// Goal:   forum time never goes back before a record and never stands still, whatever the system
//         clock does, and a jump makes nobody wait more than an hour longer.
// Method: a clock that is set ahead by minutes to a year and then back, with and without a restart,
//         under the limits, retries and tickets of a real forum; and random jumps, records and
//         restarts.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createIdentity } from '../../src/forum/identities/commands.ts'
import { createThread } from '../../src/forum/threads/commands.ts'
import { acceptTicket, issueTicket } from '../../src/forum/tickets/commands.ts'
import { ticketLifetimeMs } from '../../src/forum/tickets/machine.ts'
import { finishAttempt } from '../../src/forum/webhooks/deliveries.ts'
import { keepTime } from '../../src/forum/write.ts'
import { ForumClock, timeOf } from '../../src/kernel/clock.ts'
import type { QuotaLimits } from '../../src/kernel/quotas.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import { clockOf, dayMs, goOn, hourMs, newWorld, replayed, type World } from '../forum/doubles.ts'
import { bad, Scene } from '../forum/webhooks/webhook-scene.ts'

const minuteMs = 60_000
const begin = 1_790_000_000_000
const jumps = [2 * minuteMs, hourMs, 26 * hourMs, 365 * dayMs]
const here = '198.51.100.7'

/** Replaces the process by a new one, which knows the time only from the log. */
function restart(world: World, limits?: QuotaLimits): void {
  world.forum.state = replayed(world.rows, limits)
  world.clock.elapsed = 0
  world.forum.stamps.clock = clockOf(world.clock)
  timeOf(world.forum) // as a start does
}

/** Returns the time until the condition holds. A timer checks it every minute, as in a node. */
function waitFor(world: World, holds: () => boolean): number {
  let waitedMs = 0
  for (; !holds(); waitedMs += minuteMs) {
    assert.ok(waitedMs < 3 * dayMs, 'it holds within days')
    goOn(world.clock, minuteMs)
    keepTime(world.forum)
  }
  return waitedMs
}

t.test(
  'clock: set back an hour: a record is made: time goes on at 24/25 of the speed',
  async (t) => {
    const source = { now: begin, elapsed: 7 }
    const clock = clockOf(source)
    const recorded = clock.now(0)
    t.equal(recorded, begin)
    source.now -= hourMs
    t.equal(clock.now(recorded), recorded, 'T1')
    goOn(source, 25 * minuteMs)
    t.equal(clock.now(recorded), recorded + 24 * minuteMs, 'T2')
    t.equal(clock.behindMs(recorded), 59 * minuteMs, 'a minute less')
    t.match(clock.warnings(recorded), [/^clock: 3540 s behind/])
    goOn(source, 24.5 * hourMs)
    t.ok(clock.behindMs(recorded) > 0)
    t.same(clock.warnings(recorded), [], 'less than a minute causes no warning')
    goOn(source, hourMs)
    t.equal(clock.now(recorded), source.now, 'it has caught up')
    t.equal(clock.behindMs(recorded), 0)
  },
)

t.test('clock: behind, thousands of records in a second: time does not stand still', async (t) => {
  const source = { now: begin, elapsed: 0 }
  const clock = clockOf(source)
  let recorded = clock.now(0)
  source.now -= hourMs
  for (let n = 0; n < 10_000; n++) {
    source.elapsed += 0.1
    recorded = clock.now(recorded)
  }
  t.equal(recorded, begin + 960)
})

t.test('clock: set ahead and back without a record meanwhile: no effect', async (t) => {
  const source = { now: begin, elapsed: 0 }
  const clock = clockOf(source)
  const recorded = clock.now(0)
  goOn(source, hourMs)
  clock.now(recorded)
  source.now += 365 * dayMs
  t.equal(clock.now(recorded), source.now)
  source.now -= 365 * dayMs
  t.equal(clock.now(recorded), source.now, 'T3')
})

t.test('clock: set back, set ahead, or rarely read: only a step is reported', async (t) => {
  const source = { now: begin, elapsed: 0 }
  const steps: number[] = []
  const clock = clockOf(source, (ms) => steps.push(ms))
  const look = (ms: number, setBy = 0) => {
    goOn(source, ms)
    source.now += setBy
    clock.now(0)
  }
  for (let n = 0; n < 100; n++) look(70)
  look(hourMs)
  look(5_000, minuteMs - 1)
  t.same(steps, [], 'an hour without a reading, and a small correction')
  look(2_000, dayMs)
  look(50_000, -minuteMs)
  look(2_000)
  t.same(steps, [dayMs, -minuteMs], 'even when the clock is not behind the last reading')
})

t.test('clock: any jumps, records and restarts: T1 and T2', async () => {
  const step = fc.record({
    ms: fc.nat(2 * hourMs),
    setBy: fc.oneof(fc.constant(0), fc.integer({ min: -2 * dayMs, max: 2 * dayMs })),
    isRecorded: fc.boolean(),
    isRestart: fc.nat(9).map((n) => n === 0),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const source = { now: begin, elapsed: 0 }
      let clock = clockOf(source)
      let recorded = clock.now(0)
      let since = 0
      for (const { ms, setBy, isRecorded, isRestart } of steps) {
        goOn(source, ms)
        source.now += setBy
        if (isRestart) {
          clock = new ForumClock({ wall: () => source.now, elapsed: () => source.elapsed })
          since = source.elapsed
        }
        const now = clock.now(recorded)
        assert.ok(Number.isInteger(now) && now >= recorded && now >= source.now, 'T1')
        const slowest = recorded + Math.floor(((source.elapsed - since) * 24) / 25) - 1
        assert.ok(now >= slowest, 'T2: it does not stand still')
        assert.ok(now <= Math.max(source.now, recorded + (source.elapsed - since)), 'or run fast')
        if (!isRecorded) continue
        recorded = now
        since = source.elapsed
      }
    }),
    { numRuns: 500 },
  )
})

/** Sets the clock ahead, acts, and sets it back. Then restarts the node if `isRestarted`. */
function inJump(world: World, jumpMs: number, isRestarted: boolean, act: () => void): void {
  world.clock.now += jumpMs
  act()
  goOn(world.clock, 1_000)
  world.clock.now -= jumpMs
  if (isRestarted) restart(world, limits)
}

const limits = { identities: { address: 1 }, messages: { identity: 1 } } as const

for (const jumpMs of jumps) {
  for (const isRestarted of [false, true]) {
    const when = `${jumpMs / minuteMs} min ahead and back${isRestarted ? ', a restart' : ''}`

    t.test(
      `limit of an hour: reached ${when}: an hour, and 2.5 minutes more at most`,
      async (t) => {
        const world = newWorld(limits)
        const create = () =>
          !isRejection(
            createIdentity(
              world.forum,
              { kind: 'persistent', displayName: 'A', address: here },
              'open',
            ),
          )
        inJump(world, jumpMs, isRestarted, () => t.ok(create()))
        const waitedMs = waitFor(world, create)
        t.ok(waitedMs <= 63 * minuteMs, `${waitedMs / minuteMs} minutes`)
      },
    )

    t.test(`webhook: its attempt fails ${when}: tried again within a minute or two`, async (t) => {
      const scene = new Scene('persistent')
      scene.woken(1)
      inJump(scene.world, jumpMs, false, () => {
        scene.reply(2, 0)
        const attempt = scene.begin()
        assert.ok(attempt !== undefined && attempt !== null && attempt !== 'later')
        finishAttempt(scene.forum, attempt, bad)
      })
      if (isRestarted) {
        restart(scene.world)
      }
      const waitedMs = waitFor(scene.world, () => scene.begin() !== undefined)
      t.ok(waitedMs <= 2 * minuteMs, `${waitedMs / minuteMs} minutes`)
    })

    t.test(
      `ticket: issued ${when}: valid for its two minutes, no more than 5 s longer`,
      async (t) => {
        const world = newWorld(limits)
        let ticket = ''
        inJump(world, jumpMs, isRestarted, () => {
          const issued = issueTicket(world.forum, here)
          assert.ok(!isRejection(issued))
          ;({ ticket } = issued)
        })
        const accept = () => acceptTicket(world.forum, ticket, here)
        goOn(world.clock, ticketLifetimeMs - 2_000)
        t.equal(typeof accept(), 'string')
        goOn(world.clock, 7_001)
        t.match(accept(), { rejected: 'expired_ticket' })
      },
    )
  }
}

t.test('limit of a day: a restart every hour while the clock is behind: 25 hours', async (t) => {
  const world = newWorld(limits)
  createIdentity(world.forum, { kind: 'persistent', displayName: 'A', address: here }, 'open')
  const post = { title: 'T', content: 'C', visibility: 'public', participantIds: [] } as const
  const publish = (key: string) =>
    !isRejection(createThread(world.forum, { caller: 0, address: here, key, ...post }))
  inJump(world, 365 * dayMs, true, () => t.ok(publish('a-key-of-many')))
  let restarts = 0
  const waitedMs = waitFor(world, () => {
    if (world.clock.elapsed >= hourMs) {
      restart(world, limits)
      restarts += 1
    }
    return publish('another-key')
  })
  t.ok(restarts >= 24)
  t.ok(waitedMs >= 24 * hourMs && waitedMs <= 25.1 * hourMs, `${waitedMs / hourMs} hours`)
})
