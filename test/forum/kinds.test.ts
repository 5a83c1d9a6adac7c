// Goal:   every kind of actor, and the role of a process, behaves the same compiled as in xstate.
// Method: random sequences of the kind's own events, generated from their declared shapes with
//         small numbers, so that guards meet their boundary values. All implementations must
//         produce the same states and contexts, and accept the same events.

import fc from 'fast-check'
import t from 'tap'
import type { EventObject } from 'xstate'
import { roleKind } from '../../src/engine/role/role.ts'
import { actorKinds } from '../../src/forum/kinds.ts'
import type { AnyActorKind, FieldKind } from '../../src/kernel/actor.ts'
import { runEveryWay } from '../kernel/every-way.ts'

const numbers: Record<Exclude<FieldKind, 'text'>, fc.Arbitrary<number>> = {
  f64: fc.integer({ min: -1, max: 8 }),
  u32: fc.oneof(fc.nat(2), fc.nat(2 ** 32 - 1)),
  u8: fc.nat(255),
}

function field(name: string, shape: FieldKind | readonly string[]): fc.Arbitrary<unknown> {
  if (name === 'position') return fc.integer({ min: 1, max: 2 ** 40 })
  if (shape === 'text') return fc.string()
  return typeof shape === 'string' ? numbers[shape] : fc.constantFrom(...shape)
}

function eventsOf({ events }: AnyActorKind): fc.Arbitrary<EventObject> {
  const each = Object.entries(events).map(([type, shape]) => {
    const fields = Object.entries(shape).map(([name, kind]) => [name, field(name, kind)])
    const shaped = { type: fc.constant(type), ...Object.fromEntries(fields) }
    return fc.record(shaped, { noNullPrototype: true })
  })
  return fc.oneof(...each) as fc.Arbitrary<EventObject>
}

for (const kind of [...actorKinds, roleKind] as readonly AnyActorKind[]) {
  t.test(`${kind.id}: any state: random events: every way of running it agrees`, async (t) => {
    const visited = new Set<string>()
    const property = fc.property(fc.array(eventsOf(kind), { maxLength: 30 }), (sequence) => {
      for (const state of runEveryWay(kind, sequence)) visited.add(state)
    })
    const states = Object.keys(kind.codes)
    // Only about two in a hundred sequences deliver anything, so 500 of them may miss a state.
    for (let rounds = 0; rounds < 5 && visited.size < states.length; rounds++) {
      fc.assert(property, { numRuns: 500 })
    }
    t.same([...visited].sort(), states.sort(), 'every state was reached')
  })
}
