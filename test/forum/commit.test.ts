import t from 'tap'
import { subscribe, unsubscribe } from '../../src/forum/feed/commands.ts'
import type { Forum } from '../../src/forum/forum.ts'
import { createIdentity, expireGuests } from '../../src/forum/identities/commands.ts'
import { createThread, reply } from '../../src/forum/threads/commands.ts'
import { admit, admitOwn, commit } from '../../src/forum/write.ts'
import { timeOf } from '../../src/kernel/clock.ts'
import { isRejection } from '../../src/kernel/rejection.ts'
import { dayMs, hourMs, newWorld, type World } from './doubles.ts'

/** No limit in these tests needs an address. */
const address = ''
/** Commits a record that changes nothing, and returns its position. */
function commitOwn(forum: Forum): number {
  const permit = admitOwn(forum)
  if (isRejection(permit)) throw new Error(permit.rejected)
  return commit(forum, permit, { type: 'guests.expired', at: permit.at, before: 0 })
}

t.test('commit: a record: appended, then applied, then answered with its position', async (t) => {
  const { forum, rows } = newWorld()
  const seen: number[] = []
  const append = (row: unknown) => {
    seen.push(forum.state.position)
    return rows.append(row)
  }
  forum.journal = { append, health: 'ok', durable: 0, flush() {}, separate: () => true }
  t.equal(commitOwn(forum), 1)
  t.equal(commitOwn(forum), 2)
  t.same(seen, [0, 1], 'nothing was applied before it was appended')
  t.same([forum.state.position, forum.state.now], [2, timeOf(forum)], 'F1')
})

t.test('F2: the clock steps back an hour: a record is made: its time does not', async (t) => {
  const { forum, clock } = newWorld()
  const first = clock.now
  commitOwn(forum)
  clock.now -= hourMs
  t.equal(timeOf(forum), first)
  clock.now += 2 * hourMs
  t.equal(timeOf(forum), first + hourMs)
})

/** Returns a forum with an author, a guest that can be named and will expire, and a thread. */
function furnished(): World & { author: number; threadId: string } {
  const world = newWorld()
  const { forum } = world
  for (const kind of ['persistent', 'guest'] as const) {
    createIdentity(forum, { kind, displayName: 'Ana', address }, 'open')
  }
  const post = {
    title: 'T',
    content: 'C',
    visibility: 'public',
    participantIds: [],
    address,
  } as const
  createThread(forum, { caller: 0, key: 'key-0001', ...post })
  return { ...world, author: 0, threadId: forum.state.threads.id(0) }
}

for (const health of ['storage_full', 'overloaded', 'storage_failed'] as const) {
  t.test(`${health}: every command: refused with it, and nothing changes`, async (t) => {
    const { forum, rows, clock, author, threadId } = furnished()
    unsubscribe(forum, { caller: author, threadId })
    const { position } = rows
    rows.health = health
    clock.now += 8 * dayMs
    t.same(admit(forum, null, { caller: author, address }), { rejected: health })
    t.same(admitOwn(forum), { rejected: health })
    const post = {
      title: 'T',
      content: 'C',
      visibility: 'public',
      participantIds: [],
      address,
    } as const
    const outcomes = [
      createIdentity(forum, { kind: 'guest', displayName: 'Bob', address }, 'open'),
      createThread(forum, { caller: author, key: 'key-0002', ...post }),
      reply(forum, { caller: author, threadId, content: 'C', key: 'key-0003', address }),
      subscribe(forum, { caller: author, threadId }),
    ]
    for (const outcome of outcomes) t.same(outcome, { rejected: health })
    expireGuests(forum)
    t.equal(rows.position, position, 'nothing was appended')
    t.equal(forum.state.position, position)
    t.equal(forum.state.threads.count, 1)

    const again = createThread(forum, { caller: author, key: 'key-0001', ...post })
    t.match(again, { replayed: true, position: 3 }, 'a replay needs no disk')
    t.same(
      unsubscribe(forum, { caller: author, threadId }),
      { position: 4 },
      'nor does leaving a thread that is not followed',
    )
  })
}

t.test('journal and state: positions diverge: an assertion stops the next commit', async (t) => {
  const { forum } = newWorld()
  forum.state.position = 5
  forum.journal = {
    append: () => Number.NaN,
    flush() {},
    separate: () => true,
    health: 'ok',
    durable: 0,
  }
  t.throws(() => commitOwn(forum), { code: 'ERR_ASSERTION' })
})

t.test('K1: guests of a week ago: expired by the timer: one record for all', async (t) => {
  const { forum, rows, clock } = furnished()
  for (let i = 0; i < 5; i++)
    createIdentity(forum, { kind: 'guest', displayName: 'Guest', address }, 'open')
  clock.now += hourMs
  const late = createIdentity(forum, { kind: 'guest', displayName: 'Late', address }, 'open')
  t.notOk(isRejection(late))
  const { position } = rows
  clock.now += 7 * dayMs - hourMs
  expireGuests(forum)
  t.equal(rows.position, position + 1)
  t.strictSame(rows.records().at(-1), { type: 'guests.expired', at: clock.now, before: 7 })
  const { actors } = forum.state.identities
  const states = Array.from({ length: 8 }, (_, i) => actors.state(i))
  t.same(states, ['active', ...Array(6).fill('expired'), 'active'])
  t.equal(forum.state.feeds.actors.state(1), 'closed')
  expireGuests(forum)
  t.equal(rows.position, position + 1, 'nothing more to record')
  clock.now -= 7 * dayMs
  t.equal(forum.state.identities.mayAct(3, timeOf(forum)), false, 'and no clock revives them')
})
