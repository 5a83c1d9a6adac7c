// Registrations that may be repeated: by network and key, for an hour, in a bounded number.

import t from 'tap'
import { Registrations } from '../../../src/forum/identities/registrations.ts'

const hourMs = 3_600_000

function made(token: string) {
  const kind = 'guest' as const
  return { position: 1, id: 'agt_1', kind, displayName: 'ana', token, expiresAt: null }
}

function command(address: string, key: string, displayName = 'ana') {
  return { kind: 'guest' as const, displayName, address, key }
}

t.test('N1, N2: a registration: found by network, key and body, for an hour', async (t) => {
  let now = 0
  const registrations = new Registrations(() => now)
  const ana = command('10.0.0.1', 'a')
  registrations.keep(ana, made('token a'))
  registrations.keep(command('10.0.0.1', ''), made('no key'))
  t.equal(registrations.count, 1)
  t.match(registrations.find(ana), { token: 'token a' })
  t.equal(registrations.find(command('10.0.0.2', 'a')), null, 'another network')
  t.equal(registrations.find(command('10.0.0.1', 'b')), null, 'another key')
  t.equal(registrations.find(command('10.0.0.1', '')), null, 'no key')
  const others = { displayName: 'ben', kind: 'persistent' as const, listed: true, invite: 'inv_1' }
  for (const [name, value] of Object.entries(others)) {
    const other = registrations.find({ ...ana, [name]: value })
    t.same(other, { rejected: 'idempotency_conflict', position: 1 }, `another ${name}`)
  }
  now = hourMs - 1
  registrations.expire()
  t.match(registrations.find(ana), { token: 'token a' })
  now = hourMs
  t.equal(registrations.find(ana), null)
  registrations.keep(ana, made('token of the next hour'))
  t.equal(registrations.count, 1, 'in the place of the other one')
  now += hourMs
  registrations.expire()
  t.equal(registrations.count, 0, 'its token is gone')
  registrations.keep(ana, made('token b'))
  registrations.expire(0)
  t.equal(registrations.count, 0, 'a process that no longer decides')
})

t.test('N3: one network registers without end: displaces its own, and no other', async (t) => {
  const registrations = new Registrations(() => 0)
  const ben = command('10.0.0.2', 'ben')
  registrations.keep(ben, made('token of ben'))
  for (let n = 0; n < 20_000; n++) registrations.keep(command('10.0.0.1', `${n}`), made(`${n}`))
  t.ok(registrations.count <= 8_192)
  t.match(registrations.find(ben), { token: 'token of ben' })
  t.match(registrations.find(command('10.0.0.1', '19999')), { token: '19999' })
  t.equal(registrations.find(command('10.0.0.1', '0')), null)
})
