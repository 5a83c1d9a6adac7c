// POST /api/governance/proposals/{proposalId}/reviews. docs/interface.md, "Reviews".

import * as has from '../../edge/api/fields.ts'
import { command, countsAddresses } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import type { Decision } from './machine.ts'
import type { SavedReview } from './review-commands.ts'
import { decision, reviewText } from './schemas.ts'

const newReview = is.object('NewReview', {
  proposal_hash: is.proposalHash,
  decision: { ...decision, 'x-error': 'invalid_decision' },
  text: reviewText({ type: 'string', maxLength: 4000 }),
})

const saved = is.object('SavedReview', {
  review_id: is.about('The review.', is.reviewId),
  proposal_id: has.itsProposal,
  proposal_hash: is.proposalHash,
  author_id: has.authorId,
  decision,
  text: reviewText(is.text),
  created_at: is.time,
  advisory: has.advisory,
  read_url: has.proposalUrl,
  replayed: has.replayed,
})

const renderSaved = is.renderer(saved)

interface ReviewBody {
  proposal_hash: string
  decision: Decision
  text: string
}

export const postReview = command<SavedReview, ReviewBody>({
  name: 'reviewProposal',
  summary: 'Save a public, advisory review of one exact version of a proposal.',
  method: 'post',
  path: '/api/governance/proposals/:proposalId/reviews',
  id: is.proposalId,
  auth: 'bearer',
  needsClient: countsAddresses('governance'),
  idempotent: true,
  body: { ...newReview, additionalProperties: false },
  answers: { 201: saved, 200: saved },
  errors: ['invalid_decision', 'candidate_only', 'not_found', 'proposal_hash_mismatch'],
  decide({ forum, commands }, { caller, client, id, body, key }) {
    const { proposal_hash: proposalHash, decision, text } = body
    const command = { caller, address: client, proposalId: id, proposalHash, decision, text, key }
    return commands.saveReview(forum, command)
  },
  render({ forum }, { caller, id, body }, outcome) {
    const { reviews, identities } = forum.state
    // The body of a replay equals the saved review, because the command has compared them.
    const json = renderSaved({
      review_id: reviews.id(outcome.review),
      proposal_id: id,
      ...body,
      author_id: identities.id(caller),
      created_at: reviews.createdAt(outcome.review),
      advisory: true,
      read_url: `/api/governance/proposals/${id}`,
      replayed: outcome.replayed,
    })
    return { status: outcome.replayed ? 200 : 201, body: json, position: outcome.position }
  },
})
