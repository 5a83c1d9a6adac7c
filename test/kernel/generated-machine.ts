// Random compilable machines with random events: transitions with and without guards, targets and
// assigns. An assign is one function or one function per field. Assigns read each other's fields,
// so that the order of reads and writes matters.

import fc from 'fast-check'
import type { EventObject } from 'xstate'
import { assign, createMachine } from 'xstate'
import { type AnyActorKind, actor } from '../../src/kernel/actor.ts'

interface Generated {
  kind: AnyActorKind
  events: EventObject[]
}

interface Context {
  a: number
  b: number
  c: number | string | null
}
interface Args {
  context: Context
  event: { n: number }
}

const states = ['s0', 's1', 's2', 's3']
const eventTypes = ['e0', 'e1', 'e2']

const numberOf: Record<string, (args: Args) => number> = {
  event: ({ event }) => event.n,
  sum: ({ context, event }) => context.a + event.n,
  otherA: ({ context }) => context.a,
  otherB: ({ context }) => context.b,
  both: ({ context }) => context.a - context.b,
}
const textOf = ({ context, event }: Args) => (event.n % 2 === 0 ? null : `${context.a}`)

const source = fc.oneof(fc.constantFrom(...Object.keys(numberOf)), fc.integer({ min: 0, max: 9 }))
const fields = fc.record({ a: source, b: source, c: source }, { requiredKeys: [] })
const assignment = fc.record({ fields, asFunction: fc.boolean() })

const guards: Record<string, (args: Args) => boolean> = {
  odd: ({ event }) => event.n % 2 === 1,
  bigA: ({ context }) => context.a > 5,
  apart: ({ context, event }) => context.b !== event.n,
}

const row = fc.record({
  target: fc.option(fc.constantFrom(...states), { nil: undefined }),
  guard: fc.option(fc.constantFrom(...Object.keys(guards)), { nil: undefined }),
  guardInline: fc.boolean(),
  actions: fc.array(assignment, { maxLength: 3 }),
})
const rowsOfState = fc.dictionary(
  fc.constantFrom(...eventTypes),
  fc.array(row, { minLength: 1, maxLength: 3 }),
  { noNullPrototype: true },
)

/** A machine, its layout, and the events that drive it. */
export const generatedMachine: fc.Arbitrary<Generated> = fc
  .record({
    rows: fc.tuple(...states.map(() => rowsOfState)),
    last: fc.constantFrom('atomic', 'final'),
    withText: fc.boolean(),
    events: fc.array(
      fc.record(
        { type: fc.constantFrom(...eventTypes, 'unheard'), n: fc.nat(9) },
        { noNullPrototype: true },
      ),
      { maxLength: 25 },
    ),
  })
  .map(({ rows, last, withText, events }) => {
    const stateOf = (on: (typeof rows)[number]) => ({
      on: Object.fromEntries(
        Object.entries(on).map(([type, rowsOfEvent]) => [
          type,
          rowsOfEvent.map(({ target, guard, guardInline, actions }) => ({
            ...(target === undefined ? {} : { target }),
            ...(guard === undefined ? {} : { guard: guardInline ? guards[guard] : guard }),
            actions: actions.map((action) => assignOf(action, withText)),
          })),
        ]),
      ),
    })
    const all: Record<string, { type?: string; on?: object }> = Object.fromEntries(
      states.map((name, i) => [name, stateOf(rows[i])]),
    )
    if (last === 'final') all[states[3]] = { type: 'final' }
    const config = {
      id: 'generated',
      context: { a: 0, b: 0, c: withText ? null : 0 },
      initial: states[0],
      states: all,
    }
    const types = Object.values(all).flatMap(({ on = {} }) => Object.keys(on))
    const kind = actor({
      machine: createMachine(config as object, { guards } as object),
      codes: Object.fromEntries(states.map((name, i) => [name, 3 * i])),
      layout: { a: 'f64', b: 'f64', c: withText ? 'text' : 'f64' },
      events: Object.fromEntries(types.map((type) => [type, { n: 'f64' }])),
    })
    return { kind, events }
  })

function assignOf(
  {
    fields,
    asFunction,
  }: { fields: { [K in keyof Context]?: string | number }; asFunction: boolean },
  withText: boolean,
) {
  const sources = Object.entries(fields).map(([field, from]): [string, unknown] => {
    if (field === 'c' && withText) return [field, textOf]
    return [field, typeof from === 'number' ? from : numberOf[from as string]]
  })
  if (!asFunction) return assign(Object.fromEntries(sources) as object)
  const value = (from: unknown, args: Args) => (typeof from === 'function' ? from(args) : from)
  return assign((args) =>
    Object.fromEntries(
      sources.map(([field, from]) => [field, value(from, args as unknown as Args)]),
    ),
  )
}
