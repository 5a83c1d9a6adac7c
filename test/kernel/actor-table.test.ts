import t from 'tap'
import { assign, setup } from 'xstate'

import { actor } from '../../src/kernel/actor.ts'
import { ActorTable } from '../../src/kernel/actor-table.ts'

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
const lamp = actor({
  machine: lampMachine,
  codes: { off: 0, on: 1 },
  layout: { lit: 'u32', by: 'u8' },
  events: { lit: { by: 'u8' }, counted: {} },
})
const newTable = () => new ActorTable(lamp)

t.test('table: empty: actors are added: numbered from 0, initial state and context', async (t) => {
  const table = newTable()
  t.equal(table.count, 0)
  t.same([table.add(), table.add()], [0, 1])
  t.equal(table.count, 2)
  t.equal(table.state(1), 'off')
  t.same([table.get(1, 'lit'), table.get(1, 'by')], [0, 9])
})

t.test('R1: three actors: one is stepped: its row changes, the others do not', async (t) => {
  const table = newTable()
  for (let i = 0; i < 3; i++) table.add()
  table.tell(1, { type: 'lit', by: 4 })
  t.equal(table.may(1, { type: 'lit', by: 5 }), false)
  t.throws(() => table.tell(1, { type: 'lit', by: 5 }), {
    message: "T4: a lamp that is on does not accept 'lit'",
  })
  t.same(
    [0, 1, 2].map((n) => table.state(n)),
    ['off', 'on', 'off'],
  )
  t.same(
    [0, 1, 2].map((n) => table.columns.by.get(n)),
    [9, 4, 9],
  )
})

t.test('R1: an assign that copies its context: stepped: it copies the whole row', async (t) => {
  const table = newTable()
  table.add()
  table.tell(0, { type: 'counted' })
  table.tell(0, { type: 'counted' })
  t.same([table.get(0, 'lit'), table.get(0, 'by')], [2, 9])
})

t.test('R2: a value its column cannot hold: assigned: throws', async (t) => {
  const table = newTable()
  table.add()
  t.throws(() => table.tell(0, { type: 'lit', by: 256 }), {
    message: '256 does not fit in a Uint8Column',
  })
})

t.test('table: an actor that does not exist: stepped or read: throws', async (t) => {
  const table = newTable()
  t.throws(() => table.tell(0, { type: 'counted' }), RangeError)
  t.throws(() => table.state(0), RangeError)
  t.throws(() => table.get(0, 'lit'), RangeError)
})

t.test('kind: a layout, events or codes that miss one, or have one more: refused', async (t) => {
  const parts = {
    machine: lampMachine,
    codes: lamp.codes,
    layout: lamp.layout,
    events: lamp.events,
  }
  t.doesNotThrow(() => actor(parts))
  t.throws(() => actor({ ...parts, layout: { lit: 'u32' } }), /layout/)
  t.throws(() => actor({ ...parts, layout: { lit: 'u32', by: 'u8', at: 'f64' } }), /layout/)
  t.throws(() => actor({ ...parts, events: { lit: { by: 'u8' } } }), /events/)
  t.throws(() => actor({ ...parts, codes: { off: 0 } }), /codes/)
})

t.test('table: a kind whose context contains a text: constructed: throws', async (t) => {
  t.throws(
    () => new ActorTable({ ...lamp, layout: { lit: 'u32', by: 'text' } }),
    /lamp.by is a text/,
  )
})
