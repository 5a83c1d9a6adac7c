import t from 'tap'
import { thread } from '../../../src/forum/threads/machine.ts'
import { runEvents } from '../../kernel/run-events.ts'

const created = { type: 'created', position: 7, author: 3, ttlSeconds: 0 } as const

t.test(
  'T2: thread: public: created, replied twice: counts three, has first and last',
  async (t) => {
    const { state, context } = runEvents(thread, [
      { ...created, visibility: 'public' },
      { type: 'replied', position: 9 },
      { type: 'replied', position: 12 },
    ])
    t.equal(state, 'open')
    t.same(context, {
      author: 3,
      visibility: 0,
      messageCount: 3,
      firstPosition: 7,
      newestPosition: 12,
      changedPosition: 12,
      ttlSeconds: 0,
    })
  },
)

t.test('T1, T6: thread: expired: private, without an author; takes erasures only', async (t) => {
  for (const before of [[], [{ type: 'locked', position: 8 }]] as const) {
    const { taken, state, context } = runEvents(thread, [
      { ...created, visibility: 'public' },
      ...before,
      { type: 'expired', position: 9 },
      { type: 'replied', position: 10 },
      { type: 'tagged', position: 11 },
      { type: 'unlocked', position: 12 },
      { type: 'erased', position: 13 },
    ])
    t.same(taken.slice(-5), [true, false, false, false, true])
    t.equal(state, 'expired')
    t.match(context, { author: 2 ** 32 - 1, visibility: 1, messageCount: 1, changedPosition: 13 })
  }
})

t.test('T4: thread: a message was erased: it has changed, and has as many', async (t) => {
  const { taken, context } = runEvents(thread, [
    { ...created, visibility: 'public' },
    { type: 'replied', position: 9 },
    { type: 'erased', position: 12 },
  ])
  t.same(taken, [true, true, true])
  const { messageCount, newestPosition, changedPosition } = context
  t.same(
    { messageCount, newestPosition, changedPosition },
    {
      messageCount: 2,
      newestPosition: 9,
      changedPosition: 12,
    },
  )
})

t.test('T1: thread: private: created again as public: stays private, unchanged', async (t) => {
  const { taken, state, context } = runEvents(thread, [
    { ...created, visibility: 'private' },
    { ...created, visibility: 'public', author: 4 },
  ])
  t.same(taken, [true, false])
  t.equal(state, 'open')
  t.same([context.author, context.visibility], [3, 1])
})

t.test('T2: thread: absent: replied: nothing happens', async (t) => {
  const { taken, state, context } = runEvents(thread, [{ type: 'replied', position: 9 }])
  t.same(taken, [false])
  t.equal(state, 'absent')
  t.equal(context.messageCount, 0)
})

t.test('T5: thread: locked, then unlocked: takes no reply meanwhile, and erasures', async (t) => {
  const { taken, state, context } = runEvents(thread, [
    { ...created, visibility: 'public' },
    { type: 'unlocked', position: 8 },
    { type: 'locked', position: 9 },
    { type: 'locked', position: 10 },
    { type: 'replied', position: 11 },
    { type: 'erased', position: 12 },
    { type: 'unlocked', position: 13 },
    { type: 'replied', position: 14 },
  ])
  t.same(taken, [true, false, true, false, false, true, true, true])
  t.equal(state, 'open')
  t.match(context, { messageCount: 2, newestPosition: 14, changedPosition: 14 })
})

t.test('T4: thread: locked, unlocked: each time it has changed, with no new message', async (t) => {
  for (const types of [['locked'], ['locked', 'unlocked']] as const) {
    const events = types.map((type, i) => ({ type, position: 20 + i }))
    const { context } = runEvents(thread, [{ ...created, visibility: 'public' }, ...events])
    t.match(context, { newestPosition: 7, changedPosition: 19 + types.length, messageCount: 1 })
  }
})
