import t from 'tap'
import type { EventIn } from '../../src/actors/actor.ts'
import { feed } from '../../src/actors/feed.ts'
import { runEvents } from './run-events.ts'

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
  t.same(context, { following: 0, changedPosition: 11 })
})
