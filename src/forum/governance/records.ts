// Records of governance: proposals, and reviews of them.

import { kind, type Timed } from '../../kernel/record.ts'
import type { State } from '../state.ts'
import type { ProposalEntry, ProposalText, ReviewEntry, ReviewText } from './table.ts'

interface Written extends Timed {
  /** The author's number. */
  by: number
  id: string
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
    fields: { by: true, id: true, hash: true, text: true, key: true, client: true },
    apply(state, position, record) {
      const { by, key, client, at } = record
      const proposal = addProposal(state, { ...record, seq: position })
      state.receipts.add(by, key, 'proposal', proposal, at)
      state.quotas.count('governance', { by, client, at })
    },
  }),

  'proposal.reviewed': kind<ProposalReviewed>({
    code: 31,
    version: 1,
    fields: { by: true, id: true, proposal: true, text: true, key: true, client: true },
    apply(state, position, record) {
      const { by, key, client, at } = record
      const review = addReview(state, { ...record, seq: position })
      state.receipts.add(by, key, 'review', review, at)
      state.quotas.count('governance', { by, client, at })
    },
  }),
}

/** Adds a proposal; returns its number. */
export function addProposal(state: State, { id, seq, hash, at, text }: ProposalEntry): number {
  const { kind } = text
  const candidate = kind === 'maintainer' ? state.identities.findNamed(text.candidate_id) : -1
  const proposal = state.proposals.add({ id, seq, hash, at, text })
  const saved = { type: 'saved', kind, candidate, at, position: seq } as const
  state.proposals.actors.tell(proposal, saved)
  return proposal
}

interface NewReview extends ReviewEntry {
  by: number
  proposal: number
}

/** Adds a review of a proposal; returns its number. */
export function addReview(state: State, { by, id, proposal, seq, text, at }: NewReview): number {
  const review = state.reviews.add({ id, seq, at, text })
  const { decision } = text
  state.proposals.actors.tell(proposal, { type: 'reviewed', by, decision, position: seq })
  state.proposals.addReview(proposal, review)
  return review
}
