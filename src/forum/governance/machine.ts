// A proposal: saved once, reviewed by anyone, never changed and never executed.
//
//   absent ──saved──▶ saved ──reviewed [mayReview]──▶ saved
//
// P1. A proposal's kind and candidate never change, so a review always refers to one fixed text.
// P2. Only the candidate of a maintainer proposal can review it with the decision `accept`.
// P3. newestPosition is the position of the newest review or, while there is none, of the proposal.
//
// `kind` is an index into `proposalKinds`; times are in milliseconds since the epoch; `candidate`
// is the number of an identity, or -1.

import { assertEvent, assign, setup } from 'xstate'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'

/** Stored on disk as indexes: append new kinds at the end. */
export const proposalKinds = ['code', 'policy', 'maintainer'] as const
export type ProposalKind = (typeof proposalKinds)[number]

export const decisions = ['approve', 'request_changes', 'comment', 'endorse', 'accept'] as const
export type Decision = (typeof decisions)[number]

const layout = {
  kind: 'u8',
  candidate: 'f64',
  createdAt: 'f64',
  reviewCount: 'u32',
  firstPosition: 'f64',
  newestPosition: 'f64',
} as const

const events = {
  saved: { kind: proposalKinds, candidate: 'f64', at: 'f64', position: 'f64' },
  reviewed: { by: 'u32', decision: decisions, position: 'f64' },
} as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: {
    mayReview: ({ context, event }) =>
      event.type === 'reviewed' && (event.decision !== 'accept' || event.by === context.candidate),
  },
  actions: {
    save: assign(({ event }) => {
      assertEvent(event, 'saved')
      const { candidate, at, position } = event
      return {
        kind: proposalKinds.indexOf(event.kind),
        candidate,
        createdAt: at,
        reviewCount: 0,
        firstPosition: position,
        newestPosition: position,
      }
    }),
    count: assign({
      reviewCount: ({ context }) => context.reviewCount + 1,
      newestPosition: ({ event }) => event.position,
    }),
  },
}).createMachine({
  id: 'proposal',
  description:
    'A proposal never changes; its reviews are counted, and none of them has any effect.',
  context: { ...blank(layout), candidate: -1 },
  initial: 'absent',
  states: {
    absent: { on: { saved: { target: 'saved', actions: 'save' } } },
    saved: { on: { reviewed: { guard: 'mayReview', actions: 'count' } } },
  },
})

export const proposal = actor({
  machine,
  codes: { absent: 0, saved: 1 },
  layout,
  events,
})
