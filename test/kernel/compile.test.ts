import fc from 'fast-check'
import t from 'tap'
import type { AnyStateMachine } from 'xstate'
import { assign, createMachine, log, not, raise } from 'xstate'

import { compile } from '../../src/kernel/compile.ts'
import { runEveryWay } from './every-way.ts'
import { generatedMachine } from './generated-machine.ts'

// Makes a machine of two states, `a` and `b`. `state` defines `a`; `parts` are added to the
// machine.
function machineWith(state: object, parts: object = {}, implementations: object = {}) {
  const config = { id: 'm', context: { x: 1, y: 2 }, initial: 'a', ...parts }
  const states = { a: state, b: {}, ...('states' in parts ? (parts.states as object) : {}) }
  return createMachine({ ...config, states } as object, implementations)
}

t.test('T1: a generated machine, random events: run every way: all agree', async (t) => {
  const run = fc.property(generatedMachine, ({ kind, events }) => {
    runEveryWay(kind, events)
  })
  t.doesNotThrow(() => fc.assert(run, { numRuns: 500 }))
})

t.test('T1: one assign swaps two fields: stepped: each reads the old context', async (t) => {
  const swap = assign({ x: ({ context }) => context.y, y: ({ context }) => context.x })
  const machine = compileAny(machineWith({ on: { go: { actions: swap } } }))
  const actor = { state: 0, context: machine.initialContext() }
  t.equal(machine.step(actor, { type: 'go' }), true)
  t.same(actor, { state: 0, context: { x: 2, y: 1 } })
})

t.test('T1: two assigns in one row: stepped: the second sees what the first did', async (t) => {
  const actions = [
    assign({ x: ({ context }) => context.x + 10 }),
    assign(({ context }) => ({ y: context.x * 2 })),
  ]
  const machine = compileAny(machineWith({ on: { go: { actions, target: 'b' } } }))
  const actor = { state: 0, context: machine.initialContext() }
  machine.step(actor, { type: 'go' })
  t.same(actor, { state: 1, context: { x: 11, y: 22 } })
})

t.test('T2: an event the state or the machine does not know: nothing changes', async (t) => {
  const machine = compileAny(machineWith({ on: { go: 'b' } }))
  const actor = { state: 1, context: machine.initialContext() }
  t.equal(machine.step(actor, { type: 'go' }), false)
  t.equal(machine.step(actor, { type: 'unheard' }), false)
  t.same(actor, { state: 1, context: { x: 1, y: 2 } })
})

t.test(
  'compile: two actors of one machine: one is stepped: the other keeps its context',
  async (t) => {
    const machine = compileAny(machineWith({ on: { go: { actions: assign({ x: 5 }) } } }))
    const [one, other] = [0, 0].map((state) => ({ state, context: machine.initialContext() }))
    machine.step(one, { type: 'go' })
    t.same([one.context.x, other.context.x], [5, 1])
  },
)

t.test('T2: any event: checked with `may`: nothing changes', async (t) => {
  const machine = compileAny(
    machineWith({ on: { go: { actions: assign({ x: 5 }), target: 'b' } } }),
  )
  const actor = { state: 0, context: machine.initialContext() }
  t.same([machine.may(actor, { type: 'go' }), machine.may(actor, { type: 'no' })], [true, false])
  t.same(actor, { state: 0, context: { x: 1, y: 2 } })
})

t.test('compile: with codes: states have them, whatever the order of declaration', async (t) => {
  const machine = compile(machineWith({ on: { go: 'b' } }), { a: 7, b: 3 })
  const actor = { state: machine.initialState, context: machine.initialContext() }
  t.equal(actor.state, 7)
  machine.step(actor, { type: 'go' })
  t.same([actor.state, machine.stateName(3), machine.stateName(7)], [3, 'b', 'a'])
})

t.test(
  'compile: codes that miss a state, name one more, repeat or are no byte: refused',
  async (t) => {
    const all = [{ a: 0 }, { a: 0, b: 1, c: 2 }, { a: 1, b: 1 }, { a: 0, b: 256 }, { a: 0, b: 0.5 }]
    for (const codes of all) t.throws(() => compile(machineWith({}), codes as never), /machine 'm'/)
  },
)

interface Numbers {
  x: number
  y: number
}
const compileAny = (machine: AnyStateMachine) => compile<Numbers, { type: string }>(machine)

// H1. One row for each construct that a table cannot represent, with the name in the error.
const go = (transition: object) => machineWith({ on: { go: transition } })
const refused: [what: string, make: () => AnyStateMachine, says: string][] = [
  ['nested states', () => machineWith({ states: { c: {} }, initial: 'c' }), 'flat'],
  ['a parallel state', () => machineWith({ type: 'parallel', states: { c: {} } }), '`states`'],
  ['a parallel machine', () => createMachine({ id: 'm', type: 'parallel', states: {} }), '`type`'],
  ['a history state', () => machineWith({ type: 'history' }), "has type 'history'"],
  ['a history setting', () => machineWith({ history: 'deep' }), '`history`'],
  ['invoke', () => machineWith({ invoke: { src: 'work' } }), '`invoke`'],
  ['after', () => machineWith({ after: { 10: 'b' } }), '`after`; let a timer'],
  ['always', () => machineWith({ always: 'b' }), '`always`'],
  ['entry', () => machineWith({ entry: assign({ x: 1 }) }), '`entry`'],
  ['exit', () => machineWith({ exit: assign({ x: 1 }) }), '`exit`'],
  ['onDone', () => machineWith({ onDone: 'b' }), '`onDone`'],
  ['tags', () => machineWith({ tags: 'open' }), '`tags`; a table cannot hold it'],
  ['entry of the machine', () => machineWith({}, { entry: assign({ x: 1 }) }), '`entry`'],
  [
    'events of the machine',
    () => machineWith({}, { on: { go: '.b' } }),
    '`on`; declare in each state',
  ],
  ['output of the machine', () => machineWith({}, { output: 1 }), '`output`'],
  ['output of a final state', () => machineWith({ type: 'final', output: 1 }), '`output`'],
  ['events of a final state', () => machineWith({ type: 'final', on: { go: 'b' } }), 'is final'],
  ['initial actions', () => machineWith({}, { initial: { target: 'a' } }), 'initial state'],
  ['no states', () => createMachine({ id: 'm' }), 'initial state'],
  [
    'a context from input',
    () => machineWith({}, { context: ({ input }: { input: number }) => ({ x: input }) }),
    'made from arguments',
  ],
  ['a wildcard', () => machineWith({ on: { '*': 'b' } }), "event '*' is a wildcard"],
  ['a partial wildcard', () => machineWith({ on: { 'go.*': 'b' } }), 'is a wildcard'],
  ["xstate's own event", () => machineWith({ on: { 'xstate.stop': 'b' } }), 'belongs to xstate'],
  ['reenter', () => go({ target: 'a', reenter: true }), '`reenter`'],
  ['a delay', () => go({ target: 'b', delay: 10 }), '`delay`'],
  ['two targets', () => go({ target: ['a', 'b'] }), 'exactly one target'],
  ['a machine as target', () => go({ target: '#m' }), 'must target a state'],
  ['a guard with parameters', () => go({ guard: { type: 'g', params: {} } }), 'parameters'],
  ['an action with parameters', () => go({ actions: { type: 'f', params: {} } }), 'parameters'],
  ['a guard made of guards', () => go({ guard: not('g') }), "guard 'not' is not a plain function"],
  ['a guard nobody wrote', () => go({ guard: 'g' }), "guard 'g' is not a plain function"],
  ['an action nobody wrote', () => go({ actions: 'f' }), "action 'f' does not assign"],
  ['raise', () => go({ actions: raise({ type: 'go' }) }), "action 'raise' does not assign"],
  [
    'a delayed raise',
    () => go({ actions: raise({ type: 'go' }, { delay: 1 }) }),
    'does not assign',
  ],
  ['log', () => go({ actions: log('hello') }), "action 'log' does not assign"],
  ['an action of its own', () => go({ actions: function send() {} }), "'send' does not assign"],
]
for (const [what, make, says] of refused) {
  t.test(`H1: a machine with ${what}: compiled: refused, and the sentence says so`, async (t) => {
    const machine = make()
    const error = t.throws(() => compile(machine)) as Error
    t.match(error.message, "machine 'm'")
    t.match(error.message, says)
  })
}
