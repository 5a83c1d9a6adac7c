// Drives one kind of actor through three implementations at once, and asserts that they agree after
// every event: xstate's own interpreter (the reference), the compiled table on a plain object, and
// an ActorTable.

import assert from 'node:assert/strict'
import type { EventObject } from 'xstate'
import { createActor } from 'xstate'
import type { ActorKind, AnyActorKind } from '../../src/kernel/actor.ts'
import { ActorTable } from '../../src/kernel/actor-table.ts'

type Numbers = Record<string, number>

/**
 * Returns the names of all visited states. Throws at the first event after which the
 * implementations differ. The ActorTable is left out if the context contains texts.
 */
export function runEveryWay(kind: AnyActorKind, events: readonly EventObject[]): Set<string> {
  const { machine, compiled } = kind
  const reference = createActor(machine).start()
  const plain = { state: compiled.initialState, context: compiled.initialContext() }
  const rows = Object.values(kind.layout).includes('text') ? null : new Rows(kind)
  const visited = new Set<string>([reference.getSnapshot().value])

  for (const event of events) {
    const { status } = reference.getSnapshot()
    const rowsTaken = machine.getTransitionData(reference.getSnapshot(), event).length
    const taken = status === 'active' && rowsTaken > 0
    reference.send(event)
    const { value, context } = reference.getSnapshot()

    assert.equal(compiled.may(plain, event), taken, `plain: may ${event.type} happen?`)
    assert.equal(compiled.step(plain, event), taken, `plain: was a row taken by ${event.type}?`)
    assert.equal(compiled.stateName(plain.state), value)
    assert.deepEqual(plain.context, context)
    if (rows !== null) {
      assert.equal(rows.tell(event), taken, `table: was ${event.type} accepted?`)
      assert.equal(rows.stateName(), value)
      assert.deepEqual(rows.context(), context)
    }
    visited.add(value)
  }
  rows?.assertNeighboursUntouched()
  return visited
}

// One actor in a table, between two others that receive no events.
class Rows {
  readonly #kind: ActorKind<Numbers, EventObject>
  readonly #table: ActorTable<Numbers, EventObject, string>

  constructor(kind: AnyActorKind) {
    this.#kind = kind
    this.#table = new ActorTable(this.#kind)
    for (let n = 0; n < 3; n++) assert.equal(this.#table.add(), n)
  }

  /** Returns whether the event was accepted. Asserts that `may` and `tell` agree. */
  tell(event: EventObject): boolean {
    const may = this.#table.may(1, event)
    if (may) this.#table.tell(1, event)
    else assert.throws(() => this.#table.tell(1, event), assert.AssertionError)
    return may
  }

  stateName(n = 1): string {
    return this.#table.state(n)
  }

  context(n = 1): Numbers {
    const fields = Object.keys(this.#kind.layout)
    return Object.fromEntries(fields.map((field) => [field, this.#table.get(n, field)]))
  }

  assertNeighboursUntouched(): void {
    const { compiled } = this.#kind
    for (const n of [0, 2]) {
      assert.equal(this.#table.state(n), compiled.stateName(compiled.initialState))
      assert.deepEqual(this.context(n), compiled.initialContext())
    }
  }
}
