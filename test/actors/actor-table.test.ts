import t from 'tap'
import { assign, setup } from 'xstate'

import { ActorTable } from '../../src/actors/actor-table.ts'
import { compile } from '../../src/actors/compile.ts'

type Lamp = { lit: number; by: number }
const lampMachine = setup({
  types: { context: {} as Lamp, events: {} as { type: 'lit'; by: number } | { type: 'counted' } },
}).createMachine({
  id: 'lamp',
  context: { lit: 0, by: 9 },
  initial: 'off',
  states: {
    off: {
      on: {
        lit: { target: 'on', actions: assign({ by: ({ event }) => event.by }) },
        counted: {
          actions: assign(({ context }) => {
            const next = { ...context }
            next.lit += 1
            return next
          }),
        },
      },
    },
    on: {},
  },
})
const lamp = compile(lampMachine)
const newTable = () => new ActorTable(lamp, { lit: 'u32', by: 'u8' })

t.test('table: empty: actors are added: numbered from 0, initial state and context', async (t) => {
  const table = newTable()
  t.equal(table.count, 0)
  t.same([table.add(), table.add()], [0, 1])
  t.equal(table.count, 2)
  t.equal(lamp.states[table.state(1)], 'off')
  t.same([table.get(1, 'lit'), table.get(1, 'by')], [0, 9])
})

t.test('A1: three actors: one is stepped: its row changes, the others do not', async (t) => {
  const table = newTable()
  for (let i = 0; i < 3; i++) table.add()
  t.equal(table.step(1, { type: 'lit', by: 4 }), true)
  t.equal(table.step(1, { type: 'lit', by: 5 }), false)
  t.same(
    [0, 1, 2].map((n) => lamp.states[table.state(n)]),
    ['off', 'on', 'off'],
  )
  t.same(
    [0, 1, 2].map((n) => table.columns.by.get(n)),
    [9, 4, 9],
  )
})

t.test('A1: an assign that copies its context: stepped: it copies the whole row', async (t) => {
  const table = newTable()
  table.add()
  table.step(0, { type: 'counted' })
  table.step(0, { type: 'counted' })
  t.same([table.get(0, 'lit'), table.get(0, 'by')], [2, 9])
})

t.test('A2: a value its column cannot hold: assigned: throws', async (t) => {
  const table = newTable()
  table.add()
  t.throws(() => table.step(0, { type: 'lit', by: 256 }), {
    message: '256 does not fit in a Uint8Column',
  })
})

t.test('table: an actor that is not there: stepped or read: throws', async (t) => {
  const table = newTable()
  t.throws(() => table.step(0, { type: 'counted' }), RangeError)
  t.throws(() => table.state(0), RangeError)
  t.throws(() => table.get(0, 'lit'), RangeError)
})

t.test('table: a layout that misses a field, or has one more: made: throws', async (t) => {
  t.throws(() => new ActorTable(lamp, { lit: 'u32' } as never))
  t.throws(() => new ActorTable(lamp, { lit: 'u32', by: 'u8', at: 'f64' } as never))
})
