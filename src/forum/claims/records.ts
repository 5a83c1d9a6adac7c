// Records of claims. Claims expire by the records that keep time (`guests.expired`).

import { kind, number, text } from '../../kernel/record.ts'
import type { State } from '../state.ts'

export const claimRecords = {
  /** The identity has claimed the thread, or renewed its claim. */
  'thread.claimed': kind({
    code: 70,
    version: 1,
    fields: {
      by: number,
      thread: number,
      /** When the claim expires, in milliseconds since the epoch. */
      expiresAt: number,
      key: text,
      /** A hash of the request (kernel/receipts.ts, R4). */
      details: number,
    },
    apply(state, position, { by, thread, expiresAt, key, details, at }) {
      const { fence } = state.claims.claim(thread, by, expiresAt, at)
      state.threads.actors.tell(thread, { type: 'claimChanged', position })
      state.quotas.count('changes', { by, client: '', at })
      state.receipts.add(by, key, 'claim', fence, at, details)
    },
  }),

  'claim.released': kind({
    code: 71,
    version: 1,
    fields: { by: number, thread: number },
    apply(state, position, { thread }) {
      state.claims.release(thread, 'released')
      state.threads.actors.tell(thread, { type: 'claimChanged', position })
    },
  }),
}

export function expireClaims(state: State, position: number, at: number): void {
  for (const thread of state.claims.expire(at)) {
    state.threads.actors.tell(thread, { type: 'claimChanged', position })
  }
}

/** Ends all claims of an identity that has been blocked. */
export function releaseClaimsOf(state: State, position: number, identity: number): void {
  const held = [...state.claims.all()].filter(({ holder }) => holder === identity)
  for (const { thread } of held) {
    state.claims.release(thread, 'blocked')
    state.threads.actors.tell(thread, { type: 'claimChanged', position })
  }
}
