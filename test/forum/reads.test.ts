// The merges of reads.ts against plain sorting, with more threads and messages than the programs of
// forum.test.ts have.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Visibility } from '../../src/actors/thread.ts'
import { apply } from '../../src/forum/apply.ts'
import type { Forum } from '../../src/forum/forum.ts'
import { isRejection } from '../../src/forum/forum.ts'
import { type FeedRead, listThreads, readFeed, readThread } from '../../src/forum/reads.ts'
import { isWide } from '../../src/forum/wide-feed.ts'
import { newWorld } from './doubles.ts'

/** No limit needs one. */
const client = ''
const hexOf = (n: number) => n.toString(16).padStart(32, '0')

interface Posted {
  seq: number
  thread: number
  author: number
}

/** A forum made of records: threads by identity 0, then replies as said. */
class Scene {
  readonly forum: Forum = newWorld().forum
  readonly posted: Posted[] = []
  readonly visibilities: Visibility[] = []
  #at = 1000

  constructor(identities: number) {
    for (let i = 0; i < identities; i++) {
      const own = {
        id: hexOf(i),
        displayName: `A${i}`,
        tokenDigest: hexOf(i),
        expiresAt: 0,
        client,
      }
      this.#apply({ type: 'identity.created', at: this.#at, kind: 'persistent', ...own })
    }
  }

  thread(visibility: Visibility, participants: number[]): void {
    const thread = this.visibilities.push(visibility) - 1
    const ids = { id: hexOf(thread), messageId: hexOf(this.posted.length) }
    const said = {
      title: 'T',
      content: 'C',
      visibility,
      participants,
      key: `thread-${thread}`,
      client,
    }
    const seq = this.#apply({ type: 'thread.posted', at: this.#at, by: 0, ...ids, ...said })
    this.posted.push({ seq, thread, author: 0 })
  }

  reply(by: number, thread: number): void {
    const messageId = hexOf(this.posted.length)
    const said = {
      messageId,
      content: 'C',
      key: `reply-${this.posted.length}`,
      client,
    }
    const seq = this.#apply({ type: 'reply.posted', at: this.#at++, by, thread, ...said })
    this.posted.push({ seq, thread, author: by })
  }

  subscribe(by: number, thread: number): void {
    this.#apply({ type: 'thread.subscribed', at: this.#at, by, thread })
  }

  unsubscribe(by: number, thread: number): void {
    this.#apply({ type: 'thread.unsubscribed', at: this.#at, by, thread })
  }

  #apply(record: Parameters<typeof apply>[2]): number {
    const position = this.forum.state.position + 1
    apply(this.forum.state, position, record)
    return position
  }
}

/** What a naive reader of the feed gets: everything, sorted, cut. */
function naiveFeed({ forum, posted }: Scene, { caller, after, limit }: FeedRead) {
  const follows = (thread: number) => forum.state.subscriptions.isSubscribed(caller, thread)
  const later = posted
    .filter(({ seq, thread, author }) => seq > after && author !== caller && follows(thread))
    .map(({ seq }) => seq)
    .sort((a, b) => a - b)
  const seqs = later.slice(0, limit)
  return { seqs, nextAfter: seqs.at(-1) ?? after, hasMore: later.length > limit }
}

t.test('Q1: 60 threads, 3,000 replies: feeds in pages: what sorting everything gives', async () => {
  const scene = new Scene(5)
  const everyone = [1, 2, 3, 4]
  for (let i = 0; i < 60; i++) scene.thread('public', i % 3 === 0 ? everyone : [1 + (i % 4)])
  for (let i = 0; i < 3000; i++) scene.reply((i * 7 + (i >> 3)) % 5, (i * 31 + (i >> 2)) % 60)
  for (let i = 0; i < 60; i += 7) scene.unsubscribe(2, i)
  const { forum } = scene
  const property = fc.property(
    fc.nat(4),
    fc.nat(forum.state.position + 10),
    fc.integer({ min: 1, max: 100 }),
    (caller, after, limit) => {
      const read = { caller, after, limit }
      const feed = readFeed(forum, read)
      const seqs = feed.messages.map((message) => forum.state.messages.seq(message))
      const got = JSON.stringify({ seqs, nextAfter: feed.nextAfter, hasMore: feed.hasMore })
      const expected = JSON.stringify(naiveFeed(scene, read))
      if (got !== expected) throw new Error(`${got} is not ${expected}`)
      const last = seqs.at(-1) ?? 0
      const isCovered = feed.hasMore ? feed.position > last : feed.position >= last
      if (!isCovered) throw new Error(`Q1: ${feed.position} does not cover what is shown`)
    },
  )
  fc.assert(property, { numRuns: 300 })
})

const anyThreads = fc.array(
  fc.record({
    visibility: fc.constantFrom<Visibility[]>('public', 'private'),
    participants: fc.uniqueArray(fc.integer({ min: 1, max: 2 }), { maxLength: 2, size: 'max' }),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

t.test('list: public and private mixed: in pages: newest first, none twice', async () => {
  const property = fc.property(anyThreads, fc.integer({ min: 1, max: 9 }), (threads, limit) => {
    const scene = new Scene(4)
    for (const { visibility, participants } of threads) scene.thread(visibility, participants)
    for (const caller of [-1, 0, 1, 3]) {
      const expected = threads
        .map(({ visibility, participants }, thread) => ({ visibility, participants, thread }))
        .filter(({ visibility, participants }) => {
          if (visibility === 'public' || caller === 0) return true
          return participants.includes(caller)
        })
        .map(({ thread }) => thread)
        .reverse()
      const shown: number[] = []
      let before: number | null = Number.POSITIVE_INFINITY
      while (before !== null) {
        const page = listThreads(scene.forum, { caller, before, limit })
        shown.push(...page.threads)
        before = page.nextBefore
      }
      if (String(shown) !== String(expected)) throw new Error(`${shown} is not ${expected}`)
    }
  })
  fc.assert(property, { numRuns: 25 })
})

t.test('Q1: a thread of 400 replies: pages after any seq: exactly the later ones', async (t) => {
  const scene = new Scene(2)
  for (let i = 0; i < 3; i++) scene.thread('public', [])
  for (let i = 0; i < 400; i++) scene.reply(i % 2, (i * i) % 3)
  const { forum } = scene
  const seqs = scene.posted.filter(({ thread }) => thread === 1).map(({ seq }) => seq)
  const threadId = forum.state.threads.id(1)
  let wrong = 0
  for (let after = 0; after <= forum.state.position + 1; after++) {
    const page = readThread(forum, { caller: -1, threadId, after, limit: 10 })
    if (isRejection(page)) throw new Error(page.rejected)
    const shown: number[] = []
    for (let i = page.first; i < page.end; i++) {
      shown.push(forum.state.messages.seq(forum.state.threads.message(1, i)))
    }
    const later = seqs.filter((seq) => seq > after)
    const expected = { shown: later.slice(0, 10), nextAfter: later[9] ?? later.at(-1) ?? after }
    const got = { shown, nextAfter: page.nextAfter }
    if (JSON.stringify(got) !== JSON.stringify(expected)) wrong += 1
    if (page.hasMore !== later.length > 10 || page.position !== seqs.at(-1)) wrong += 1
  }
  t.equal(wrong, 0)
})

t.test('Q2: 4,000 messages by others: the newest are read: few are looked at', async (t) => {
  const scene = new Scene(3)
  for (let i = 0; i < 4; i++) scene.thread('public', [1])
  for (let i = 0; i < 4000; i++) scene.reply(2, i % 4)
  const { forum } = scene
  const { messages } = forum.state
  let looks = 0
  for (const look of ['seq', 'author'] as const) {
    const original = messages[look].bind(messages)
    messages[look] = (message) => {
      looks += 1
      return original(message)
    }
  }
  const after = forum.state.position - 20
  const threadId = forum.state.threads.id(1)
  t.match(readThread(forum, { caller: 1, threadId, after, limit: 50 }), { hasMore: false })
  t.ok(looks <= 15, `a page: ${looks}, halving 1,000 takes 10`)
  looks = 0
  t.equal(readFeed(forum, { caller: 1, after, limit: 50 }).messages.length, 20)
  t.ok(looks <= 4 * 11 + 25, `a feed: ${looks}, 10 for each thread and one for each shown`)
})

t.test(
  'V1 V2: wide feeds: any replies, follows and polls: what sorting everything gives',
  async () => {
    const scene = new Scene(4)
    for (let i = 0; i < 3000; i++) scene.thread('public', i % 10 === 0 ? [1] : [1, 2])
    for (let i = 0; i < 4000; i++) scene.reply(i % 40 === 0 ? 2 : 0, (i * 7) % 3000)
    const { forum } = scene
    const thread = fc.oneof(fc.nat(2999), fc.nat(20))
    const ends = forum.state.position
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.tuple(fc.constant('reply'), fc.nat(3), thread) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('subscribe'), fc.nat(3), thread) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('unsubscribe'), fc.nat(3), thread) },
      { weight: 6, arbitrary: fc.tuple(fc.constant('poll'), fc.nat(3), fc.nat(ends)) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('poll'), fc.nat(3), fc.constant(0)) },
    )
    let wide = 0
    const property = fc.property(
      fc.array(step, { maxLength: 12 }),
      fc.integer({ min: 1, max: 100 }),
      (steps, limit) => {
        for (const [does, caller, place] of steps) {
          if (does === 'reply') scene.reply(caller, place)
          else if (does === 'subscribe') scene.subscribe(caller, place)
          else if (does === 'unsubscribe') scene.unsubscribe(caller, place)
          else {
            const read = { caller, after: place, limit }
            wide += isWide(forum.state, caller, place) ? 1 : 0
            const feed = readFeed(forum, read)
            const seqs = feed.messages.map((message) => forum.state.messages.seq(message))
            const got = { seqs, nextAfter: feed.nextAfter, hasMore: feed.hasMore }
            assert.deepEqual(got, naiveFeed(scene, read), `identity ${caller}, after ${place}`)
            assert.ok(feed.position >= (seqs.at(-1) ?? 0), 'Q1')
          }
        }
      },
    )
    fc.assert(property, { numRuns: 150 })
    assert.ok(wide > 100, `${wide} polls were wide`)
  },
)

t.test(
  'V1: the author of everything polls again from 0: hardly anything is looked at',
  async (t) => {
    const scene = new Scene(2)
    for (let i = 0; i < 3000; i++) scene.thread('public', [])
    const { forum } = scene
    const poll = () => readFeed(forum, { caller: 0, after: 0, limit: 100 })
    t.match(poll(), { messages: [], nextAfter: 0, hasMore: false })
    const { messages } = forum.state
    let looks = 0
    for (const look of ['seq', 'author'] as const) {
      const original = messages[look].bind(messages)
      messages[look] = (message) => {
        looks += 1
        return original(message)
      }
    }
    t.match(poll(), { messages: [], nextAfter: 0, hasMore: false })
    scene.thread('public', [])
    scene.reply(0, 5)
    t.match(poll(), { messages: [], nextAfter: 0, hasMore: false }, 'own messages change nothing')
    scene.reply(1, 5)
    const answer = messages.count - 1
    t.match(poll(), { messages: [answer], nextAfter: messages.seq(answer), hasMore: false })
    t.ok(looks < 50, `${looks} looks`)
  },
)
