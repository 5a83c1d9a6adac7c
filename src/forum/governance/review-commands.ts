// Reviews: anyone's opinion on one exact version of a proposal. They are advisory only.
// docs/interface.md, "Reviews".

import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import { usedAt } from '../receipts.ts'
import { admit, commit } from '../write.ts'
import type { Decision } from './machine.ts'
import { rejectNul } from './proposal-rules.ts'
import type { ReviewText } from './reviews.ts'

export interface NewReview {
  caller: number
  /** The caller's address, or '' if no limit needs it. */
  address: string
  /** `gov_…` */
  proposalId: string
  /** The hash of the version that was reviewed. */
  proposalHash: string
  decision: Decision
  text: string
  key: string
}

/** The result of saving: the number of the review. */
export interface SavedReview extends Positioned {
  review: number
  replayed: boolean
}

export function saveReview(forum: Forum, command: NewReview): SavedReview | Rejection {
  const { state, stamps } = forum
  const { caller, proposalHash, decision, key } = command
  const refused = rejectNul([command.text])
  if (refused !== null) return refused
  const text = {
    proposal_id: command.proposalId,
    author_id: state.identities.id(caller),
    proposal_hash: proposalHash,
    decision,
    text: command.text,
  }
  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) return replayOf(forum, receipt, text)

  const proposal = state.proposals.find(command.proposalId)
  if (proposal === -1) return { rejected: 'not_found' }
  const proposalPosition = state.proposals.seq(proposal)
  const reviewed = { type: 'reviewed', by: caller, decision, position: 0 } as const
  if (!state.proposals.actors.may(proposal, reviewed)) {
    return { rejected: 'candidate_only', position: proposalPosition }
  }
  if (state.proposals.hash(proposal) !== proposalHash) {
    return { rejected: 'proposal_hash_mismatch', position: proposalPosition }
  }
  const permit = admit(forum, 'governance', command)
  if (isRejection(permit)) return permit
  const { at, client } = permit
  const saved = { by: caller, id: stamps.id(), proposal, text, key, client }
  const position = commit(forum, permit, { type: 'proposal.reviewed', at, ...saved })
  return { position, review: state.reviews.count - 1, replayed: false }
}

function replayOf({ state }: Forum, receipt: number, text: ReviewText): SavedReview | Rejection {
  const position = usedAt(state, receipt)
  const review = state.receipts.subject(receipt)
  const isSame =
    state.receipts.operation(receipt) === 'review' && state.reviews.hasText(review, text)
  return isSame
    ? { position, review, replayed: true }
    : { rejected: 'idempotency_conflict', position }
}
