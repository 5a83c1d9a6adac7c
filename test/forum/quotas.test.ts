// Quotas as commands apply them, in simulated time: docs/interface.md, "Quotas".

import t from 'tap'
import { markRead, subscribe, unsubscribe } from '../../src/forum/feed/commands.ts'
import { createIdentity, rotateToken } from '../../src/forum/identities/commands.ts'
import { createThread, reply } from '../../src/forum/threads/commands.ts'
import { acceptTicket, issueTicket, publishByTicket } from '../../src/forum/tickets/commands.ts'
import type { QuotaLimits } from '../../src/kernel/quotas.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import { dayMs, hourMs, newWorld, replayed, restart, type World } from './doubles.ts'

const here = '198.51.100.7'
const there = '198.51.100.8'

function furnished(limits: QuotaLimits): World {
  const world = newWorld(limits)
  for (const displayName of ['Ana', 'Ben']) {
    createIdentity(world.forum, { kind: 'persistent', displayName, address: here }, 'open')
  }
  return world
}

let keys = 0

/** Publishes a thread by a caller from an address. Returns a refusal code, `new` or `replayed`. */
function thread(world: World, caller: number, address: string, key = `key-${keys++}-of-many`) {
  const post = { title: 'T', content: 'C', visibility: 'public', participantIds: [] } as const
  const outcome = createThread(world.forum, { caller, address, key, ...post })
  if (isRejection(outcome)) return outcome.rejected
  return outcome.replayed ? 'replayed' : 'new'
}

t.test(
  'messages: threads, replies and GET together: one too many: 429 until the first leaves',
  async (t) => {
    const world = furnished({ messages: { all: 3 } })
    const { forum, clock } = world
    t.equal(thread(world, 0, here), 'new')
    clock.now += hourMs
    const answer = { threadId: forum.state.threads.id(0), content: 'C', address: here }
    t.match(reply(forum, { caller: 1, key: 'key-reply', ...answer }), { replayed: false })
    const issued = issueTicket(forum, here)
    if (isRejection(issued)) throw new Error(issued.rejected)
    const nonce = acceptTicket(forum, issued.ticket, here) as string
    const byGet = { nonce, post: { title: 'T', content: 'C' }, address: here }
    t.match(publishByTicket(forum, byGet), { replayed: false })

    const refused = { rejected: 'rate_limited', position: 6, retryAfter: 23 * 3600 }
    t.same(reply(forum, { caller: 1, key: 'key-more', ...answer }), refused)
    t.match(publishByTicket(forum, byGet), { replayed: true }, 'a replay never counts')
    clock.now += 23 * hourMs - 1
    t.match(reply(forum, { caller: 1, key: 'key-more', ...answer }), { retryAfter: 1 })
    clock.now += 1
    t.match(reply(forum, { caller: 1, key: 'key-more', ...answer }), { replayed: false })
    t.equal(thread(world, 0, here), 'rate_limited', 'the window slides: one leaves, one comes')
  },
)

t.test('replays and refusals: at the limit: answered, and never counted', async (t) => {
  const world = furnished({ messages: { identity: 2 } })
  t.equal(thread(world, 0, here, 'key-0001'), 'new')
  for (let i = 0; i < 5; i++) t.equal(thread(world, 0, here, 'key-0001'), 'replayed')
  t.equal(thread(world, 0, here), 'new')
  for (let i = 0; i < 5; i++) t.equal(thread(world, 0, here), 'rate_limited')
  t.equal(thread(world, 0, here, 'key-0001'), 'replayed', 'with nothing left')
  t.equal(thread(world, 1, here), 'new', 'another identity has its own')
  world.clock.now += dayMs
  t.same([thread(world, 0, here), thread(world, 0, here)], ['new', 'new'])
})

t.test(
  'changes: follows and marks count, what changes nothing does not; tokens apart',
  async (t) => {
    const limits = { changes: { identity: 3 }, rotations: { identity: 2 } }
    const world = furnished(limits)
    const { forum, clock } = world
    thread(world, 0, here)
    const one = { caller: 1, threadId: forum.state.threads.id(0) }
    const through = forum.state.position
    const refused = { rejected: 'rate_limited', position: through + 3, retryAfter: 3600 }
    for (let i = 0; i < 5; i++) t.notOk(isRejection(subscribe(forum, one)), 'counts once')
    t.notOk(isRejection(markRead(forum, { caller: 1, through: 1 })))
    t.notOk(isRejection(unsubscribe(forum, one)))
    t.same(subscribe(forum, one), refused)
    t.same(markRead(forum, { caller: 1, through }), refused)
    t.match(markRead(forum, { caller: 1, through: 1 }), { through: 1 }, 'nothing changes')
    t.notOk(isRejection(markRead(forum, { caller: 0, through })), 'another identity has its own')
    const rotate = (token: number) => {
      const by = { identity: 1, token }
      return rotateToken(forum, { identity: 1, by, graceMs: 0, reason: '' })
    }
    const rotated = [rotate(0), rotate(1), rotate(2)]
    t.match(rotated, [{ token: /^aic_/ }, { token: /^aic_/ }, { rejected: 'rate_limited' }])
    const byOperator = { identity: 1, by: null, graceMs: 0, reason: '' }
    t.match(rotateToken(forum, byOperator), { token: /^aic_/ })
    restart(forum, replayed(world.rows, limits))
    t.match(
      [subscribe(forum, one), rotate(3)],
      [1, 2].map(() => ({ rejected: 'rate_limited' })),
    )
    clock.now += hourMs
    t.notOk(isRejection(subscribe(forum, one)))
    t.notOk(isRejection(rotate(3)))
  },
)

t.test('windows: restart: events are still counted, and leave when due', async (t) => {
  const limits = { messages: { address: 2 }, identities: { address: 3 }, tickets: { address: 1 } }
  const world = furnished(limits)
  const { forum, clock } = world
  const guest = { kind: 'guest', displayName: 'Guest', address: here } as const
  thread(world, 0, here)
  issueTicket(forum, here)
  clock.now += hourMs / 2
  createIdentity(forum, guest, 'open')
  thread(world, 1, here)
  restart(forum, replayed(world.rows, limits))
  t.same([thread(world, 0, here), thread(world, 0, there)], ['rate_limited', 'new'])
  t.match(createIdentity(forum, guest, 'open'), { rejected: 'rate_limited', retryAfter: 1800 })
  t.match(issueTicket(forum, here), { rejected: 'rate_limited', retryAfter: 1800 })
  t.notOk(isRejection(issueTicket(forum, there)))
  clock.now += hourMs / 2
  t.notOk(isRejection(createIdentity(forum, guest, 'open')))
  t.notOk(isRejection(issueTicket(forum, here)))
})

t.test('ticket limit: across midnight UTC: it counts any 60 minutes', async (t) => {
  const world = newWorld({ tickets: { address: 1 } })
  world.clock.now = Math.ceil(world.clock.now / dayMs) * dayMs - 1
  t.notOk(isRejection(issueTicket(world.forum, here)))
  world.clock.now += 1
  t.match(issueTicket(world.forum, here), { rejected: 'rate_limited' })
})

t.test('records: an address: only when a limit needs it, and only as a hash', async (t) => {
  const clients = (limits: QuotaLimits) => {
    const world = furnished(limits)
    thread(world, 0, here)
    issueTicket(world.forum, here)
    return world.rows.records().map((record) => ('client' in record ? record.client : null))
  }
  t.same(clients({}), ['', '', '', ''])
  t.same(clients({ messages: { all: 5, identity: 5 } }), ['', '', '', ''])
  const [ana, ben, message, ticket] = clients({ messages: { address: 5 }, tickets: { address: 5 } })
  t.same([ana, ben], ['', ''])
  t.match(message, /^[0-9a-f]{16}$/)
  t.equal(ticket, message, 'one address has one hash')
})
