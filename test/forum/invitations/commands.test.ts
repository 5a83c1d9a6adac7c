// Invitations as commands: who issues them, who is registered with one, and what a refusal reveals.

import assert from 'node:assert/strict'
import t from 'tap'
import type { Forum } from '../../../src/forum/forum.ts'
import {
  authenticate,
  createIdentity,
  type Registration,
} from '../../../src/forum/identities/commands.ts'
import { listInvitations } from '../../../src/forum/invitations/commands.ts'
import { accessCommands } from '../../../src/forum/invitations/operators.ts'
import { invitationsMax } from '../../../src/forum/invitations/table.ts'
import { blockIdentity } from '../../../src/forum/moderation/commands.ts'
import { isRejection, type Rejection } from '../../../src/kernel/rejection.ts'
import { dayMs, goOn, newWorld } from '../doubles.ts'

const here = '192.0.2.1'

function demanded<T extends object>(outcome: T | Rejection): T {
  assert.ok(!isRejection(outcome), JSON.stringify(outcome))
  return outcome
}

function issued(forum: Forum, uses = 1, days = 7) {
  return demanded(accessCommands.invite(forum, { uses, days, reason: '' }))
}

function register(forum: Forum, invite?: string, registration: Registration = 'invited') {
  const newcomer = { kind: 'persistent', displayName: 'Ana', address: here, invite } as const
  return createIdentity(forum, newcomer, registration)
}

const revoke = accessCommands['revoke-invite']

t.test('registration: each mode, with and without an invitation', async (t) => {
  const { forum } = newWorld()
  const { code } = issued(forum, 2)
  t.notOk(isRejection(register(forum, undefined, 'open')))
  t.notOk(isRejection(register(forum, 'inv_wrong', 'open')), 'it is ignored')
  t.match(register(forum), { rejected: 'invite_required' })
  t.match(register(forum, 'inv_wrong'), { rejected: 'invalid_invite' })
  t.match(register(forum, code, 'closed'), { rejected: 'registration_closed' })
  t.equal(listInvitations(forum)[0]!.used, 0)
  const made = demanded(register(forum, code))
  t.notOk(isRejection(authenticate(forum, made.token, here)))
  t.match(listInvitations(forum), [{ state: 'issued', uses: 2, used: 1 }])
})

t.test('invitation: an operator registers: in any mode, and uses none', async (t) => {
  const { forum, rows } = newWorld()
  const made = demanded(accessCommands.register(forum, { kind: 'guest', displayName: 'Ben' }))
  t.notOk(isRejection(authenticate(forum, made.token, here)))
  t.equal(made.expiresAt, forum.state.now + 7 * dayMs)
  t.match(rows.records(), [{ type: 'identity.created', kind: 'guest', client: '' }])
})

t.test('N1: unknown, used up, revoked, expired: one refusal, and no record for it', async (t) => {
  const { forum, rows, clock } = newWorld()
  const expires = issued(forum, 1, 1)
  const [usedUp, revoked] = [issued(forum), issued(forum)]
  register(forum, usedUp.code)
  demanded(revoke(forum, { id: `ivt_${revoked.id}`, reason: 'a leak' }))
  goOn(clock, dayMs)
  const codes = [`inv_${'0'.repeat(64)}`, usedUp.code, revoked.code, expires.code, '']
  // The first attempt after the expiry records the expiry, whichever code it uses.
  const first = register(forum, codes[0])
  const { position } = forum.state
  t.equal(rows.records().at(-1)!.type, 'guests.expired')
  for (const code of codes) t.same(register(forum, code), first, code)
  t.same(first, { rejected: 'invalid_invite', position })
  t.equal(forum.state.position, position)
  t.same(
    listInvitations(forum).map(({ state }) => state),
    ['expired', 'usedUp', 'revoked'],
  )
})

t.test(
  'invitation: its time is over, and other records are later: expired all the same',
  async (t) => {
    const { forum, rows, clock } = newWorld()
    const { id, code } = issued(forum, 1, 1)
    goOn(clock, dayMs)
    register(forum, undefined, 'open')
    t.match(listInvitations(forum), [{ state: 'expired' }])
    t.match(revoke(forum, { id: `ivt_${id}`, reason: '' }), {
      isNew: false,
      invitation: { state: 'expired' },
    })
    t.equal(rows.records().at(-1)!.type, 'guests.expired')
    t.match(register(forum, code), { rejected: 'invalid_invite', position: forum.state.position })
  },
)

t.test('invitation: revoked by its code, twice: the second changes nothing', async (t) => {
  const { forum } = newWorld()
  const { id, code } = issued(forum)
  t.match(revoke(forum, { id: code, reason: '' }), { isNew: true, invitation: { id } })
  const { position } = forum.state
  t.match(revoke(forum, { id: `ivt_${id}`, reason: '' }), { isNew: false, position })
  t.match(revoke(forum, { id: `ivt_${'0'.repeat(32)}`, reason: '' }), { rejected: 'not_found' })
  t.match(revoke(forum, { id: `inv_${'0'.repeat(64)}`, reason: '' }), { rejected: 'not_found' })
  t.equal(forum.state.position, position)
})

t.test(
  'I2: invitations: as many as are kept are open: refused; one has ended: it goes',
  async (t) => {
    const { forum } = newWorld()
    const all = Array.from({ length: invitationsMax }, () => issued(forum))
    const { position } = forum.state
    t.match(accessCommands.invite(forum, { uses: 1, days: 1, reason: '' }), {
      rejected: 'overloaded',
      detail: /1000 .* revoke one/,
    })
    t.equal(forum.state.position, position)
    register(forum, all[5]!.code)
    const { id } = issued(forum)
    const ids = listInvitations(forum).map((each) => each.id)
    t.same(ids, [...all.filter((_, i) => i !== 5).map((each) => each.id), id])
    t.match(register(forum, all[5]!.code), { rejected: 'invalid_invite' })
    t.notOk(isRejection(register(forum, all[6]!.code)))
  },
)

t.test('I1: the log and what a checkpoint saves: have no code and no token', async (t) => {
  const { forum, rows } = newWorld()
  const { code } = issued(forum)
  const { token } = demanded(register(forum, code))
  const kept = JSON.stringify([rows.records(), forum.state.invitations.facts()])
  for (const secret of [code, token]) t.notOk(kept.includes(secret.slice(4)))
  t.match(rows.records(), [{ reason: '' }, { type: 'identity.invited' }])
})

t.test('rotate-token: of whoever has lost it: the old one ends; of others: refused', async (t) => {
  const { forum, clock } = newWorld()
  const { id, token } = demanded(register(forum, undefined, 'open'))
  const guest = demanded(accessCommands.register(forum, { kind: 'guest', displayName: 'Ben' }))
  const rotate = (of: string) => accessCommands['rotate-token'](forum, { id: of, reason: 'lost' })
  const replaced = demanded(rotate(id))
  t.match(authenticate(forum, token, here), { rejected: 'invalid_token' })
  t.notOk(isRejection(authenticate(forum, replaced.token, here)))
  blockIdentity(forum, { id, reason: '' })
  const again = demanded(rotate(id))
  t.match(authenticate(forum, again.token, here), { rejected: 'identity_blocked' })
  t.match(rotate(`agt_${'0'.repeat(32)}`), { rejected: 'not_found' })
  goOn(clock, 7 * dayMs)
  t.match(rotate(guest.id), { rejected: 'not_found', detail: `${guest.id} has expired.` })
})
