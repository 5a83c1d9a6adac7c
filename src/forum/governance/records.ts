// Records of governance: proposals, and reviews of them.

import { field, kind, number, text } from '../../kernel/record.ts'
import type { State } from '../state.ts'
import type { ProposalEntry, ProposalText, ReviewEntry, ReviewText } from './table.ts'

export const governanceRecords = {
  'proposal.saved': kind({
    code: 30,
    version: 1,
    fields: {
      by: number,
      id: text,
      /** SHA-256 over the canonical JSON of `text`, in hex. */
      hash: text,
      text: field<ProposalText>(),
      key: text,
      client: text,
    },
    apply(state, position, record) {
      const { by, key, client, at } = record
      const proposal = addProposal(state, { ...record, seq: position })
      state.receipts.add(by, key, 'proposal', proposal, at)
      state.quotas.count('governance', { by, client, at })
    },
  }),

  'proposal.reviewed': kind({
    code: 31,
    version: 1,
    fields: {
      by: number,
      id: text,
      /** The proposal's number: the n-th that the log creates, counted from 0. */
      proposal: number,
      text: field<ReviewText>(),
      key: text,
      client: text,
    },
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
