// Finds the record that an idempotency key was used for by its receipt.

import type { ReceiptOperation } from '../state/receipts.ts'
import type { State } from '../state/state.ts'

const positionOf: Record<ReceiptOperation, (state: State, subject: number) => number> = {
  thread: ({ messages }, message) => messages.seq(message),
  reply: ({ messages }, message) => messages.seq(message),
  // The webhook may have been removed; no registration is newer than the newest record.
  webhook: ({ position }) => position,
  proposal: ({ proposals }, proposal) => proposals.seq(proposal),
  review: ({ reviews }, review) => reviews.seq(review),
}

/** The position of the record that the key was used for. */
export function usedAt(state: State, receipt: number): number {
  return positionOf[state.receipts.operation(receipt)](state, state.receipts.subject(receipt))
}
