// Question:   what does one event of an actor cost, depending on how its machine is run?
// Compares:   a step on a plain object (floor), a step in an ActorTable, xstate's actor.send(),
//             xstate's transition().
// Fixed:      the events of replies and subscriptions; thread, feed and subscription alternate, as
//             in the server, so that no call site sees only one machine.
// Reports:    ns/step; the contexts read back, which must be the same for every way.
// Leaves out: the journal, the arena, finding the actor among many.
// Smoke:      300 steps in test/actors/actor-step.test.ts, so it cannot rot.
//
// Run:        node dist/bench/actor-step.js [steps]

import { pathToFileURL } from 'node:url'
import type { EventObject } from 'xstate'
import { createActor, initialTransition, transition } from 'xstate'

import type { ActorKind } from '../src/actors/actor.ts'
import { feed } from '../src/actors/feed.ts'
import { subscription } from '../src/actors/subscription.ts'
import { thread } from '../src/actors/thread.ts'
import { ActorTable } from '../src/state/actor-table.ts'

type Context = Record<string, number>
type Kind = ActorKind<Context, EventObject>
type Tell = (event: EventObject) => void

interface Role {
  kind: Kind
  first: EventObject[]
  later: { type: string; position: number }[]
}

// An actor that is run in one way: a function that sends it an event, and one that reads its
// context.
interface Subject {
  tell: Tell
  context: () => Context
}

export interface Result {
  way: string
  nsPerStep: number
  contexts: Context[]
}

const roles: readonly Role[] = [
  {
    kind: thread as unknown as Kind,
    first: [{ type: 'created', position: 1, author: 7, visibility: 'public' } as EventObject],
    later: [{ type: 'replied', position: 0 }],
  },
  {
    kind: feed as unknown as Kind,
    first: [{ type: 'opened', position: 1 } as EventObject],
    later: [
      { type: 'followed', position: 0 },
      { type: 'unfollowed', position: 0 },
    ],
  },
  {
    kind: subscription as unknown as Kind,
    first: [],
    later: [
      { type: 'subscribed', position: 0 },
      { type: 'unsubscribed', position: 0 },
    ],
  },
]

const ways: Record<string, (role: Role) => Subject> = {
  'plain object': ({ kind: { compiled } }) => {
    const actor = { state: compiled.initialState, context: compiled.initialContext() }
    return { tell: (event) => compiled.step(actor, event), context: () => actor.context }
  },
  ActorTable: ({ kind }) => {
    const table = new ActorTable(kind)
    const n = table.add()
    const context = () =>
      Object.fromEntries(Object.keys(kind.layout).map((field) => [field, table.get(n, field)]))
    return { tell: (event) => table.tell(n, event), context }
  },
  'actor.send()': ({ kind: { machine } }) => {
    const actor = createActor(machine).start()
    return { tell: (event) => actor.send(event), context: () => actor.getSnapshot().context }
  },
  'transition()': ({ kind: { machine } }) => {
    let [snapshot] = initialTransition(machine)
    const tell = (event: EventObject) => {
      snapshot = transition(machine, snapshot, event)[0]
    }
    return { tell, context: () => snapshot.context }
  },
}

/** Runs `steps` steps in each way, after a tenth as many to warm up. */
export function measure(steps: number): Result[] {
  return Object.entries(ways).map(([way, start]) => {
    drive(roles.map(start), Math.ceil(steps / 10))
    const subjects = roles.map(start)
    const before = process.hrtime.bigint()
    drive(subjects, steps)
    const ns = Number(process.hrtime.bigint() - before)
    return { way, nsPerStep: ns / steps, contexts: subjects.map(({ context }) => context()) }
  })
}

function drive(subjects: readonly Subject[], steps: number): void {
  roles.forEach(({ first }, i) => void first.forEach((event) => void subjects[i].tell(event)))
  for (let step = 0; step < steps; step++) {
    const which = step % roles.length
    const { later } = roles[which]
    const event = later[Math.floor(step / roles.length) % later.length]
    event.position = step + 2
    subjects[which].tell(event)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const steps = Number(process.argv[2] ?? 500_000)
  const results = measure(steps)
  for (const { way, nsPerStep } of results) {
    console.log(`${way.padEnd(14)} ${nsPerStep.toFixed(0).padStart(8)} ns/step`)
  }
  const readBack = new Set(results.map(({ contexts }) => JSON.stringify(contexts)))
  console.log(`${steps} steps each; read back: ${[...readBack].join(' DIFFERS FROM ')}`)
}
