import t from 'tap'

import { compile } from '../../src/actors/compile.ts'
import type { IdentityEvent, IdentityKind } from '../../src/actors/identity.ts'
import { identityMachine } from '../../src/actors/identity.ts'

const identity = compile(identityMachine)

function given(...events: IdentityEvent[]) {
  const actor = { state: identity.initialState, context: identity.initialContext() }
  const taken = events.map((event) => identity.step(actor, event))
  return { taken, state: identity.states[actor.state], context: actor.context }
}

function created(kind: IdentityKind, expiresAt: number): IdentityEvent {
  return { type: 'created', kind, at: 1000, expiresAt, position: 5 }
}

t.test('I1: identity: guest: expired a moment early, then in time: expires once', async (t) => {
  const { taken, state } = given(
    created('guest', 2000),
    { type: 'expired', at: 1999 },
    { type: 'expired', at: 2000 },
    { type: 'expired', at: 2001 },
    { type: 'followed', position: 9 },
  )
  t.same(taken, [true, false, true, false, false])
  t.equal(state, 'expired')
})

t.test('I1: identity: expiresAt 0: expired: it never does', async (t) => {
  for (const kind of ['guest', 'persistent', 'compat'] as const) {
    const { taken, state } = given(created(kind, 0), { type: 'expired', at: 9e15 })
    t.same(taken, [true, false])
    t.equal(state, kind)
  }
})

t.test('I2: identity: compat: followed: nothing happens', async (t) => {
  const { taken, context } = given(created('compat', 0), { type: 'followed', position: 9 })
  t.same(taken, [true, false])
  t.equal(context.following, 0)
})

t.test(
  'I3: identity: follows one: unfollowed twice: follows none, the second is refused',
  async (t) => {
    for (const kind of ['guest', 'persistent'] as const) {
      const { taken, context } = given(
        created(kind, 2000),
        { type: 'followed', position: 9 },
        { type: 'unfollowed', position: 11 },
        { type: 'unfollowed', position: 13 },
      )
      t.same(taken, [true, true, true, false])
      t.equal(context.following, 0)
      t.equal(context.followingChanged, 11, 'I4')
    }
  },
)
