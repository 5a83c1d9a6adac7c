// Flattens an xstate machine into a table, and runs actors from it as small plain objects.
//
//   table[state * events + event] ──▶ row ──▶ row ──▶ …     the first row whose guard passes
//                                      guard, assigns, target
//
// K1. The same events give the same state and the same context as xstate's own interpreter; a test
//     drives both with the same random events.
// K2. A step allocates nothing of its own, and an event the state does not accept changes nothing.
// K3. What the table cannot represent is refused here, once, when the machine is compiled.
//
// Why: an event costs 5 us and more through the interpreter, tens of nanoseconds through the table
// (bench/actor-step.ts), where a whole request costs about 7 us.
//
// Neighbours: shape.ts says what is refused; actor-table.ts holds many actors of one machine.

import type { AnyStateMachine, EventObject, MachineContext, StateNode } from 'xstate'

import { assertFlat } from './shape.ts'

/** One actor: the number of its state, and its context, which steps change in place. */
export interface Actor<C> {
  state: number
  context: C
}

/** A machine as a table. `states[n]` is the name of state number `n`. */
export interface CompiledMachine<C, E extends { type: string }> {
  readonly id: string
  readonly states: readonly string[]
  readonly initialState: number
  /** A context of its own for a new actor. */
  readonly initialContext: () => C
  /** The number of a state; throws on a name the machine does not have. */
  stateNumber(name: string): number
  /**
   * Runs one event on the actor in place; true when a row was taken. An event that the state does
   * not accept changes nothing.
   */
  step(actor: Actor<C>, event: E): boolean
}

interface Args<C, E> {
  context: C
  event: E
}
type Guard<C, E> = (args: Args<C, E>) => boolean
type Value<C, E> = (args: Args<C, E>) => unknown
type Assign<C, E> = (args: Args<C, E>) => void
interface Row<C, E> {
  readonly guard: Guard<C, E> | null
  readonly assigns: readonly Assign<C, E>[]
  readonly target: number
}

/** An xstate machine with context `C` and events `E`. */
export type Machine<C extends MachineContext, E extends EventObject> = AnyStateMachine & {
  readonly root: StateNode<C, E>
}

/**
 * Compiles a machine once, at load.
 *
 * @throws Error one sentence that names the machine, the state, and the part that a table cannot
 *   represent, or the guard or action that is missing.
 */
export function compile<C extends MachineContext, E extends EventObject>(
  machine: Machine<C, E>,
): CompiledMachine<C, E> {
  assertFlat(machine)
  return new Table<C, E>(machine)
}

class Table<C extends MachineContext, E extends EventObject> implements CompiledMachine<C, E> {
  readonly id: string
  readonly states: readonly string[]
  readonly initialState: number
  readonly initialContext: () => C
  readonly #events = new Map<string, number>()
  readonly #rows: (readonly Row<C, E>[])[]
  // Reused by every step, so that a step allocates nothing.
  readonly #args: Args<C, E>

  constructor(machine: AnyStateMachine) {
    const nodes = Object.values(machine.root.states)
    this.id = machine.id
    this.states = nodes.map((node) => node.key)
    this.initialState = nodes.indexOf(machine.root.initial.target[0])
    const { context } = machine.config
    this.initialContext = typeof context === 'function' ? context : () => ({ ...context })
    this.#args = { context: this.initialContext(), event: { type: '' } as E }

    for (const event of nodes.flatMap((node) => [...node.transitions.keys()])) {
      if (!this.#events.has(event)) this.#events.set(event, this.#events.size)
    }
    this.#rows = nodes.flatMap((node, state) =>
      [...this.#events.keys()].map((event) =>
        (node.transitions.get(event) ?? []).map(({ guard, actions, target }) => ({
          guard: guardOf<C, E>(machine, guard),
          assigns: actions.map((action) => assignOf<C, E>(machine, action)),
          target: target === undefined ? state : nodes.indexOf(target[0]),
        })),
      ),
    )
  }

  stateNumber(name: string): number {
    const number = this.states.indexOf(name)
    if (number === -1) throw new Error(`machine '${this.id}' has no state '${name}'`)
    return number
  }

  step(actor: Actor<C>, event: E): boolean {
    const number = this.#events.get(event.type)
    if (number === undefined) return false
    const rows = this.#rows[actor.state * this.#events.size + number]
    const args = this.#args
    args.context = actor.context
    args.event = event
    for (let i = 0; i < rows.length; i++) {
      const { guard, assigns, target } = rows[i]
      if (guard !== null && !guard(args)) continue
      for (let j = 0; j < assigns.length; j++) assigns[j](args)
      actor.state = target
      return true
    }
    return false
  }
}

function guardOf<C, E>(machine: AnyStateMachine, guard: unknown): Guard<C, E> | null {
  if (guard === undefined) return null
  const guards: Record<string, unknown> = machine.implementations.guards
  const found = typeof guard === 'string' ? guards[guard] : guard
  if (typeof found === 'function' && !('check' in found)) return found as Guard<C, E>
  throw new Error(`machine '${machine.id}': guard '${nameOf(guard)}' is not a plain function`)
}

function assignOf<C, E>(machine: AnyStateMachine, action: unknown): Assign<C, E> {
  const actions: Record<string, unknown> = machine.implementations.actions
  const found = typeof action === 'string' ? actions[action] : action
  if (typeof found === 'function' && 'assignment' in found) {
    const { assignment } = found as { assignment: Value<C, E> | Record<string, unknown> }
    return typeof assignment === 'function' ? assignPart(assignment) : assignEach(assignment)
  }
  throw new Error(`machine '${machine.id}': action '${nameOf(action)}' does not assign`)
}

function nameOf(part: unknown): string {
  return typeof part === 'function' ? part.name : String(part)
}

function assignPart<C, E>(part: Value<C, E>): Assign<C, E> {
  return (args) => {
    Object.assign(args.context as object, part(args))
  }
}

// Every value is computed before the first is written: as in xstate, each sees the old context.
// Made from source, so that each assign stores to fields by name: stores by a variable key doubled
// the price of a step (36 -> 70 ns; 60 -> 100 ns in an ActorTable).
function assignEach<C, E>(assignment: Record<string, unknown>): Assign<C, E> {
  const keys = Object.keys(assignment)
  const values = Object.values(assignment).map((value) =>
    typeof value === 'function' ? value : () => value,
  )
  const source = [
    'return (args) => {',
    ...keys.map((_, i) => `const new${i} = value${i}(args)`),
    ...keys.map((key, i) => `args.context[${JSON.stringify(key)}] = new${i}`),
    '}',
  ]
  return new Function(...keys.map((_, i) => `value${i}`), source.join('\n'))(...values)
}
