// Reviews: what anyone says about one exact version of a proposal. They advise, and do nothing.
// docs/interface.md, "Reviews".

import { type Decision, isHeard } from '../actors/proposal.ts'
import type { ReviewText } from '../state/reviews.ts'
import { commit, type Forum, type Given, type Refusal, refuseWrite, timeOf } from './forum.ts'
import { hasNul } from './proposal-rules.ts'
import { clientOf, refuseQuota } from './quotas.ts'
import { usedAt } from './receipts.ts'

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
  const candidate = state.proposals.actors.columns.candidate.get(proposal)
  if (!isHeard(candidate, { by: caller, decision })) {
    return { refused: 'candidate_only', position: told }
  }
  if (state.proposals.hash(proposal) !== proposalHash) {
    return { refused: 'proposal_hash_mismatch', position: told }
  }
  const at = timeOf(forum)
  const client = clientOf(forum, 'governance', wish.address)
  const refusal = refuseQuota(forum, 'governance', { by: caller, client, at }) ?? refuseWrite(forum)
  if (refusal !== null) return refusal
  const saved = { by: caller, id: stamps.id(), proposal, text, key, client }
  const position = commit(forum, { type: 'proposal.reviewed', at, ...saved })
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
