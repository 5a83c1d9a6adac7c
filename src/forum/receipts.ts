// What an idempotency key was used for, by its receipt.

import type { ReceiptOperation } from '../kernel/receipts.ts'
import type { Rejection } from '../kernel/rejection.ts'
import type { State } from './state.ts'

const positionOf: Record<ReceiptOperation, (state: State, subject: number) => number> = {
  thread: ({ messages }, message) => messages.seq(message),
  reply: ({ messages }, message) => messages.seq(message),
  // The webhook may have been removed. The newest record is at least as new as any registration.
  webhook: ({ position }) => position,
  proposal: ({ proposals }, proposal) => proposals.seq(proposal),
  review: ({ reviews }, review) => reviews.seq(review),
  // The claim may have ended.
  claim: ({ position }) => position,
}

/** Returns the position of the record that the receipt's key was used for. */
export function usedAt(state: State, receipt: number): number {
  return positionOf[state.receipts.operation(receipt)](state, state.receipts.subject(receipt))
}

/** Returns what the key made before, or a conflict unless the request is the same. */
export function replayOf<Made extends object>(
  state: State,
  receipt: number,
  isSame: boolean,
  made: Made,
): (Made & { position: number; replayed: true }) | Rejection {
  const position = usedAt(state, receipt)
  return isSame
    ? { ...made, position, replayed: true }
    : { rejected: 'idempotency_conflict', position }
}
