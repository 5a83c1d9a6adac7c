// Proposals and reviews in an archive (forum/archive.ts).

import {
  BadLine,
  hexOf,
  identityOf,
  newestIn,
  numberedKind,
  refuseOlder,
  refuseTwice,
  twice,
  unknown,
} from '../archive-line.ts'
import { hashProposal } from './commands.ts'
import type { Decision } from './machine.ts'
import { proposal as proposalFields } from './proposal-routes.ts'
import { addProposal, addReview } from './records.ts'
import { review as reviewFields } from './schemas.ts'
import type { ProposalText } from './table.ts'

type ProposalFields = ProposalText & {
  seq: number
  id: string
  proposal_hash: string
  created_at: number
  advisory: true
}

export const proposalLine = numberedKind<ProposalFields>({
  fields: proposalFields,
  count: ({ proposals }) => proposals.count,
  line({ state: { proposals }, entry }, number) {
    const text = entry(proposals.address(number), proposals.bytes(number))
    return `{"proposal":${text.slice(','.length)}}`
  },
  add({ state }, { seq, id, proposal_hash: hash, created_at: at, advisory: _, ...text }) {
    const { proposals } = state
    if (proposals.find(id) !== -1) throw twice(id)
    refuseOlder(seq, newestIn(proposals.actors.columns.firstPosition), state)
    identityOf(state, text.author_id)
    if (text.kind === 'maintainer') identityOf(state, text.candidate_id)
    if (hashProposal(text) !== hash) throw new BadLine('proposal_hash is that of another text')
    return addProposal(state, { id: hexOf(id), seq, hash, at, text })
  },
})

export const reviewLine = numberedKind<{
  seq: number
  id: string
  proposal_id: string
  author_id: string
  proposal_hash: string
  decision: Decision
  text: string
  created_at: number
}>({
  fields: reviewFields,
  count: ({ reviews }) => reviews.count,
  line({ state: { reviews }, entry }, number) {
    const text = entry(reviews.address(number), reviews.bytes(number))
    return `{"review":${text.slice(','.length)}}`
  },
  add(archived, { seq, id, created_at: at, ...fields }) {
    const { state } = archived
    const { proposal_id, author_id, proposal_hash, decision } = fields
    const text = { proposal_id, author_id, proposal_hash, decision, text: fields.text }
    const { proposals, reviews } = state
    const proposal = proposals.find(proposal_id)
    if (proposal === -1) throw unknown(proposal_id)
    const by = identityOf(state, author_id)
    refuseOlder(seq, reviews.count === 0 ? 0 : reviews.seq(reviews.count - 1), state)
    const reviewed = { type: 'reviewed', by, decision, position: seq } as const
    if (!proposals.actors.may(proposal, reviewed)) {
      throw new BadLine('only the candidate of a proposal accepts it')
    }
    refuseTwice(archived, id)
    return addReview(state, { by, id: hexOf(id), proposal, seq, at, text })
  },
})
