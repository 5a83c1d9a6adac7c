// The index of the identities that have published publicly, and of their public messages. It is
// built and searched in slices if there is much to examine.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { findProfiles, type ProfilePage } from '../../../src/forum/identities/profiles.ts'
import { Publishers } from '../../../src/forum/identities/publishers.ts'
import type { State } from '../../../src/forum/state.ts'
import { SlicedWork } from '../../../src/kernel/sliced-work.ts'
import { Scene } from '../scene.ts'

/** Message `n` is by identity `n % 7` (7 has none), in thread `n % 2`, of which 0 is public. */
class Messages {
  count = 0
  readonly state = {
    messages: this,
    threads: { isPublic: (thread: number) => thread === 0 },
    identities: { count: 8 },
  } as unknown as State

  author(message: number): number {
    return message % 7
  }

  thread(message: number): number {
    return message % 2
  }
}

/** Sliced work. Each call of `next` runs an iteration, and returns whether one was waiting. */
function iterations() {
  const waiting: (() => void)[] = []
  const work = new SlicedWork((run) => waiting.push(run))
  const next = async () => {
    const run = waiting.shift()
    run?.()
    return run !== undefined
  }
  return { work, next }
}

t.test('publishers: few messages: found at once, and the new ones too', async (t) => {
  const messages = new Messages()
  const publishers = new Publishers(messages.state, new SlicedWork())
  t.equal(publishers.newestOf(0), -1)
  messages.count = 8
  t.same(
    [0, 1, 2, 7].map((identity) => publishers.newestOf(identity)),
    [0, -1, 2, -1],
  )
  messages.count = 15
  t.same(
    [0, 1, 2, 7].map((identity) => publishers.newestOf(identity)),
    [14, 8, 2, -1],
  )
  t.same(
    [0, 1, 2, 7].map((identity) => publishers.countOf(identity).count),
    [2, 1, 1, 0],
  )
})

t.test('publishers: messages of an identity: each leads to the public one before', async (t) => {
  const messages = new Messages()
  messages.count = 100
  const publishers = new Publishers(messages.state, new SlicedWork())
  const expected = Array.from({ length: 100 }, (_, n) => n).filter((n) => n % 14 === 2)
  const found: number[] = []
  let each = publishers.newestOf(2)!
  for (; each !== -1; each = publishers.previous(each)) found.unshift(each)
  t.same(found, expected)
  for (let end = 0; end <= 101; end++) {
    const below = expected.filter((n) => n < end).at(-1) ?? -1
    t.equal(publishers.newestBelow(end, 2, 'an address'), below, `below ${end}`)
  }
  t.equal(publishers.newestBelow(50, 7, 'an address'), -1)
})

t.test('publishers: many messages: ask again later, and then it is known', async (t) => {
  const messages = new Messages()
  const { work, next } = iterations()
  const publishers = new Publishers(messages.state, work)
  messages.count = 300_000
  t.equal(publishers.newestOf(1), null)
  for (let n = 1; n < 300_000 / 8192; n++) {
    t.equal(publishers.newestOf(1), null, 'they are being looked at')
    await next()
  }
  messages.count += 10_000
  while (await next());
  const newest = publishers.newestOf(1)!
  t.ok(newest > 300_000 && newest % 14 === 8, `${newest}`)
  t.equal(publishers.newestOf(7), -1)
})

t.test('publishers: the next message is far from any number: found in slices, once', async (t) => {
  const messages = new Messages()
  const { work, next } = iterations()
  const publishers = new Publishers(messages.state, work)
  // Identity 6 has written the first two messages, and all messages from number 150,000 on.
  const count = 150_000
  messages.author = (message) => (message < 2 || message >= count ? 6 : message % 6)
  messages.count = 3 * count
  while (publishers.newestOf(6) === null) await next()
  const found = publishers.newestBelow(count - 1, 6, 'an address')
  t.not(typeof found, 'number')
  while (await next());
  t.equal(await found, 0)
  t.equal(publishers.newestBelow(count - 1, 6, 'an address'), 0, 'it is known now')
  t.equal(publishers.newestBelow(10, 6, 'an address'), 0, 'near from below')
  t.equal(publishers.newestBelow(3 * count - 9, 6, 'an address'), 3 * count - 10, 'near from above')
})

t.test('P2: publishers whose messages have all expired: no search goes through them', async (t) => {
  const [count, expired] = [5_000, new Set<number>()]
  let reads = 0
  const messages = { count, author: (message: number) => message % count, thread: (n: number) => n }
  const state = {
    messages,
    threads: {
      isPublic: (thread: number) => !expired.has(thread),
      messageCount: () => 1,
      message: (thread: number) => thread,
    },
    identities: {
      count,
      nameJson(identity: number) {
        reads += 1
        return `"agent-${identity}"`
      },
    },
  } as unknown as State
  const publishers = new Publishers(state, new SlicedWork())
  const catchUp = () => {
    while (!publishers.catchUpWithNames(true));
  }
  catchUp()
  const last = count - 1
  for (let thread = 0; thread < last; thread++) {
    publishers.forget(thread)
    expired.add(thread)
  }
  t.same(publishers.find('', null, 20), [last], 'before the index is caught up with')
  catchUp()
  reads = 0
  t.same(publishers.find('', null, 20), [last])
  t.ok(reads < 10, `${reads} names are read`)
  messages.count += 2 // by the first two authors, in new threads
  expired.add(count + 1)
  catchUp()
  t.same(publishers.find('', null, 20), [0, last], 'one has published again')
})

t.test('publishers: threads begin, go on and expire: what is public now counts', async () => {
  const change = fc.record({
    does: fc.constantFrom('begin in public', 'begin in private', 'reply', 'expire', 'look'),
    by: fc.nat(3),
    at: fc.nat(9),
  })
  const property = fc.property(fc.array(change, { maxLength: 60, size: 'max' }), (changes) => {
    const scene = new Scene(4)
    const { state } = scene.forum
    const publishers = new Publishers(state, new SlicedWork())
    state.onExpiring = (thread) => publishers.forget(thread)
    scene.thread('public', [])
    for (const { does, by, at } of changes) {
      const thread = at % state.threads.count
      if (does === 'begin in public') scene.thread('public', [])
      else if (does === 'begin in private') scene.thread('private', [1, 2, 3])
      else if (does === 'expire') scene.expire(thread)
      else if (does === 'look') publishers.catchUp(true)
      else if (!state.threads.isExpired(thread)) scene.reply(by, thread)
    }
    while (!publishers.catchUp(true));
    for (let identity = 0; identity < 4; identity++) {
      const own = scene.posted.flatMap(({ author, thread }, message) => {
        const isCounted =
          scene.visibilities[thread] === 'public' && !state.threads.isExpired(thread)
        return author === identity && isCounted ? [message] : []
      })
      const expected = { count: own.length, newest: own.at(-1) ?? -1 }
      assert.deepEqual(publishers.countOf(identity), expected)
    }
  })
  fc.assert(property, { numRuns: 50 })
})

t.test('publishers: what a long search found expires: searched for anew', async (t) => {
  const scene = new Scene(2)
  const { state } = scene.forum
  const { work, next } = iterations()
  const publishers = new Publishers(state, work)
  state.onExpiring = (thread) => publishers.forget(thread)
  for (const thread of [0, 1]) {
    scene.thread('public', [])
    scene.reply(1, thread)
  }
  for (let n = 0; n < 9000; n++) scene.reply(0, 0)
  const end = state.messages.count - 1
  for (let n = 0; n < 9000; n++) scene.reply(1, 0)
  t.equal(publishers.newestOf(1), state.messages.count - 1)
  const search = async () => {
    const found = publishers.newestBelow(end, 1, 'an address')
    while (await next());
    return found
  }
  t.equal(await search(), 3)
  scene.expire(1)
  t.equal(await search(), 1)
})

t.test('Q1: a page of names that says it has more: covers the first one behind it', async (t) => {
  const scene = new Scene(2)
  scene.thread('public', [])
  scene.reply(1, 0)
  const { forum, posted } = scene
  const names = { caller: -1, client: '', name: '', limit: 1, hasEverybody: false }
  const page = findProfiles(forum, names, { isGone: false }) as ProfilePage
  t.match(page, { hasMore: true, position: posted.at(-1)!.seq })
  t.same(
    page.profiles.map(({ id }) => id),
    [forum.state.identities.id(0)],
  )
})
