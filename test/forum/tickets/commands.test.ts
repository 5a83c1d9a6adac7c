// Tickets and publishing with them, in simulated time: docs/interface.md, "Publishing by GET".

import t from 'tap'
import { type CreatedIdentity, createIdentity } from '../../../src/forum/identities/commands.ts'
import { lockThread } from '../../../src/forum/moderation/commands.ts'
import {
  findSession,
  type Session,
  sealSession,
  signOut,
} from '../../../src/forum/sessions/commands.ts'
import { createThread, type Publication } from '../../../src/forum/threads/commands.ts'
import {
  acceptTicket,
  type IssuedTicket,
  issueTicket,
  publishByTicket,
  signTicket,
  type TicketPost,
} from '../../../src/forum/tickets/commands.ts'
import { ticketLifetimeMs } from '../../../src/forum/tickets/machine.ts'
import { isRejection, type Rejection } from '../../../src/kernel/rejection.ts'
import { dayMs, hourMs, newWorld, replayed, restart, type World } from '../doubles.ts'

const address = '198.51.100.7'
const hello = { title: 'Hello', content: 'first' }

function issue(world: World, from = address): string {
  const issued = issueTicket(world.forum, from)
  if (isRejection(issued)) throw new Error(issued.rejected)
  return issued.ticket
}

function publish(
  world: World,
  ticket: string,
  post: TicketPost = hello,
  from = address,
): Publication | Rejection {
  const nonce = acceptTicket(world.forum, ticket, from)
  if (typeof nonce !== 'string') return nonce
  return publishByTicket(world.forum, { nonce, post, address: from })
}

function refusal(outcome: Publication | Rejection): string | null {
  return isRejection(outcome) ? outcome.rejected : null
}

t.test('ticket: used, then for anything else: refused, the first use is shown', async (t) => {
  const world = newWorld()
  publish(world, issue(world))
  const threadId = world.forum.state.threads.id(0)
  const ticket = issue(world)
  publish(world, ticket, { content: 'a reply', threadId })
  const others: TicketPost[] = [
    { content: 'another reply', threadId },
    { content: 'a reply', title: 'Hello' },
    hello,
  ]
  for (const post of others) {
    t.same(publish(world, ticket, post), { rejected: 'ticket_already_used', position: 4 })
  }
  const began = issue(world)
  publish(world, began)
  const began2 = world.forum.state.threads.id(1)
  for (const post of [
    { ...hello, title: 'Other' },
    { ...hello, content: 'other' },
    { content: 'first', threadId: began2 },
  ]) {
    t.equal(refusal(publish(world, began, post)), 'ticket_already_used')
  }
  t.equal(world.forum.state.messages.count, 3)
})

t.test('ticket: used, then its thread is locked: a retry is told of the message', async (t) => {
  const world = newWorld()
  publish(world, issue(world))
  const threadId = world.forum.state.threads.id(0)
  const [used, unused] = [issue(world), issue(world)]
  t.match(publish(world, used, { content: 'a reply', threadId }), { message: 1, replayed: false })
  t.match(lockThread(world.forum, { id: threadId, reason: '' }), { isNew: true })
  const again = publish(world, used, { content: 'a reply', threadId })
  t.match(again, { message: 1, replayed: true })
  t.equal(refusal(publish(world, used, { content: 'another', threadId })), 'ticket_already_used')
  t.equal(refusal(publish(world, unused, { content: 'a reply', threadId })), 'thread_locked')
})

t.test(
  'ticket of a member: its holder signs out on pages twice: it can be used to its end',
  async (t) => {
    const world = newWorld()
    const { forum, clock } = world
    const made = createIdentity(
      forum,
      { kind: 'persistent', displayName: 'Ana', address: '' },
      'open',
    ) as CreatedIdentity
    const issued = issueTicket(forum, address, { identity: 0, token: 0 }) as IssuedTicket
    for (const number of [0, 1]) {
      const sealed = sealSession(forum, { token: made.token, number, epoch: 'e' })
      const session = findSession(forum, sealed, 'e') as Session
      t.notOk(isRejection(signOut(forum, session)))
      t.equal(findSession(forum, sealed, 'e'), 'absent')
    }
    clock.now += ticketLifetimeMs - 1
    t.equal(refusal(publish(world, issued.ticket)), null)
  },
)

t.test('ticket: its 120 seconds: used at the end: accepted; later: 410', async (t) => {
  const world = newWorld()
  const [used, unused] = [issue(world), issue(world)]
  world.clock.now += ticketLifetimeMs - 1
  t.equal(refusal(publish(world, used)), null)
  world.clock.now += 1
  t.equal(refusal(publish(world, unused)), 'expired_ticket')
  t.equal(refusal(publish(world, used)), 'expired_ticket', 'no replay after it expires')
})

t.test('ticket: expires between its check and the record: refused', async (t) => {
  const world = newWorld()
  const ticket = issue(world)
  const nonce = acceptTicket(world.forum, ticket, address) as string
  world.clock.now += ticketLifetimeMs
  const late = publishByTicket(world.forum, { nonce, post: hello, address })
  t.same(late, { rejected: 'expired_ticket', position: 2 })
  t.equal(world.forum.state.messages.count, 0)
  t.equal(replayed(world.rows).now, world.clock.now, 'the time of the refusal is on record')
})

t.test('ticket: forgotten long ago by another process: still 410, not 403', async (t) => {
  const world = newWorld()
  const ticket = issue(world)
  world.clock.now += 1000 * dayMs
  issue(world)
  t.equal(world.forum.state.tickets.count, 1, 'the old one is forgotten')
  t.equal(refusal(publish(world, ticket)), 'expired_ticket')
  t.equal(refusal(publish(world, ticket, hello, '203.0.113.1')), 'expired_ticket', 'before 403')
  restart(world.forum, replayed(world.rows))
  t.equal(refusal(publish(world, ticket)), 'expired_ticket')
})

t.test('ticket: the clock steps back after it expired: it stays expired', async (t) => {
  const world = newWorld()
  const ticket = issue(world)
  world.clock.now += ticketLifetimeMs
  issue(world)
  world.clock.now -= hourMs
  t.equal(refusal(publish(world, ticket)), 'expired_ticket')
})

t.test('ticket: from another address, or over midnight UTC: the client has changed', async (t) => {
  const world = newWorld()
  const ticket = issue(world)
  t.equal(refusal(publish(world, ticket, hello, '198.51.100.8')), 'ticket_client_changed')
  t.equal(refusal(publish(world, ticket)), null)

  const midnight = Math.ceil(world.clock.now / dayMs) * dayMs
  world.clock.now = midnight - 1000
  const ofYesterday = issue(world)
  world.clock.now = midnight - 1
  t.equal(refusal(publish(world, ofYesterday)), null)
  world.clock.now = midnight
  t.equal(refusal(publish(world, ofYesterday)), 'ticket_client_changed', 'even a replay')
  t.equal(refusal(publish(world, issue(world))), null)
})

t.test('X1: ticket: any character of it changed: forged', async (t) => {
  const world = newWorld()
  const ticket = issue(world)
  for (let i = 0; i < ticket.length; i++) {
    for (const other of ['0', '1', 'A', '.']) {
      if (ticket[i] === other) continue
      const forged = ticket.slice(0, i) + other + ticket.slice(i + 1)
      if (refusal(publish(world, forged)) !== 'invalid_ticket') t.fail(`${i} is ${other}`)
    }
  }
  for (const forged of ['', 'tkt_', `${ticket}0`, ` ${ticket}`, `${ticket}\n`, ticket.slice(1)]) {
    t.equal(refusal(publish(world, forged)), 'invalid_ticket', JSON.stringify(forged))
  }
  t.equal(refusal(publish(world, ticket)), null)
})

t.test('ticket: signed with another secret or for another log: invalid', async (t) => {
  const world = newWorld()
  const claims = {
    nonce: '0'.repeat(32),
    expiresAt: world.clock.now + 1000,
    client: '0'.repeat(32),
  }
  const foreign = signTicket(Buffer.alloc(32, 9), claims)
  t.equal(refusal(publish(world, foreign)), 'invalid_ticket')
  const elsewhere = newWorld()
  elsewhere.forum.stamps.id = () => 'f'.repeat(32)
  t.equal(refusal(publish(world, issue(elsewhere))), 'invalid_ticket', 'same secret, other log')
})

t.test('GET guest: published: kind compat, follows nothing, participates in nothing', async (t) => {
  const world = newWorld()
  const { state } = world.forum
  publish(world, issue(world))
  publish(world, issue(world), { content: 'a reply', threadId: state.threads.id(0) })
  for (const guest of [0, 1]) {
    t.equal(state.identities.kind(guest), 'compat')
    t.equal(state.identities.nameJson(guest), '"GET guest"')
    t.equal(state.feeds.followed(guest), 0)
  }
  createIdentity(world.forum, { kind: 'persistent', displayName: 'Ana', address: '' }, 'open')
  const post = { title: 'T', content: 'C', visibility: 'private', key: 'key-0001' } as const
  const participantIds = [state.identities.id(0)]
  const named = createThread(world.forum, { caller: 2, address: '', ...post, participantIds })
  t.same(named, { rejected: 'invalid_members' })
})

t.test('storage full: a ticket, a message: refused; a replay: answered', async (t) => {
  const world = newWorld()
  const [used, unused] = [issue(world), issue(world)]
  publish(world, used)
  world.rows.health = 'storage_full'
  t.same(issueTicket(world.forum, address), { rejected: 'storage_full' })
  t.same(publish(world, unused), { rejected: 'storage_full' })
  t.match(publish(world, used), { replayed: true })
  world.rows.health = 'ok'
  t.equal(refusal(publish(world, unused)), null)
})
