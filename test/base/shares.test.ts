// Shares: a holder gets at most as much as was free before, and something is left for a holder that
// has none.

import fc from 'fast-check'
import t from 'tap'
import { Shares } from '../../src/base/shares.ts'
import { holderOf, nobody } from '../../src/kernel/network.ts'

t.test('S1: some take all they get: the same part for each that comes, one is left', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 1000 }),
      fc.integer({ min: 1, max: 30 }),
      (max, count) => {
        const shares = new Shares(max)
        const of = new Array<number>(count).fill(0)
        for (let round = 0; round < max; round++) {
          for (let holder = 0; holder < count; holder++) {
            if (!shares.mayTake(holder)) continue
            shares.take(holder)
            of[holder]! += 1
          }
        }
        const [least, most] = [Math.min(...of), Math.max(...of)]
        if (most - least > 1) throw new Error(`${most} and ${least}`)
        if (least < Math.floor(max / (count + 1))) throw new Error(`${least} of ${max}`)
        if (count < max / 2 && !shares.mayTake('another')) throw new Error('nothing is left')
      },
    ),
  )
})

t.test('S1: amounts taken and given back in any order: never more than there is', async () => {
  const step = fc.record({ holder: fc.nat(4), amount: fc.nat(20), isBack: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const shares = new Shares(64)
      const of = new Array<number>(5).fill(0)
      for (const { holder, amount, isBack } of steps) {
        if (isBack) {
          const given = Math.min(amount, of[holder]!)
          shares.giveBack(holder, given)
          of[holder]! -= given
        } else if (shares.mayTake(holder, amount)) {
          shares.take(holder, amount)
          of[holder]! += amount
        }
        const taken = of.reduce((sum, each) => sum + each, 0)
        if (taken > 64 || taken !== shares.taken) throw new Error(`${taken}, ${shares.taken}`)
      }
    }),
  )
})

t.test('holder: an identity; without a token its address, IPv6 by its /64', async (t) => {
  t.equal(holderOf(7, '192.0.2.1'), 7)
  t.equal(holderOf(nobody, '192.0.2.1'), '192.0.2.1')
  t.equal(holderOf(nobody, '2001:db8:1:2:3:4:5:6'), holderOf(nobody, '2001:db8:1:2::1'))
})
