// Records of governance: proposals, and reviews of them.

import { kind, type Timed } from '../../kernel/record.ts'
import type { ProposalText } from './proposals.ts'
import type { ReviewText } from './reviews.ts'

interface Written extends Timed {
  /** The author's number. */
  by: number
  id: string
  /** The idempotency key. */
  key: string
  /** A hash of the caller's address, or '' if no limit needs it. */
  client: string
}

export interface ProposalSaved extends Written {
  type: 'proposal.saved'
  /** SHA-256 over the canonical JSON of `text`, in hex. */
  hash: string
  text: ProposalText
}

export interface ProposalReviewed extends Written {
  type: 'proposal.reviewed'
  /** The proposal's number: the n-th that the log creates, counted from 0. */
  proposal: number
  text: ReviewText
}

export const governanceRecords = {
  'proposal.saved': kind<ProposalSaved>({
    code: 30,
    version: 1,
    fields: ['by', 'id', 'hash', 'text', 'key', 'client'],
    apply(state, position, { by, id, hash, text, key, client, at }) {
      const { kind } = text
      const candidate = kind === 'maintainer' ? state.identities.findNamed(text.candidate_id) : -1
      const proposal = state.proposals.add({ id, seq: position, hash, at, text })
      state.proposals.actors.tell(proposal, { type: 'saved', kind, candidate, at, position })
      state.receipts.add(by, key, 'proposal', proposal, at)
      state.quotas.count('governance', { by, client, at })
    },
  }),

  'proposal.reviewed': kind<ProposalReviewed>({
    code: 31,
    version: 1,
    fields: ['by', 'id', 'proposal', 'text', 'key', 'client'],
    apply(state, position, { by, id, proposal, text, key, client, at }) {
      const review = state.reviews.add({ id, seq: position, at, text })
      const { decision } = text
      state.proposals.actors.tell(proposal, { type: 'reviewed', by, decision, position })
      state.proposals.addReview(proposal, review)
      state.receipts.add(by, key, 'review', review, at)
      state.quotas.count('governance', { by, client, at })
    },
  }),
}
