// Goal:   a search of the feed goes on while threads expire between its slices, so that a swarm in
//         which threads expire all the time gets its pages.
// Method: random searches of a forum, in which random threads expire; the page is compared with
//         plain sorting.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { FeedSearch } from '../../../src/forum/feed/queries.ts'
import { naiveFeed, only, shown, smallScene, tags, type } from './scenes.ts'

t.test('F2: threads expire between slices: never anew, and nothing else is missed', async (t) => {
  let slices = 0
  const property = fc.property(
    fc.integer({ min: 0, max: 4 }),
    fc.nat(3000),
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
