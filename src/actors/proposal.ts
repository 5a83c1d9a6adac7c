// A proposal: saved once, reviewed by anyone, changed and executed by nobody.
//
//            ┌──saved [code]───────▶ code
//   absent ──┼──saved [policy]─────▶ policy         each: reviewed [isHeard] ──▶ itself, counted
//            └──saved [maintainer]─▶ maintainer
//
// P1. A proposal's kind and candidate never change: what was reviewed is what was saved.
// P2. `accept` is heard from the candidate of a maintainer proposal and from nobody else.
// P3. lastPosition is that of the newest review, or of the proposal while it has none.

import { assertEvent, assign, setup } from 'xstate'

import type { Layout } from './actor-table.ts'

export const proposalKinds = ['code', 'policy', 'maintainer'] as const
export type ProposalKind = (typeof proposalKinds)[number]

export const decisions = ['approve', 'request_changes', 'comment', 'endorse', 'accept'] as const
export type Decision = (typeof decisions)[number]

/** Times in milliseconds since the epoch; `candidate` is the number of an identity, -1: none. */
export type ProposalContext = {
  candidate: number
  createdAt: number
  reviewCount: number
  firstPosition: number
  lastPosition: number
}

export type ProposalEvent =
  | { type: 'saved'; kind: ProposalKind; candidate: number; at: number; position: number }
  | { type: 'reviewed'; by: number; decision: Decision; position: number }

export const proposalLayout: Layout<ProposalContext> = {
  candidate: 'f64',
  createdAt: 'f64',
  reviewCount: 'u32',
  firstPosition: 'f64',
  lastPosition: 'f64',
}

/** Whether a proposal with this candidate hears such a review. */
export function isHeard(candidate: number, review: { by: number; decision: Decision }): boolean {
  return review.decision !== 'accept' || review.by === candidate
}

export const proposalMachine = setup({
  types: { context: {} as ProposalContext, events: {} as ProposalEvent },
  guards: {
    isCode: ({ event }) => event.type === 'saved' && event.kind === 'code',
    isPolicy: ({ event }) => event.type === 'saved' && event.kind === 'policy',
    isMaintainer: ({ event }) => event.type === 'saved' && event.kind === 'maintainer',
    isHeard: ({ context, event }) => event.type === 'reviewed' && isHeard(context.candidate, event),
  },
  actions: {
    save: assign(({ event }) => {
      assertEvent(event, 'saved')
      const { candidate, at, position } = event
      return {
        candidate,
        createdAt: at,
        reviewCount: 0,
        firstPosition: position,
        lastPosition: position,
      }
    }),
    count: assign({
      reviewCount: ({ context }) => context.reviewCount + 1,
      lastPosition: ({ event }) => event.position,
    }),
  },
}).createMachine({
  id: 'proposal',
  description: 'A proposal never changes; its reviews are counted, and none of them does anything.',
  context: { candidate: -1, createdAt: 0, reviewCount: 0, firstPosition: 0, lastPosition: 0 },
  initial: 'absent',
  states: {
    absent: {
      on: {
        saved: [
          { guard: 'isCode', target: 'code', actions: 'save' },
          { guard: 'isPolicy', target: 'policy', actions: 'save' },
          { guard: 'isMaintainer', target: 'maintainer', actions: 'save' },
        ],
      },
    },
    code: { on: { reviewed: { guard: 'isHeard', actions: 'count' } } },
    policy: { on: { reviewed: { guard: 'isHeard', actions: 'count' } } },
    maintainer: { on: { reviewed: { guard: 'isHeard', actions: 'count' } } },
  },
})
