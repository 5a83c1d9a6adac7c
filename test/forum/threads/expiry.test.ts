// Goal:   threads expire when they are due, by records that are made in small steps, and a clock
//         that is wrong does not end them. test/forum/forum.test.ts has the answers.

import assert from 'node:assert/strict'
import t from 'tap'
import { claimThread } from '../../../src/forum/claims/commands.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import { createIdentity } from '../../../src/forum/identities/commands.ts'
import type { State } from '../../../src/forum/state.ts'
import { createThread, reply } from '../../../src/forum/threads/commands.ts'
import { ThreadExpiry, waveMs } from '../../../src/forum/threads/expiry.ts'
import { isRejection } from '../../../src/kernel/rejection.ts'
import { threadTopic } from '../../../src/kernel/topics.ts'
import { dayMs, goOn, hourMs, newWorld, replayed, type World } from '../doubles.ts'
import { hashesOf } from '../state-hash.ts'

const said = { caller: 0, address: '', content: 'Content', mentionIds: [] }
let keys = 0
const newKey = () => `a-key-${keys++}`

/** Returns a world with an identity, and its expiry. */
function start(retentionDays = 0): World & { expiry: ThreadExpiry } {
  const world = newWorld()
  const { forum } = world
  forum.retentionDays = retentionDays
  const ana = { kind: 'persistent', displayName: 'Ana', address: '' } as const
  assert.ok(!isRejection(createIdentity(forum, ana, 'open')))
  return { ...world, expiry: new ThreadExpiry(forum) }
}

/** Begins a thread; returns its number. */
function begin(forum: Forum, ttlSeconds?: number): number {
  const own = { title: 'T', visibility: 'public', participantIds: [], ttlSeconds } as const
  const made = createThread(forum, { ...said, ...own, key: newKey() })
  assert.ok(!isRejection(made))
  return forum.state.messages.thread(made.message)
}

function answer(forum: Forum, thread: number): void {
  const threadId = forum.state.threads.id(thread)
  assert.ok(!isRejection(reply(forum, { ...said, threadId, key: newKey() })))
}

/** Takes turns until none must follow at once; returns their number. */
function run(expiry: ThreadExpiry): number {
  for (let turns = 1; turns < 100_000; turns++) if (expiry.turn() > 0) return turns
  assert.fail('it ends')
}

t.test('E1: due after its newest message: a reply prolongs its life', async (t) => {
  const { forum, clock, expiry } = start()
  const { threads } = forum.state
  const [mortal, other] = [begin(forum, 60), begin(forum)]
  goOn(clock, 59_000)
  answer(forum, mortal)
  run(expiry)
  goOn(clock, 59_999)
  run(expiry)
  t.notOk(threads.isExpired(mortal))
  goOn(clock, 1)
  run(expiry)
  t.ok(threads.isExpired(mortal))
  goOn(clock, 9 * dayMs)
  run(expiry)
  t.notOk(threads.isExpired(other), 'it has no end')
  t.equal(threads.find(threads.hex(mortal)), -1)
  t.equal(threads.expired, 1)
})

t.test(
  'with a retention for all: the earlier end counts, also for threads of before',
  async (t) => {
    const { forum, clock } = start(2)
    const { threads } = forum.state
    const [early, late, none] = [begin(forum, 60), begin(forum, 9 * 86_400), begin(forum)]
    goOn(clock, hourMs)
    const expiry = new ThreadExpiry(forum)
    goOn(clock, hourMs)
    run(expiry)
    t.same(
      [early, late, none].map((thread) => threads.isExpired(thread)),
      [true, false, false],
    )
    goOn(clock, 2 * dayMs)
    run(expiry)
    t.same(
      [late, none].map((thread) => threads.isExpired(thread)),
      [true, true],
    )
  },
)

t.test('with a retention for all: a reply prolongs the life of its thread', async (t) => {
  const { forum, clock, expiry } = start(2)
  const { threads } = forum.state
  const thread = begin(forum)
  goOn(clock, 2 * dayMs - 1)
  answer(forum, thread)
  goOn(clock, 2 * dayMs - 1)
  run(expiry)
  t.notOk(threads.isExpired(thread))
  goOn(clock, 1)
  run(expiry)
  t.ok(threads.isExpired(thread))
})

t.test('E2, E3: 3,000 messages: hidden by one record, erased by many, in waves', async (t) => {
  const { forum, rows, clock, expiry } = start()
  const { threads, messages, text } = forum.state
  const separated: number[] = []
  rows.separate = () => separated.push(rows.position) > 0
  const thread = begin(forum, 60)
  for (let i = 1; i < 3_000; i++) answer(forum, thread)
  goOn(clock, 61_000)
  let from = rows.position
  text.isFrozen = true
  run(expiry)
  t.equal(threads.find(threads.hex(thread)), -1, 'a checkpoint is being taken: hidden')
  t.same(
    rows.records(from).map(({ type }) => type),
    ['thread.expired'],
  )
  text.isFrozen = false
  from = rows.position
  expiry.turn()
  const left = threads.messageCount(thread)
  t.ok(left >= 2_936 && left < 3_000, 'a turn erases at most 64')
  text.isFrozen = true
  run(expiry)
  t.equal(threads.messageCount(thread), left, 'a checkpoint is taken in the wave: it waits')
  text.isFrozen = false
  t.ok(run(expiry) >= 45)
  const erased = rows.records(from)
  t.ok(erased.every(({ type }) => type === 'thread.erased'))
  t.equal(threads.messageCount(thread), 0)
  t.ok(Array.from({ length: 3_000 }, (_, i) => messages.isForgotten(i)).every((is) => is))
  t.same(separated, [from], 'a wave begins one segment')
  const next = begin(forum, 60)
  goOn(clock, 61_000)
  run(expiry)
  t.ok(threads.isExpired(next) && threads.messageCount(next) === 1, 'it waits for the next wave')
  goOn(clock, waveMs)
  run(expiry)
  t.equal(threads.messageCount(next), 0)
  t.same(separated.length, 2)
  const withoutKeys = (state: State) =>
    Object.entries(hashesOf(state)).filter(([name]) => !name.includes('receipts.'))
  t.same(withoutKeys(forum.state), withoutKeys(replayed(rows)), 'a start finds the same')
})

t.test('E2: messages in many pages of text: a turn erases those of eight', async (t) => {
  const { forum, rows, clock, expiry } = start()
  const { text } = forum.state
  const count = 20
  for (let i = 0; i < count; i++) {
    begin(forum, 60)
    text.append('x'.repeat(text.pageBytes))
  }
  goOn(clock, 61_000)
  const turns: number[] = []
  for (let isMore = true; isMore; ) {
    const from = rows.position
    isMore = expiry.turn() === 0
    turns.push(rows.records(from).filter(({ type }) => type === 'thread.erased').length)
  }
  t.same(turns, [8, 8, 4])
})

t.test('a restart between hidden and erased: it is erased afterwards', async (t) => {
  const { forum, rows, clock, expiry } = start()
  const thread = begin(forum, 60)
  goOn(clock, 61_000)
  forum.state.text.isFrozen = true
  run(expiry)
  forum.state.text.isFrozen = false
  rows.separate = () => false
  run(expiry)
  t.equal(forum.state.threads.messageCount(thread), 1, 'no segment is ready')
  rows.separate = () => true
  run(new ThreadExpiry(forum))
  t.equal(forum.state.threads.messageCount(thread), 0)
})

t.test(
  'E4: the clock jumps a year ahead: nothing expires for an hour, and nothing if it is set back',
  async (t) => {
    const { forum, clock, expiry } = start(30)
    const { threads } = forum.state
    const [short, long] = [begin(forum, 60), begin(forum)]
    run(expiry)
    clock.now += 365 * dayMs
    run(expiry)
    goOn(clock, 61_000)
    run(expiry)
    t.same(
      [short, long].map((thread) => threads.isExpired(thread)),
      [true, false],
      'time goes on',
    )
    goOn(clock, hourMs - 62_000)
    run(expiry)
    t.notOk(threads.isExpired(long))
    goOn(clock, 1_000)
    run(expiry)
    t.ok(threads.isExpired(long), 'the clock is believed')

    const again = start(30)
    const kept = begin(again.forum)
    run(again.expiry)
    again.clock.now += 365 * dayMs
    run(again.expiry)
    again.clock.now -= 365 * dayMs
    for (let hours = 0; hours < 48; hours++) {
      goOn(again.clock, hourMs)
      run(again.expiry)
    }
    t.notOk(again.forum.state.threads.isExpired(kept))
  },
)

t.test('E4: a start after a long pause: what is due expires an hour later', async (t) => {
  const { forum, clock } = start(1)
  const thread = begin(forum)
  clock.now += 30 * dayMs
  const expiry = new ThreadExpiry(forum)
  run(expiry)
  goOn(clock, hourMs - 1)
  run(expiry)
  t.notOk(forum.state.threads.isExpired(thread))
  goOn(clock, 1)
  run(expiry)
  t.ok(forum.state.threads.isExpired(thread))
})

t.test(
  'E4: the clock was ahead when messages were published: restarts expire nothing',
  async (t) => {
    const { forum, clock, expiry } = start(30)
    const [old, other] = [begin(forum), begin(forum)]
    run(expiry)
    clock.now += 365 * dayMs
    answer(forum, other)
    const restarted = new ThreadExpiry(forum)
    run(restarted)
    goOn(clock, hourMs - 1)
    run(restarted)
    t.notOk(forum.state.threads.isExpired(old), 'a start does not believe the clock either')
    clock.now -= 365 * dayMs
    const afterwards = new ThreadExpiry(forum)
    for (let hours = 0; hours < 48; hours++) {
      goOn(clock, hourMs)
      run(afterwards)
    }
    t.notOk(forum.state.threads.isExpired(old), 'forum time is ahead, and the clock is set right')
    goOn(clock, 30 * dayMs)
    run(afterwards)
    goOn(clock, hourMs)
    run(afterwards)
    t.ok(forum.state.threads.isExpired(old), 'it is due by the clock')
    t.notOk(forum.state.threads.isExpired(other))
  },
)

t.test('E4: two jumps within an hour: each is doubted for an hour', async (t) => {
  const { forum, clock, expiry } = start(30)
  const { threads } = forum.state
  const [short, long] = [begin(forum, 3_600), begin(forum)]
  run(expiry)
  clock.now += 2 * hourMs
  run(expiry)
  goOn(clock, hourMs / 2)
  clock.now += 365 * dayMs
  run(expiry)
  goOn(clock, hourMs / 2)
  run(expiry)
  t.same([threads.isExpired(short), threads.isExpired(long)], [true, false])
  clock.now -= 2 * dayMs
  run(expiry)
  goOn(clock, hourMs / 2 - 1)
  run(expiry)
  t.notOk(threads.isExpired(long))
  goOn(clock, 1)
  run(expiry)
  t.ok(threads.isExpired(long))
})

t.test('E4: two jumps, with a message after each: a start believes neither', async (t) => {
  const { forum, clock } = start(30)
  const [old, other] = [begin(forum), begin(forum)]
  for (let jumps = 0; jumps < 2; jumps++) {
    clock.now += 31 * dayMs
    answer(forum, other)
    goOn(clock, 60_000)
  }
  const restarted = new ThreadExpiry(forum)
  run(restarted)
  goOn(clock, hourMs - 1)
  run(restarted)
  t.notOk(forum.state.threads.isExpired(old))
  goOn(clock, 1)
  run(restarted)
  t.ok(forum.state.threads.isExpired(old))
  t.notOk(forum.state.threads.isExpired(other))
})

t.test('a poll waits for the thread: it is woken', async (t) => {
  const { forum, clock, expiry } = start()
  const thread = begin(forum, 60)
  const news: number[] = []
  forum.state.onNews = (topic) => news.push(topic)
  goOn(clock, 60_000)
  run(expiry)
  t.ok(news.includes(threadTopic(thread)))
})

t.test('the thread is claimed: its claim ends with it', async (t) => {
  const { forum, clock, expiry } = start()
  const threadId = forum.state.threads.id(begin(forum, 60))
  const claim = claimThread(forum, { caller: 0, threadId, seconds: 3600, key: newKey() })
  assert.ok(!isRejection(claim))
  goOn(clock, 60_000)
  run(expiry)
  t.match(forum.state.claims, { count: 0, ended: { released: 1 } })
})

t.test('the log takes nothing: nothing expires, and later it does', async (t) => {
  const { forum, rows, clock, expiry } = start()
  const thread = begin(forum, 60)
  goOn(clock, 60_000)
  rows.health = 'storage_full'
  run(expiry)
  t.notOk(forum.state.threads.isExpired(thread))
  rows.health = 'ok'
  run(expiry)
  t.ok(forum.state.threads.isExpired(thread))
})

t.test(
  'profiles were read before: counts and newest messages leave out what expires',
  async (t) => {
    const { forum, clock, expiry } = start()
    const { publishers, state } = forum
    const [kept, mortal] = [begin(forum), begin(forum, 60)]
    answer(forum, mortal)
    t.ok(publishers.catchUp(true))
    t.same(publishers.countOf(0), { count: 3, newest: 2 })
    goOn(clock, 60_000)
    run(expiry)
    t.same(publishers.countOf(0), { count: 1, newest: state.threads.message(kept, 0) })
    t.equal(publishers.newestOf(0), 0)
    answer(forum, kept)
    t.ok(publishers.catchUp(true))
    t.same(publishers.countOf(0), { count: 2, newest: 3 })
    t.equal(publishers.previous(3), 0, 'those between have expired')
  },
)

t.test(
  'all that an author published has expired, and it publishes again: named once',
  async (t) => {
    const { forum, clock, expiry } = start()
    const { publishers } = forum
    begin(forum, 60)
    begin(forum, 60)
    t.ok(publishers.catchUpWithNames(true))
    goOn(clock, 60_000)
    run(expiry)
    t.same(publishers.countOf(0), { count: 0, newest: -1 })
    t.same(publishers.find('', null, 10), [])
    begin(forum)
    t.ok(publishers.catchUpWithNames(true))
    t.same(publishers.find('', null, 10), [0])
    t.same(publishers.countOf(0), { count: 1, newest: 2 })
    t.equal(publishers.previous(2), -1)
  },
)
