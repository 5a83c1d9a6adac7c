// The feed, compared with plain sorting: searches run in slices while their caller and others
// change what is examined. The steps of each slice are counted.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  type Feed,
  type FeedRead,
  FeedSearch,
  sliceSteps,
} from '../../../src/forum/feed/queries.ts'
import { readFeed } from '../../../src/forum/feed/read-feed.ts'
import { unannounced } from '../../../src/forum/webhooks/deliveries.ts'
import type { Rejection } from '../../../src/kernel/rejection.ts'
import { SlicedWork } from '../../../src/kernel/sliced-work.ts'
import { connection } from '../doubles.ts'
import { Scene } from '../scene.ts'
import {
  naiveFeed,
  only,
  shown,
  smallScene,
  tags,
  tagsOf,
  type,
  typeOf,
  wideScene,
} from './scenes.ts'

/** Checks that the feed is correct at this instant, and that its position covers it. */
function check(scene: Scene, read: FeedRead, feed: Feed): void {
  const { seqs, ...rest } = shown(scene, feed)
  assert.deepEqual({ seqs, ...rest }, naiveFeed(scene, read), JSON.stringify(read))
  const { changedPosition } = scene.forum.state.feeds.actors.columns
  assert.ok(feed.position >= changedPosition.get(read.caller), 'F3: the last change')
  const hides = scene.posted.some((each) => {
    return each.isErased && (each.mentions.includes(read.caller) || each.type === read.type)
  })
  if (hides) assert.ok(feed.position >= scene.forum.state.erasedPosition, 'F3: the last removal')
  const followsTags = scene.forum.state.feeds.tagsOf(read.caller).length > 0
  const isByTags = read.tags !== undefined || followsTags
  const tagged = isByTags ? scene.forum.state.tags.changedPosition : 0
  assert.ok(feed.position >= tagged, 'F3: the last change of tags')
  const newest = seqs.at(-1) ?? 0
  assert.ok(feed.hasMore ? feed.position > newest : feed.position >= newest, 'F3')
}

function atOnce(scene: Scene, read: FeedRead): Feed {
  const feed = readFeed(scene.forum, read, connection)
  if (feed instanceof Promise) throw new Error('the search takes more than one slice')
  return feed
}

t.test(
  'F2: 60 threads, 3,000 replies: any page at once: the same as sorting everything',
  async () => {
    const scene = smallScene()
    const property = fc.property(
      fc.nat(4),
      fc.nat(scene.forum.state.position + 10),
      fc.integer({ min: 1, max: 100 }),
      only,
      type,
      tags,
      (caller, after, limit, only, type, tags) => {
        const read = { caller, after, limit, only, type, tags }
        check(scene, read, atOnce(scene, read))
      },
    )
    fc.assert(property, { numRuns: 300, endOnFailure: true })
  },
)

for (const { name, build, numRuns } of [
  { name: 'few', build: smallScene, numRuns: 400 },
  { name: 'very many', build: wideScene, numRuns: 200 },
]) {
  t.test(`F2: ${name} threads, changes between slices: the feed of the last instant`, async (t) => {
    const scene = build()
    const { state } = scene.forum
    const who = fc.nat(3)
    const thread = fc.oneof(fc.nat(state.threads.count - 1), fc.nat(10))
    const change = fc.oneof(
      fc.tuple(fc.constant('reply'), who, thread),
      fc.tuple(fc.constant('mention'), who, thread),
      fc.tuple(fc.constant('erase'), who, fc.nat(3000)),
      fc.tuple(fc.constant('tag'), who, thread),
      fc.tuple(fc.constant('subscribe'), who, thread),
      fc.tuple(fc.constant('unsubscribe'), who, thread),
      fc.tuple(fc.constant('begin a thread'), fc.constant(0), fc.constant(0)),
      fc.tuple(fc.constantFrom('follow a tag', 'unfollow a tag'), who, fc.nat(1)),
    )
    let [slices, restarts] = [0, 0]
    const property = fc.property(
      fc.oneof(who, fc.constant(1)),
      fc.oneof(fc.nat(60), fc.nat(2000), fc.constant(1_000_000)),
      fc.integer({ min: 1, max: 100 }),
      fc.oneof(fc.integer({ min: 5, max: 60 }), fc.integer({ min: 60, max: 3000 })),
      fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 6 }),
      only,
      type,
      tags,
      (caller, back, limit, stepsMax, changes, only, type, tags) => {
        const after = Math.max(0, state.position - back)
        const read = { caller, after, limit, only, type, tags }
        let search = new FeedSearch(state, read)
        while (!search.step(stepsMax)) {
          slices += 1
          for (const [does, by, at] of changes.shift() ?? []) {
            if (does === 'reply') scene.reply(by, at, [], typeOf(at))
            else if (does === 'mention') scene.reply(by, at, [0, 1, 2, 3], typeOf(at + 1))
            else if (does === 'erase') scene.erase(at)
            else if (does === 'tag') scene.tag(at, tagsOf(by))
            else if (does === 'subscribe') scene.subscribe(by, at)
            else if (does === 'unsubscribe') scene.unsubscribe(by, at)
            else if (does === 'follow a tag') scene.followTag(by, 'ab'[at])
            else if (does === 'unfollow a tag') scene.unfollowTag(by, 'ab'[at])
            else scene.thread('public', [1], '', ['b'])
          }
          if (!search.isStale) continue
          restarts += 1
          search = new FeedSearch(state, read)
        }
        check(scene, read, search.feed())
      },
    )
    // What is searched is random. If that took too few slices, the property is run again.
    const isEnough = () => slices > 1000 && restarts > 20
    for (let rounds = 0; rounds < 5 && !isEnough(); rounds++)
      fc.assert(property, { numRuns, endOnFailure: true })
    t.ok(isEnough(), `${slices} slices, restarted ${restarts} times`)
  })
}

/** Runs the slices of a forum's work one by one. */
class Ticks {
  #next: (() => void)[] = []
  readonly #scene: Scene

  constructor(scene: Scene) {
    this.#scene = scene
    scene.forum.slicedWork = new SlicedWork((run) => this.#next.push(run))
  }

  /** Runs one slice. Returns false if there is none. */
  tick(): boolean {
    const run = this.#next.shift()
    run?.()
    return run !== undefined
  }

  read(read: FeedRead, from = connection): Feed | Promise<Feed | Rejection> {
    return readFeed(this.#scene.forum, read, from)
  }
}

/** Counts the threads and messages that are examined. */
function countLooks({ forum: { state } }: Scene): { now: number } {
  const looks = { now: 0 }
  const { newestPosition } = state.threads.actors.columns
  const count = <A extends unknown[], R>(look: (...args: A) => R) => {
    return (...args: A) => {
      looks.now += 1
      return look(...args)
    }
  }
  newestPosition.get = count(newestPosition.get.bind(newestPosition))
  state.threads.message = count(state.threads.message.bind(state.threads))
  state.subscriptions.isSubscribed = count(
    state.subscriptions.isSubscribed.bind(state.subscriptions),
  )
  return looks
}

/** Steps beyond `sliceSteps` that a slice may take to finish the thread that it searches. */
const overshoot = 64

t.test('F2: a message that was found is removed before the search ends: left out', async () => {
  for (const chosen of [{}, { only: 'mentions' }, { type: 'question' }] as const) {
    const scene = new Scene(2)
    scene.thread('public', [])
    if ('type' in chosen) scene.subscribe(1, 0)
    for (let i = 0; i < 20; i++) scene.reply(0, 0, [1], 'question')
    const read = { caller: 1, after: 0, limit: 50, ...chosen }
    let search = new FeedSearch(scene.forum.state, read)
    assert.equal(search.step(9), false)
    scene.erase(2)
    if (search.isStale) search = new FeedSearch(scene.forum.state, read)
    assert.ok(search.step())
    check(scene, read, search.feed())
  }
})

t.test('F1: 150,000 threads are followed: no slice examines more than its limit', async (t) => {
  const scene = new Scene(3)
  for (let i = 0; i < 150_000; i++) scene.thread('public', [1])
  const ticks = new Ticks(scene)
  const looks = countLooks(scene)
  const halfway = scene.posted[75_000].seq
  for (const [caller, after, found, slicesMin] of [
    [0, 0, 0, 2 * 36], // the author of everything
    [0, halfway, 0, 2 * 36],
    [1, 0, 100, 1], // a follower that has written nothing, and finds a page among the next messages
    [1, halfway, 100, 1],
  ]) {
    looks.now = 0
    const reading = ticks.read({ caller, after, limit: 100 })
    t.equal(looks.now, 0, 'nothing is examined while requests are handled')
    let [slices, most] = [0, 0]
    for (; ticks.tick(); slices++) {
      most = Math.max(most, looks.now)
      looks.now = 0
    }
    t.equal(((await reading) as Feed).messages.length, found)
    t.ok(most <= sliceSteps + overshoot, `caller ${caller}, after ${after}: ${most} in a slice`)
    t.ok(slices >= slicesMin, `${slices} slices`)
  }
})

t.test('F1: a thread of 20,000 own messages: no slice exceeds its limit', async (t) => {
  const scene = new Scene(2)
  scene.thread('public', [1])
  for (let i = 0; i < 20_000; i++) scene.reply(0, 0)
  scene.reply(1, 0)
  const ticks = new Ticks(scene)
  const looks = countLooks(scene)
  const reading = ticks.read({ caller: 0, after: 0, limit: 10 })
  do {
    t.ok(looks.now <= sliceSteps + overshoot, `${looks.now} in a slice`)
    looks.now = 0
  } while (ticks.tick())
  t.same(((await reading) as Feed).messages, [20_001])
})

t.test('F1: 4,000 messages: a feed of 4 threads near its end: few are examined', async (t) => {
  const scene = new Scene(3)
  for (let i = 0; i < 4; i++) scene.thread('public', [1])
  for (let i = 0; i < 4000; i++) scene.reply(2, i % 4)
  const looks = countLooks(scene)
  const after = scene.forum.state.position - 20
  t.equal(atOnce(scene, { caller: 1, after, limit: 50 }).messages.length, 20)
  t.ok(looks.now <= 4 * 12 + 25, `${looks.now}: 11 for each thread and one for each message`)
})

t.test('F2: threads are followed all the time: restarted three times, then refused', async (t) => {
  const scene = wideScene()
  const ticks = new Ticks(scene)
  for (const changes of [3, 4]) {
    const reading = ticks.read({ caller: 0, after: 0, limit: 50 })
    for (let i = 0; i < changes; i++) {
      scene.unsubscribe(0, 10 * changes + i)
      ticks.tick()
    }
    while (ticks.tick());
    const outcome = await reading
    if (changes === 4) t.same(outcome, { rejected: 'overloaded' })
    else check(scene, { caller: 0, after: 0, limit: 50 }, outcome as Feed)
  }
})

t.test(
  'a search in slices: its caller hangs up, expires, or the node stops: it ends',
  async (t) => {
    const scene = wideScene()
    const ticks = new Ticks(scene)
    const { slicedWork, state } = scene.forum
    const read = { caller: 0, after: 0, limit: 50 }
    const leaving = { isGone: false }
    const left = ticks.read(read, leaving)
    ticks.tick()
    leaving.isGone = true
    ticks.tick()
    t.equal(slicedWork.length, 0, 'no search is left without a caller')
    await left

    const expired = ticks.read(read)
    const { mayAct } = state.identities
    state.identities.mayAct = () => false
    while (ticks.tick());
    t.match(await expired, { rejected: 'invalid_token' })
    state.identities.mayAct = mayAct

    const stopped = ticks.read(read)
    ticks.tick()
    slicedWork.stop()
    t.same(await stopped, { rejected: 'shutting_down' })
    t.same(await ticks.read(read), { rejected: 'shutting_down' })
  },
)

t.test('F2: any place: counted: as many as the feed has, to the limit', async () => {
  const scenes = [smallScene(), wideScene()]
  const property = fc.property(
    fc.constantFrom(...scenes),
    fc.nat(3),
    fc.nat(4000),
    fc.integer({ min: 1, max: 1000 }),
    fc.integer({ min: 5, max: 3000 }),
    (scene, caller, back, limit, stepsMax) => {
      const { state } = scene.forum
      const read = { caller, after: Math.max(0, state.position - back), limit }
      const search = new FeedSearch(state, { ...read, isCount: true })
      while (!search.step(stepsMax));
      const { messages, hasMore, position } = search.feed()
      const expected = naiveFeed(scene, read)
      assert.deepEqual([messages.length, hasMore], [expected.seqs.length, expected.hasMore])
      assert.equal(new Set(messages).size, messages.length)
      for (const message of messages) assert.ok(state.messages.seq(message) <= position, 'F3')
    },
  )
  fc.assert(property, { numRuns: 300, endOnFailure: true })
})

t.test('news in a range: found within one slice, otherwise assumed', async (t) => {
  const scene = wideScene()
  const { state } = scene.forum
  const end = state.position
  scene.reply(3, 4999)
  scene.reply(0, 4998)
  const looks = countLooks(scene)
  const widest = { first: end + 1, through: end + 2 }
  t.strictSame(unannounced(state, 0, end), widest, 'it follows too many to find the last one')
  t.equal(unannounced(state, 0, end + 1), null, 'an own message')
  t.equal(unannounced(state, 2, end), null, 'it follows neither')
  t.ok(looks.now < 1000, `${looks.now} looks`)
  for (let i = 0; i < 5000; i++) scene.unsubscribe(2, i)
  t.not(unannounced(state, 2, 0), null, 'it follows tags')
  for (const tag of ['a', 'b']) scene.unfollowTag(2, tag)
  t.equal(unannounced(state, 2, 0), null, 'it follows nothing any more')
  looks.now = 0
  const all = { first: 2, through: end + 2 }
  t.strictSame(unannounced(state, 0, 1), all, 'not known after one slice')
  t.ok(looks.now <= sliceSteps + overshoot, `${looks.now} looks`)
})
