// The search for the highest rate, without any load: what it finds, and what it does when the same
// rate is kept once and not another time.

import fc from 'fast-check'
import t from 'tap'
import { precision, searchLimit } from '../../../src/clients/swarm/limit-search.ts'

type Tried = { rate: number; kept: boolean }

/** Runs a search. `isKept` decides about each step, which it is given with its number. */
function search(first: number, max: number, isKept: (rate: number, step: number) => boolean) {
  const [steps, running]: [Tried[], ReturnType<typeof searchLimit>] = [[], searchLimit(first, max)]
  let next = running.next()
  while (!next.done) {
    const tried = { rate: next.value, kept: isKept(next.value, steps.length) }
    steps.push(tried)
    next = running.next(tried.kept)
  }
  return { limit: next.value, steps }
}

const max = 1_000_000
const rates = fc.tuple(fc.integer({ min: 1, max }), fc.integer({ min: 1, max }))
/** Small and large ones alike. */
const thresholds = fc.oneof(fc.nat(max), fc.nat(50), fc.integer({ min: max, max: 2 * max }))

t.test('limit: of a node that keeps every rate to a certain one: that, to 5 %', async (t) => {
  fc.assert(
    fc.property(rates, thresholds, ([a, b], threshold) => {
      const [first, most] = [Math.min(a, b), Math.max(a, b)]
      const { limit } = search(first, most, (rate) => rate <= threshold)
      const truth = Math.min(threshold, most)
      if (truth < 1) return limit === null
      return limit !== null && limit <= truth && truth - limit <= Math.max(1, limit * precision)
    }),
  )
  t.equal(search(100, max, (rate) => rate <= max).limit, max)
  t.equal(search(100, max, () => false).limit, null)
})

t.test('limit: one step that fails by chance: the same limit', async () => {
  fc.assert(
    fc.property(rates, thresholds, fc.nat(40), ([first], threshold, failing) => {
      const right = search(first, max, (rate) => rate <= threshold)
      const found = search(first, max, (rate, step) => step !== failing && rate <= threshold)
      return found.limit === right.limit
    }),
  )
})

t.test(
  'limit: whatever is kept and is not: it ends, with a rate that was kept twice',
  async (t) => {
    fc.assert(
      fc.property(rates, fc.infiniteStream(fc.boolean()), ([a, b], outcomes) => {
        const [first, most] = [Math.min(a, b), Math.max(a, b)]
        const { limit, steps } = search(first, most, () => outcomes.next().value)
        t.ok(steps.length < 200, `${steps.length} steps`)
        t.ok(steps.every(({ rate }) => Number.isInteger(rate) && rate >= 1 && rate <= most))
        if (limit === null) return steps.at(-1)!.kept === false
        const kept = steps.filter(({ rate, kept }) => rate === limit && kept)
        return kept.length >= 2 && kept.at(-1) === steps.at(-1)
      }),
    )
  },
)

t.test('limit: from 100: the steps', async (t) => {
  const { limit, steps } = search(100, max, (rate) => rate < 660)
  t.equal(limit, 650)
  t.same(
    steps.map(({ rate }) => rate),
    [100, 200, 400, 800, 800, 600, 700, 700, 650, 675, 675, 650],
  )
})
