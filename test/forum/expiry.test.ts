// Expiry is recorded in pieces: no event-loop iteration records more than one of them.

import t from 'tap'
import { startExpiry } from '../../src/engine/role/expiry.ts'
import { createIdentity, expireGuests, guestsAtOnce } from '../../src/forum/identities/commands.ts'
import { registerWebhook, sweepWebhooks, sweptAtOnce } from '../../src/forum/webhooks/commands.ts'
import { admit } from '../../src/forum/write.ts'
import { dayMs, newWorld, replayed, type World } from './doubles.ts'

function crowd(count: number): World {
  const world = newWorld()
  for (let i = 0; i < count; i++) {
    createIdentity(world.forum, { kind: 'guest', displayName: 'Guest', address: '' }, 'open')
  }
  return world
}

t.test('guests: more than one piece: one record for each piece, then no more', async (t) => {
  const world = crowd(2 * guestsAtOnce + 5)
  const { forum, rows, clock } = world
  clock.now += 7 * dayMs
  const { position } = rows
  t.strictSame(
    [expireGuests(forum), expireGuests(forum), expireGuests(forum), expireGuests(forum)],
    [true, true, false, false],
  )
  const written = rows.records().slice(position)
  const pieces = [guestsAtOnce, 2 * guestsAtOnce, 2 * guestsAtOnce + 5]
  t.match(
    written,
    pieces.map((before) => ({ type: 'guests.expired', before })),
  )
  t.equal(replayed(rows).guestsExpired, forum.state.guestsExpired)
})

t.test('webhooks: more unverified than one piece: the oldest first, then the rest', async (t) => {
  const world = crowd(sweptAtOnce + 3)
  const { forum, rows, clock } = world
  for (let caller = 0; caller < sweptAtOnce + 3; caller++) {
    registerWebhook(forum, { caller, endpoint: 'https://a.example/', key: `key-${caller}` })
  }
  clock.now += dayMs
  t.ok(sweepWebhooks(forum), 'there are more')
  t.equal(forum.state.webhooks.of(sweptAtOnce - 1), undefined)
  t.ok(forum.state.webhooks.of(sweptAtOnce))
  t.equal([...replayed(rows).webhooks.all()].length, 3)
  t.notOk(sweepWebhooks(forum))
  t.equal([...forum.state.webhooks.all()].length, 0)
})

t.test('expiry: much to do: one piece in each iteration, until it is stopped', async (t) => {
  const world = crowd(3 * guestsAtOnce + 1)
  const { forum } = world
  world.clock.now += 7 * dayMs
  const stop = startExpiry(forum)
  t.equal(forum.state.guestsExpired, guestsAtOnce)
  await new Promise(setImmediate)
  t.equal(forum.state.guestsExpired, 2 * guestsAtOnce)
  stop()
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  t.equal(forum.state.guestsExpired, 2 * guestsAtOnce)
})

t.test('admission: no room for callers: expiry is recorded all the same', async (t) => {
  const { forum, clock } = crowd(1)
  forum.admission = { refusal: () => ({ rejected: 'overloaded' }) }
  clock.now += 7 * dayMs
  t.strictSame(admit(forum, null, { caller: 0, address: '' }), { rejected: 'overloaded' })
  expireGuests(forum)
  t.equal(forum.state.guestsExpired, 1)
  t.match(createIdentity(forum, { kind: 'guest', displayName: 'x', address: '' }, 'open'), {
    rejected: 'overloaded',
  })
})
