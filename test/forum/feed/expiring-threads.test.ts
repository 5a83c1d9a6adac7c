// Goal:   a search of the feed goes on while threads expire between its slices, so that a swarm in
//         which threads expire all the time gets its pages.
// Method: random searches of a forum, in which random threads expire; the page is compared with
//         plain sorting.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { subscribe } from '../../../src/forum/feed/commands.ts'
import { FollowedTags } from '../../../src/forum/feed/followed-tags.ts'
import { listFollowers } from '../../../src/forum/feed/followers.ts'
import { FeedSearch } from '../../../src/forum/feed/queries.ts'
import {
  createIdentity,
  expireGuests,
  guestLifetimeMs,
} from '../../../src/forum/identities/commands.ts'
import { createThread } from '../../../src/forum/threads/commands.ts'
import { newWorld } from '../doubles.ts'
import { Scene } from '../scene.ts'
import { naiveFeed, only, shown, smallScene, tags, type } from './scenes.ts'

t.test('F2: threads expire between slices: never anew, and nothing else is missed', async (t) => {
  let slices = 0
  const property = fc.property(
    fc.constantFrom(1, 2, 2, 3, 4),
    fc.oneof(fc.nat(3000), fc.constant(1e6)),
    fc.integer({ min: 1, max: 200 }),
    fc.integer({ min: 5, max: 300 }),
    fc.array(fc.nat(59), { minLength: 30, maxLength: 40 }),
    ...[only, type, tags],
    (caller, back, limit, stepsMax, expiring, only, type, tags) => {
      const scene = smallScene()
      const { state } = scene.forum
      const read = { caller, after: Math.max(0, state.position - back), limit, only, type, tags }
      const search = new FeedSearch(state, read)
      while (!search.step(stepsMax)) {
        slices += 1
        for (const thread of expiring.splice(0, 2)) scene.expire(thread)
        assert.ok(!search.isStale)
      }
      const { seqs, nextAfter, hasMore } = shown(scene, search.feed())
      const left = naiveFeed(scene, { ...read, limit: 1e6 }).seqs
      assert.deepEqual(
        seqs,
        left.filter((seq) => !hasMore || seq <= nextAfter),
      )
    },
  )
  fc.assert(property, { numRuns: 12 })
  t.ok(slices > 12, `${slices} slices`)
})

t.test('each thread that an identity follows expires: it follows few that have', async (t) => {
  const scene = new Scene(2)
  const { feeds } = scene.forum.state
  let most = 0
  for (let thread = 0; thread < 3_000; thread++) {
    scene.thread('public', [1])
    if (thread >= 100) scene.expire(thread - 100)
    if (thread >= 1_000) most = Math.max(most, feeds.followed(0), feeds.followed(1))
  }
  t.ok(most < 150, `${most} followed, of which 100 are alive`)
})

t.test(
  'threads with a followed tag are gone through, and those before expire: none is missed',
  async (t) => {
    const scene = new Scene(2)
    scene.followTag(1, 'a')
    for (let i = 0; i < 10; i++) scene.thread('public', [], '', ['a'])
    const { state } = scene.forum
    const found: number[] = []
    for (const message of new FollowedTags(state, 1).after(0, () => state.messages.count)) {
      found.push(message)
      if (message === 4) for (const thread of [0, 1, 7]) scene.expire(thread)
    }
    t.same(found, [0, 1, 2, 3, 4, 5, 6, 8, 9])
  },
)

t.test('a thread expires while its followers are looked for: not found', async (t) => {
  const scene = new Scene(11)
  const { state } = scene.forum
  const followers = Array.from({ length: 10 }, (_, n) => n + 1)
  for (let thread = 0; thread < 6_000; thread++) scene.thread('public', followers)
  const read = () => {
    const wanted = { caller: 0, threadId: state.threads.id(0), limit: 50 }
    return listFollowers(scene.forum, wanted, { isGone: false })
  }
  t.match(await read(), { followers: [0, ...followers] })
  const expiring = read()
  scene.expire(0)
  t.same(await expiring, { rejected: 'not_found' })
})

t.test('a guest who follows a thread expires: is none of its followers any more', async (t) => {
  const { forum, clock } = newWorld()
  for (const kind of ['persistent', 'guest', 'persistent'] as const) {
    createIdentity(forum, { kind, displayName: kind, address: '' }, 'open')
  }
  const said = { title: 'T', content: 'C', visibility: 'public', participantIds: [] } as const
  createThread(forum, { ...said, caller: 0, key: 'key-of-the-thread', address: '' })
  const threadId = forum.state.threads.id(0)
  for (const caller of [1, 2]) subscribe(forum, { caller, threadId })
  const read = () => listFollowers(forum, { caller: 0, threadId, limit: 50 }, { isGone: false })
  t.match(read(), { followers: [0, 1, 2] })
  clock.now += guestLifetimeMs
  expireGuests(forum)
  t.same(read(), { followers: [0, 2], hasMore: false, position: forum.state.position })
})
