// Reviews: what anyone says about one exact version of a proposal. They advise, and do nothing.
// docs/interface.md, "Reviews".

import type { Decision } from '../actors/proposal.ts'
import type { ReviewText } from '../state/reviews.ts'
import { type Forum, type Given, isRefusal, type Refusal } from './forum.ts'
import { hasNul } from './proposal-rules.ts'
import { usedAt } from './receipts.ts'
import { admit, commit } from './write.ts'

export interface NewReview {
  caller: number
  /** The caller's address; '' where no limit needs it. */
  address: string
  /** `gov_…` */
  proposalId: string
  /** Of the version that was reviewed. */
  proposalHash: string
  decision: Decision
  text: string
  key: string
}

/** What was saved, by the number of the review. */
export interface SavedReview extends Given {
  review: number
  replayed: boolean
}

export function saveReview(forum: Forum, wish: NewReview): SavedReview | Refusal {
  const { state, stamps } = forum
  const { caller, proposalHash, decision, key } = wish
  if (hasNul(wish.text)) return { refused: 'invalid_field' }
  const text = {
    proposal_id: wish.proposalId,
    author_id: state.identities.id(caller),
    proposal_hash: proposalHash,
    decision,
    text: wish.text,
  }
  const receipt = state.receipts.find(caller, key)
  if (receipt !== -1) return replayOf(forum, receipt, text)

  const proposal = state.proposals.find(wish.proposalId)
  if (proposal === -1) return { refused: 'not_found' }
  const told = state.proposals.seq(proposal)
  const reviewed = { type: 'reviewed', by: caller, decision, position: 0 } as const
  if (!state.proposals.actors.may(proposal, reviewed)) {
    return { refused: 'candidate_only', position: told }
  }
  if (state.proposals.hash(proposal) !== proposalHash) {
    return { refused: 'proposal_hash_mismatch', position: told }
  }
  const permit = admit(forum, 'governance', wish)
  if (isRefusal(permit)) return permit
  const { at, client } = permit
  const saved = { by: caller, id: stamps.id(), proposal, text, key, client }
  const position = commit(forum, permit, { type: 'proposal.reviewed', at, ...saved })
  return { position, review: state.reviews.count - 1, replayed: false }
}

function replayOf({ state }: Forum, receipt: number, text: ReviewText): SavedReview | Refusal {
  const position = usedAt(state, receipt)
  const review = state.receipts.subject(receipt)
  const isSame = state.receipts.operation(receipt) === 'review' && state.reviews.says(review, text)
  return isSame
    ? { position, review, replayed: true }
    : { refused: 'idempotency_conflict', position }
}
