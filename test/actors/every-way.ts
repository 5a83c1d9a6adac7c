// Runs one machine every way at once and demands that all ways agree after every event: xstate's
// own interpreter (the reference), the compiled table on a plain object, and an ActorTable.

import assert from 'node:assert/strict'
import type { AnyStateMachine, EventObject } from 'xstate'
import { createActor } from 'xstate'

import type { Layout } from '../../src/actors/actor-table.ts'
import { ActorTable } from '../../src/actors/actor-table.ts'
import { compile } from '../../src/actors/compile.ts'

type Context = Record<string, unknown>
type Numbers = Record<string, number>

/**
 * Throws at the first event after which the ways differ; returns the names of the states visited.
 * Without a layout (contexts with more than numbers) the ActorTable is left out.
 */
export function runEveryWay(
  machine: AnyStateMachine,
  layout: Layout<Numbers> | null,
  events: readonly EventObject[],
): Set<string> {
  const reference = createActor(machine).start()
  const compiled = compile<Context, EventObject>(machine)
  const plain = { state: compiled.initialState, context: compiled.initialContext() }
  const rows = layout === null ? null : new Rows(machine, layout)
  const visited = new Set<string>([reference.getSnapshot().value])

  for (const event of events) {
    const { status } = reference.getSnapshot()
    const rowsTaken = machine.getTransitionData(reference.getSnapshot(), event).length
    const taken = status === 'active' && rowsTaken > 0
    reference.send(event)
    const { value, context } = reference.getSnapshot()

    assert.equal(compiled.step(plain, event), taken, `plain: was a row taken by ${event.type}?`)
    assert.equal(compiled.states[plain.state], value)
    assert.deepEqual(plain.context, context)
    if (rows !== null) {
      assert.equal(rows.step(event), taken, `table: was a row taken by ${event.type}?`)
      assert.equal(rows.stateName(), value)
      assert.deepEqual(rows.context(), context)
    }
    visited.add(value)
  }
  rows?.assertNeighboursUntouched()
  return visited
}

// One actor of a table, between two others that nobody tells anything.
class Rows {
  readonly #machine
  readonly #fields: string[]
  readonly #table: ActorTable<Numbers, EventObject>

  constructor(machine: AnyStateMachine, layout: Layout<Numbers>) {
    this.#machine = compile<Numbers, EventObject>(machine)
    this.#fields = Object.keys(layout)
    this.#table = new ActorTable(this.#machine, layout)
    for (let n = 0; n < 3; n++) assert.equal(this.#table.add(), n)
  }

  step(event: EventObject): boolean {
    return this.#table.step(1, event)
  }

  stateName(n = 1): string {
    return this.#machine.states[this.#table.state(n)]
  }

  context(n = 1): Numbers {
    return Object.fromEntries(this.#fields.map((field) => [field, this.#table.get(n, field)]))
  }

  assertNeighboursUntouched(): void {
    for (const n of [0, 2]) {
      assert.equal(this.#table.state(n), this.#machine.initialState)
      assert.deepEqual(this.context(n), this.#machine.initialContext())
    }
  }
}
