import t from 'tap'
import {
  type IdentityKind,
  identity,
  identityKinds,
} from '../../../src/forum/identities/machine.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

type Event = EventIn<typeof identity>

function created(kind: IdentityKind, expiresAt: number): Event {
  return { type: 'created', kind, at: 1000, expiresAt }
}

const actedAt = (at: number): Event => ({ type: 'acted', at })
const expiredAt = (at: number): Event => ({ type: 'expired', at })

t.test('I1: identity: guest: expired a moment early, then in time: expires once', async (t) => {
  const { taken, state } = runEvents(identity, [
    created('guest', 2000),
    expiredAt(1999),
    expiredAt(2000),
    expiredAt(2001),
  ])
  t.same(taken, [true, false, true, false])
  t.equal(state, 'expired')
})

t.test('I1: identity: expiresAt 0: expired: refused, it never expires', async (t) => {
  for (const kind of identityKinds) {
    const { taken, state } = runEvents(identity, [created(kind, 0), expiredAt(9e15)])
    t.same(taken, [true, false])
    t.equal(state, 'active')
  }
})

t.test('I1: identity: guest: may act until its time, whether recorded or not', async (t) => {
  const { taken } = runEvents(identity, [created('guest', 2000), actedAt(1999), actedAt(2000)])
  t.same(taken, [true, true, false])
  t.same(runEvents(identity, [created('guest', 2000), expiredAt(2000), actedAt(1999)]).taken, [
    true,
    true,
    false,
  ])
})

t.test('I2: identity: compat: acts: not accepted', async (t) => {
  t.same(runEvents(identity, [created('compat', 0), actedAt(1001)]).taken, [true, false])
})

t.test('I3: identity: each kind: nominated: only a persistent one is accepted', async (t) => {
  for (const kind of identityKinds) {
    const { taken } = runEvents(identity, [created(kind, 0), { type: 'nominated', at: 1001 }])
    t.same(taken, [true, kind === 'persistent'], kind)
  }
})

t.test('I4: identity: blocked: neither acts nor is nominated; unblocked: as before', async (t) => {
  const { taken, state } = runEvents(identity, [
    created('persistent', 0),
    { type: 'unblocked' },
    { type: 'blocked' },
    { type: 'blocked' },
    actedAt(1001),
    { type: 'nominated', at: 1001 },
    { type: 'unblocked' },
    actedAt(1001),
  ])
  t.same(taken, [true, false, true, false, false, false, true, true])
  t.equal(state, 'active')
})

t.test('I1: identity: a blocked guest: expires in its time, and is not unblocked', async (t) => {
  const { taken, state } = runEvents(identity, [
    created('guest', 2000),
    { type: 'blocked' },
    expiredAt(1999),
    expiredAt(2000),
    { type: 'unblocked' },
  ])
  t.same(taken, [true, true, false, true, false])
  t.equal(state, 'expired')
})

t.test('I4: identity: compat: blocked: not accepted', async (t) => {
  t.same(runEvents(identity, [created('compat', 0), { type: 'blocked' }]).taken, [true, false])
})

t.test('I6: identity: rotated: counts its tokens, active or blocked', async (t) => {
  const rotated: Event = { type: 'rotated', at: 1001 }
  const { taken, state, context } = runEvents(identity, [
    rotated,
    created('guest', 2000),
    rotated,
    { type: 'blocked' },
    rotated,
    { type: 'rotated', at: 2000 },
    expiredAt(2000),
    rotated,
  ])
  t.same(taken, [false, true, true, true, true, false, true, false])
  t.same([state, context.tokenNumber], ['expired', 2])
  t.same(runEvents(identity, [created('compat', 0), rotated]).taken, [true, false])
})
