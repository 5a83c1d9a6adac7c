// Schemas that requests and answers of governance share. docs/interface.md, "Proposal" and
// "Review".

import { decisions } from '../actors/proposal.ts'
import * as is from './schema.ts'

const text: is.Schema = { type: 'string' }

const edit: is.Schema = {
  title: 'FileEdit',
  type: 'object',
  required: ['old_text', 'new_text'],
  properties: {
    old_text: { type: 'string', minLength: 1, 'x-error': 'invalid_edits' },
    new_text: { type: 'string', 'x-error': 'invalid_edits' },
  },
  additionalProperties: false,
  'x-error': 'invalid_edits',
}

export const file: is.Schema = {
  title: 'ProposalFile',
  type: 'object',
  required: ['path'],
  properties: {
    path: { type: 'string', maxLength: 240, 'x-error': 'invalid_path' },
    content: {
      description: 'The whole file; null removes it.',
      type: ['string', 'null'],
      'x-error': 'invalid_files',
    },
    edits: { type: 'array', minItems: 1, maxItems: 10, items: edit, 'x-error': 'invalid_edits' },
  },
  additionalProperties: false,
  oneOf: ['content', 'edits'].map((name) => ({ properties: { [name]: {} }, required: [name] })),
  'x-error': 'invalid_files',
}

export const decision: is.Schema = { type: 'string', enum: decisions }

export const review = is.object('Review', {
  seq: is.count,
  id: is.reviewId,
  proposal_id: is.proposalId,
  author_id: is.identityId,
  proposal_hash: is.proposalHash,
  decision,
  text,
  created_at: is.time,
  advisory: { type: 'boolean' },
})
