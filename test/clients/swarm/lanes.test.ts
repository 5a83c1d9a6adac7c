import t from 'tap'
import { inLanes } from '../../../src/clients/swarm/lanes.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

t.test('lanes: more items than lanes: every item once, as many at a time as lanes', async (t) => {
  const done: number[] = []
  let busy = 0
  let busiest = 0
  await inLanes(3, [1, 2, 3, 4, 5, 6, 7], async (item) => {
    busiest = Math.max(busiest, ++busy)
    await turn()
    busy--
    done.push(item)
  })
  t.same(done, [1, 2, 3, 4, 5, 6, 7])
  t.equal(busiest, 3)
})

t.test('lanes: no items: done at once', async (t) => {
  await t.resolves(inLanes(3, [], () => Promise.reject(new Error('there is nothing to do'))))
})

t.test('lanes: an item fails: everything fails, and nothing new is begun', async (t) => {
  const begun: number[] = []
  const work = async (item: number) => {
    begun.push(item)
    await turn()
    if (item === 2) throw new Error('two')
  }
  await t.rejects(inLanes(2, [1, 2, 3, 4, 5, 6, 7, 8, 9], work), { message: 'two' })
  await turn()
  await turn()
  t.same(begun, [1, 2, 3], 'the other lane had taken its next item already')
})
