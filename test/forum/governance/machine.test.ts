import t from 'tap'
import { decisions, proposal } from '../../../src/forum/governance/machine.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

type Event = EventIn<typeof proposal>

const saved: Event = { type: 'saved', kind: 'maintainer', candidate: 3, at: 1000, position: 7 }

t.test(
  'P2: proposal: reviewed by its candidate and by another: only `accept` differs',
  async (t) => {
    for (const decision of decisions) {
      const by = (who: number): Event => ({ type: 'reviewed', by: who, decision, position: 9 })
      t.same(runEvents(proposal, [saved, by(3)]).taken, [true, true], decision)
      t.same(runEvents(proposal, [saved, by(4)]).taken, [true, decision !== 'accept'], decision)
    }
  },
)

t.test(
  'P1, P3: proposal: reviewed, and saved again: counts the review, stays as it was',
  async (t) => {
    const { taken, context } = runEvents(proposal, [
      saved,
      { type: 'reviewed', by: 4, decision: 'comment', position: 9 },
      { type: 'saved', kind: 'code', candidate: -1, at: 2000, position: 11 },
    ])
    t.same(taken, [true, true, false])
    t.same(context, {
      kind: 2,
      candidate: 3,
      createdAt: 1000,
      reviewCount: 1,
      firstPosition: 7,
      newestPosition: 9,
    })
  },
)
