import t from 'tap'
import { feed } from '../../../src/forum/feed/machine.ts'
import type { EventIn } from '../../../src/kernel/actor.ts'
import { runEvents } from '../../kernel/run-events.ts'

const opened: EventIn<typeof feed> = { type: 'opened', position: 5 }

t.test('F1: feed: absent or closed: followed: nothing happens', async (t) => {
  t.same(runEvents(feed, [{ type: 'followed', position: 9 }]).taken, [false])
  const { taken, state, context } = runEvents(feed, [
    opened,
    { type: 'closed', position: 7 },
    { type: 'followed', position: 9 },
  ])
  t.same(taken, [true, true, false])
  t.same([state, context.following, context.changedPosition], ['closed', 0, 7])
})

t.test('F2, F3: feed: follows one: unfollowed twice: the second is not accepted', async (t) => {
  const { taken, context } = runEvents(feed, [
    opened,
    { type: 'followed', position: 9 },
    { type: 'unfollowed', position: 11 },
    { type: 'unfollowed', position: 13 },
  ])
  t.same(taken, [true, true, true, false])
  t.same(context, {
    ...{ following: 0, followingTags: 0 },
    ...{ changedPosition: 11, readThrough: 0, readPosition: 0 },
  })
})

t.test(
  'F4: feed: read up to a position: marked again there, or before: only the first',
  async (t) => {
    const { taken, context } = runEvents(feed, [
      opened,
      { type: 'read', position: 9, through: 8 },
      { type: 'read', position: 11, through: 8 },
      { type: 'read', position: 13, through: 7 },
      { type: 'read', position: 15, through: 14 },
    ])
    t.same(taken, [true, true, false, false, true])
    t.same([context.readThrough, context.readPosition, context.changedPosition], [14, 15, 5])
  },
)

t.test('F4: feed: absent or closed: read: nothing happens', async (t) => {
  const read: EventIn<typeof feed> = { type: 'read', position: 9, through: 8 }
  t.same(runEvents(feed, [read]).taken, [false])
  t.same(runEvents(feed, [opened, { type: 'closed', position: 7 }, read]).context.readThrough, 0)
})
