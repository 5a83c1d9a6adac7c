// The parts of a machine that can be run as a table: flat states, events, guards, assigns.
//
// H1. A machine with any part that is not on these lists is rejected when it is compiled, so that
//     no feature which xstate has now or adds later is silently ignored.
//
// Neighbours: compile.ts checks machines here before it flattens them.

import type { AnyStateMachine } from 'xstate'

const machineParts = [
  'id',
  'version',
  'description',
  'schemas',
  'types',
  'context',
  'initial',
  'states',
]
const stateParts = ['description', 'type', 'on']
const transitionParts = [
  'target',
  'guard',
  'actions',
  'description',
  'source',
  'eventType',
  'reenter',
  'toJSON',
]

// What to write instead of the parts that are rejected.
const instead: Record<string, string> = {
  after: 'let a timer send an event that carries the time',
  always: 'choose the state by guards on the event that leads here',
  entry: 'assign in the transitions that lead here',
  exit: 'assign in the transitions that leave',
  invoke: 'whoever steps the actor does the work and sends an event',
  on: 'declare in each state the events that it accepts',
  onDone: 'send an event',
  output: 'put it in the context',
  states: 'make the states flat',
}

/** Throws an Error of one sentence when the table cannot represent `machine`. */
export function assertFlat(machine: AnyStateMachine): void {
  const { config, root } = machine
  const where = `machine '${machine.id}'`
  onlyParts(where, config, machineParts)
  demand(typeof config.initial === 'string', where, 'needs the name of its initial state')
  demand(
    typeof config.context !== 'function' || config.context.length === 0,
    where,
    'has a context made from arguments; give the same context to every new actor',
  )
  for (const [name, node] of Object.entries(root.states)) {
    const state = `${where}, state '${name}'`
    onlyParts(state, node.config, stateParts)
    demand(node.type === 'atomic' || node.type === 'final', state, `has type '${node.type}'`)
    demand(node.type !== 'final' || node.transitions.size === 0, state, 'is final and has events')
    for (const [event, transitions] of node.transitions) {
      for (const transition of transitions) assertPlain(`${state}, event '${event}'`, transition)
    }
  }
}

/** A transition in xstate's own representation. */
interface Transition {
  eventType: string
  source: { parent?: unknown }
  target: readonly { parent?: unknown }[] | undefined
  guard?: unknown
  actions: readonly unknown[]
  reenter: boolean
}

function assertPlain(where: string, transition: Transition): void {
  const { eventType, source, target, guard, actions, reenter } = transition
  demand(!eventType.endsWith('*'), where, 'is a wildcard; name every event')
  demand(!eventType.startsWith('xstate.'), where, 'belongs to xstate itself')
  demand(!reenter, where, 'has `reenter`; without entry and exit it means nothing')
  onlyParts(where, transition, transitionParts)
  demand(target === undefined || target.length === 1, where, 'needs exactly one target')
  demand(target === undefined || target[0].parent === source.parent, where, 'must target a state')
  for (const part of guard === undefined ? actions : [guard, ...actions]) {
    const plain = typeof part === 'string' || typeof part === 'function'
    demand(plain, where, 'has a guard or action with parameters; read the event instead')
  }
}

function onlyParts(where: string, config: object, allowed: readonly string[]): void {
  for (const [part, value] of Object.entries(config)) {
    if (value === undefined || allowed.includes(part)) continue
    throw new Error(`${where} has \`${part}\`; ${instead[part] ?? 'a table cannot hold it'}`)
  }
}

function demand(holds: boolean, where: string, otherwise: string): void {
  if (!holds) throw new Error(`${where} ${otherwise}`)
}
