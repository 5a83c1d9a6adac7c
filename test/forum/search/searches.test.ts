// The steps of searches, and what they say of how far the index has come.

import t from 'tap'
import type { Index } from '../../../src/forum/search/index.ts'
import { matchOf, parseQuery, partsOf } from '../../../src/forum/search/query.ts'
import { Searches } from '../../../src/forum/search/searches.ts'
import { seededRandom } from '../../wal/simulated-inode.ts'
import { perShard, Scene } from './index-scene.ts'

const wanted = { publicMatch: '"x"', privateMatch: '', parts: 1, before: 100, limit: 10 }

t.test('S2: messages are indexed between two steps: `covered` does not promise them', async (t) => {
  const index = {
    covered: 50,
    *search() {
      yield { first: 40, messages: [] } // 50 to 99 are not indexed yet
      this.covered = 100
      yield { first: 0, messages: [7] }
    },
  }
  const searches = new Searches(index as unknown as Index)
  const found = await new Promise((resolve) => {
    searches.add({ type: 'search', id: 1, ...wanted }, resolve)
  })
  t.match(found, { messages: [7], covered: 50 })
})

t.test('I2: a query with 32 words in phrases: each step examines a small part', async (t) => {
  const scene = new Scene(t, seededRandom(1))
  scene.publish(2 * perShard)
  scene.finish()
  const stepsOf = (q: string) => {
    const query = parseQuery(q)!
    const publicMatch = matchOf(query, [])
    return [...scene.index.search({ ...wanted, publicMatch, parts: partsOf(query) })]
  }
  const phrase = (first: number) => `"${Array.from({ length: 16 }, (_, i) => `w${first + i}`)}"`
  const ends = stepsOf(`${phrase(0)} ${phrase(16)}`).map(({ first }) => first)
  t.same(
    ends,
    Array.from({ length: perShard }, (_, i) => 2 * (perShard - 1 - i)),
  )
  const whole = stepsOf('32 words that stand apart').map(({ first }) => first)
  t.same(whole, [perShard, 0])
  scene.index.close()
})
