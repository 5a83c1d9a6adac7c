import t from 'tap'

import { compile } from '../../src/actors/compile.ts'
import type { ThreadEvent } from '../../src/actors/thread.ts'
import { threadMachine } from '../../src/actors/thread.ts'

const thread = compile(threadMachine)

function given(...events: ThreadEvent[]) {
  const actor = { state: thread.initialState, context: thread.initialContext() }
  const taken = events.map((event) => thread.step(actor, event))
  return { taken, state: thread.states[actor.state], context: actor.context }
}

const created = { type: 'created', at: 1000, position: 7, author: 3 } as const

t.test(
  'T2: thread: public: created, replied twice: counts three, knows first and last',
  async (t) => {
    const { state, context } = given(
      { ...created, visibility: 'public' },
      { type: 'replied', position: 9 },
      { type: 'replied', position: 12 },
    )
    t.equal(state, 'public')
    t.same(context, {
      author: 3,
      createdAt: 1000,
      messageCount: 3,
      firstPosition: 7,
      lastPosition: 12,
    })
  },
)

t.test('T1: thread: private: created again as public: stays private, unchanged', async (t) => {
  const { taken, state, context } = given(
    { ...created, visibility: 'private' },
    { ...created, visibility: 'public', author: 4 },
  )
  t.same(taken, [true, false])
  t.equal(state, 'private')
  t.equal(context.author, 3)
})

t.test('T2: thread: absent: replied: nothing happens', async (t) => {
  const { taken, state, context } = given({ type: 'replied', position: 9 })
  t.same(taken, [false])
  t.equal(state, 'absent')
  t.equal(context.messageCount, 0)
})
