// Flattens an xstate machine into a table, and runs actors from it as small plain objects.
//
//   table[state * events + event] ──▶ row ──▶ row ──▶ …     the first row whose guard passes
//                                      guard, assigns, target
//
// T1. A sequence of events leads to the same state and the same context as in xstate's own
//     interpreter. A property test drives both with the same random events.
// T2. A step itself allocates nothing. An event that the state does not accept changes nothing.
// T3. A machine that a table cannot represent is rejected once, when it is compiled.
// T4. An event from a log record has already happened, so an actor that does not accept it reveals
//     a bug, and `tell` throws. Code that can still reject a request calls `may` first, so that the
//     machine decides.
//
// Why: an event costs 5 µs or more in the interpreter and some tens of nanoseconds in the table
// (measured by bench/actor-step.ts of ec952255), while a whole request costs about 20 µs.
//
// A table can represent flat states, events, guards and assigns.
//
// H1. A machine with any other part is rejected when it is compiled, so that no xstate feature,
//     present or future, is silently ignored.
//
// Neighbours: actor.ts declares kinds.

import assert from 'node:assert/strict'
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

// What to write in place of each rejected part: the second half of the error message.
const instead: Record<string, string> = {
  after: 'let a timer send an event that carries the time',
  always: 'choose the state by guards on the event that leads here',
  entry: 'assign in the transitions that lead here',
  exit: 'assign in the transitions that leave',
  invoke: 'the caller that steps the actor does the work and sends an event',
  on: 'declare in each state the events that it accepts',
  onDone: 'send an event',
  output: 'put it in the context',
  states: 'make the states flat',
}

/** Throws an Error with a one-sentence message if a table cannot represent `machine`. */
function assertFlat(machine: AnyStateMachine): void {
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

/** One actor: the code of its state, and its context, which steps change in place. */
export interface Actor<C> {
  state: number
  context: C
}

export interface CompiledMachine<C, E extends { type: string }, S extends string = string> {
  readonly id: string
  readonly eventNames: readonly string[]
  readonly initialState: number
  readonly initialContext: () => C
  stateName(code: number): S
  /** Returns whether the actor accepts the event now. Changes nothing. */
  may(actor: Actor<C>, event: E): boolean
  /** Applies one event to the actor in place. Returns false if the actor does not accept it. */
  step(actor: Actor<C>, event: E): boolean
  /** Applies an event that has happened. Throws an AssertionError if it is not accepted (T4). */
  tell(actor: Actor<C>, event: E): void
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

/**
 * Compiles a machine; each is compiled once, at load. `codes` has a number from 0 to 255 for each
 * state. Without it, states are numbered in the order of their declaration.
 *
 * @throws Error whose message names the machine, the state, and the part that a table cannot
 *   represent, or the guard or action that is missing.
 */
export function compile<C, E extends { type: string }, S extends string = string>(
  machine: AnyStateMachine,
  codes: { readonly [state in S]: number } = inOrder(machine),
): CompiledMachine<C, E, S> {
  assertFlat(machine)
  return new Table<C, E, S>(machine, codes)
}

function inOrder<S extends string>(machine: AnyStateMachine): { readonly [state in S]: number } {
  const names = Object.keys(machine.root.states) as S[]
  return Object.fromEntries(names.map((name, i) => [name, i])) as { [state in S]: number }
}

class Table<C, E extends { type: string }, S extends string> implements CompiledMachine<C, E, S> {
  readonly id: string
  readonly initialState: number
  readonly initialContext: () => C
  readonly #names: S[] = []
  readonly #events = new Map<string, number>()
  readonly #rows: (readonly Row<C, E>[])[] = []
  // Reused by every step, so that a step allocates nothing.
  readonly #args: Args<C, E>

  constructor(machine: AnyStateMachine, codes: { readonly [state in S]: number }) {
    const nodes = Object.values(machine.root.states)
    this.id = machine.id
    assertCodes(
      machine.id,
      nodes.map(({ key }) => key),
      codes,
    )
    const codeOf = (name: string) => codes[name as S]
    this.initialState = codeOf(machine.root.initial.target[0].key)
    const { context } = machine.config
    this.initialContext = typeof context === 'function' ? context : () => ({ ...context })
    this.#args = { context: this.initialContext(), event: { type: '' } as E }

    for (const event of nodes.flatMap((node) => [...node.transitions.keys()])) {
      if (!this.#events.has(event)) this.#events.set(event, this.#events.size)
    }
    for (const node of nodes) {
      const code = codeOf(node.key)
      this.#names[code] = node.key as S
      for (const [event, number] of this.#events) {
        this.#rows[code * this.#events.size + number] = (node.transitions.get(event) ?? []).map(
          ({ guard, actions, target }) => ({
            guard: guardOf<C, E>(machine, guard),
            assigns: actions.map((action) => assignOf<C, E>(machine, action)),
            target: target === undefined ? code : codeOf(target[0].key),
          }),
        )
      }
    }
  }

  get eventNames(): readonly string[] {
    return [...this.#events.keys()]
  }

  stateName(code: number): S {
    return this.#names[code]
  }

  may(actor: Actor<C>, event: E): boolean {
    return this.#rowFor(actor, event) !== null
  }

  step(actor: Actor<C>, event: E): boolean {
    const row = this.#rowFor(actor, event)
    if (row === null) return false
    const { assigns, target } = row
    for (let i = 0; i < assigns.length; i++) assigns[i](this.#args)
    actor.state = target
    return true
  }

  tell(actor: Actor<C>, event: E): void {
    if (this.step(actor, event)) return // the usual case builds no message
    const state = this.stateName(actor.state)
    assert.fail(`T4: a ${this.id} that is ${state} does not accept '${event.type}'`)
  }

  /**
   * Returns the row that the event selects, with `#args` filled for it, or null if there is none.
   */
  #rowFor(actor: Actor<C>, event: E): Row<C, E> | null {
    const number = this.#events.get(event.type)
    if (number === undefined) return null
    const rows = this.#rows[actor.state * this.#events.size + number]
    const args = this.#args
    args.context = actor.context
    args.event = event
    for (let i = 0; i < rows.length; i++) {
      const { guard } = rows[i]
      if (guard === null || guard(args)) return rows[i]
    }
    return null
  }
}

function assertCodes(id: string, states: readonly string[], codes: Record<string, number>): void {
  const coded = Object.keys(codes)
  const isSame = coded.length === states.length && states.every((state) => state in codes)
  if (!isSame) throw new Error(`machine '${id}' has states ${states}, and codes for ${coded}`)
  const isByte = (code: number) => Number.isInteger(code) && code >= 0 && code <= 255
  const isGood = new Set(Object.values(codes)).size === states.length
  if (!isGood || !Object.values(codes).every(isByte)) {
    throw new Error(`machine '${id}': codes are different whole numbers from 0 to 255`)
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

// All values are computed before any is written, because in xstate each sees the old context.
function assignEach<C, E>(assignment: Record<string, unknown>): Assign<C, E> {
  const keys = Object.keys(assignment)
  const values = Object.values(assignment).map((value) =>
    typeof value === 'function' ? (value as Value<C, E>) : () => value,
  )
  const computed: unknown[] = new Array(keys.length)
  return (args) => {
    const context = args.context as Record<string, unknown>
    for (let i = 0; i < keys.length; i++) computed[i] = values[i](args)
    for (let i = 0; i < keys.length; i++) context[keys[i]] = computed[i]
  }
}
