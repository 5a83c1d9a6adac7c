import fc from 'fast-check'
import t from 'tap'
import { invitation } from '../../../src/forum/invitations/machine.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

type Event = EventIn<typeof invitation>

const issued = (uses: number): Event => ({ type: 'issued', at: 10, expiresAt: 100, uses })
const used = (at: number): Event => ({ type: 'used', at })

t.test('V1: invitation: for two identities: the third is refused', async (t) => {
  const { taken, state, context } = runEvents(invitation, [issued(2), used(20), used(99), used(99)])
  t.same(taken, [true, true, true, false])
  t.equal(state, 'usedUp')
  t.same(context, { issuedAt: 10, expiresAt: 100, uses: 2, used: 2 })
})

t.test('V1: invitation: at the time of its expiry: neither used nor still open', async (t) => {
  const { taken, state } = runEvents(invitation, [
    issued(2),
    ...[used(100), { type: 'expired', at: 99 } as const, { type: 'expired', at: 100 } as const],
  ])
  t.same(taken, [true, false, false, true])
  t.equal(state, 'expired')
})

const event = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('used' as const), at: fc.nat(120) }) },
  fc.constant({ type: 'revoked' as const }),
  fc.record({ type: fc.constant('expired' as const), at: fc.nat(120) }),
  fc.constant(issued(9)),
)

t.test(
  'V1, V2: invitation: any events: as many uses as it has, in time, until it ends',
  async (t) => {
    const ends = new Set<string>()
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(event, { maxLength: 12 }),
        (uses, events) => {
          const { taken, state, context } = runEvents(invitation, [issued(uses), ...events])
          const done = events.filter((_, i) => taken[i + 1])
          const uselessFrom = taken.findIndex(
            (_, i) => i > 0 && events[i - 1]!.type !== 'used' && taken[i],
          )
          if (uselessFrom !== -1 && taken.slice(uselessFrom + 1).includes(true)) return false
          const used = done.filter((each) => each.type === 'used')
          ends.add(state)
          return (
            used.every(({ at }) => at < 100) &&
            used.length <= uses &&
            context.used === used.length &&
            (state === 'usedUp') === (used.length === uses) &&
            done.every((each) => each.type !== 'issued')
          )
        },
      ),
      { numRuns: 1000 },
    )
    t.same([...ends].sort(), ['expired', 'issued', 'revoked', 'usedUp'])
  },
)
