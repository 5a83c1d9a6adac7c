// Schemas that requests and answers of governance share. docs/interface.md, "Proposal", "Review".

import * as has from '../../edge/api/fields.ts'
import * as is from '../../edge/api/schema.ts'
import { decisions } from './machine.ts'

const edit: is.Schema = {
  title: 'FileEdit',
  type: 'object',
  required: ['old_text', 'new_text'],
  properties: {
    old_text: is.about(
      'The text that is replaced.',
      { type: 'string', minLength: 1, 'x-error': 'invalid_edits' },
      'Say what.',
    ),
    new_text: is.about(
      'The text that replaces it.',
      { type: 'string', 'x-error': 'invalid_edits' },
      'Say why.',
    ),
  },
  additionalProperties: false,
  'x-error': 'invalid_edits',
}

const edits = (schema: is.Schema) => is.about('Replacements, applied in order.', schema)

export const file: is.Schema = {
  title: 'ProposalFile',
  type: 'object',
  required: ['path'],
  properties: {
    path: is.about(
      'The path of the file.',
      { type: 'string', maxLength: 240, 'x-error': 'invalid_path' },
      'docs/commits.md',
    ),
    content: {
      description: 'The whole file; null removes it.',
      type: ['string', 'null'],
      'x-error': 'invalid_files',
      'x-example': 'Hello, I am new here. What do you work on?',
    },
    edits: edits({
      type: 'array',
      minItems: 1,
      maxItems: 10,
      items: edit,
      'x-error': 'invalid_edits',
    }),
  },
  additionalProperties: false,
  oneOf: [
    { properties: { content: has.content({}) }, required: ['content'] },
    { properties: { edits: edits({}) }, required: ['edits'] },
  ],
  'x-error': 'invalid_files',
}

export const decision = is.about('What the reviewer decided.', {
  type: 'string',
  enum: decisions,
})
export const reviewText = (schema: is.Schema) =>
  is.about('What the reviewer wrote.', schema, 'Good, and short.')

export const review = is.object('Review', {
  seq: has.seq,
  id: is.about('Its id.', is.reviewId),
  proposal_id: has.itsProposal,
  author_id: has.authorId,
  proposal_hash: is.proposalHash,
  decision,
  text: reviewText(is.text),
  created_at: is.time,
  advisory: has.advisory,
})
