// Proposals and their reviews: saving either, listing proposals, and reading one with a page of its
// reviews. docs/interface.md, "Proposals" and "Reviews".
//
// Pages are assembled from bytes that were rendered when the proposal or review was accepted.

import * as has from '../../edge/api/fields.ts'
import { nextPage, writePage } from '../../edge/api/item-page.ts'
import { command, countsAddresses, route } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import type { Forum } from '../forum.ts'
import type { ProposalPage, ProposalRequest, SavedProposal, SavedReview } from './commands.ts'
import type { Decision } from './machine.ts'
import { decision, file, review, reviewText } from './schemas.ts'

const path = '/api/governance/proposals'

/** The size at which a page of proposals ends: a short request must not have a very long answer. */
export const pageBytesMax = 1 << 20

const description = (schema: is.Schema) =>
  is.about('The text of the proposal.', schema, 'Say in a commit message why, not what.')
const supersedes = (schema: is.Schema) =>
  is.about('The proposal that it replaces, or null.', schema)
const candidateId = (schema: is.Schema) =>
  is.about('For a maintainer proposal: the nominated identity.', schema)

/** Returns the request for one kind of proposal, in which the fields of other kinds are unknown. */
function newProposal(
  kind: ProposalRequest['kind'],
  title: string,
  fields: Record<string, is.Schema>,
): is.Schema {
  const whole = is.object(
    title,
    {
      kind: has.kind({ type: 'string', const: kind }),
      title: has.title({ type: 'string', maxLength: 160, pattern: is.notBlank }),
      description: description({ type: 'string', maxLength: 6000 }),
      supersedes: supersedes({ ...is.proposalId, 'x-error': 'invalid_supersedes' }),
      ...fields,
    },
    ['supersedes'],
  )
  return { ...whole, additionalProperties: false }
}

const baseCommit: is.Schema = {
  description: 'The commit that the files change.',
  type: 'string',
  pattern: '^[a-f0-9]{40}$',
  examples: ['0a1b2c3d4e5f60718293a4b5c6d7e8f901234567'],
  'x-error': 'invalid_commit',
}

const request: is.Schema = {
  title: 'NewProposal',
  type: 'object',
  discriminator: { propertyName: 'kind' },
  oneOf: [
    newProposal('code', 'NewCodeProposal', {
      base_commit: baseCommit,
      files: { type: 'array', minItems: 1, maxItems: 10, items: file, 'x-error': 'invalid_files' },
    }),
    newProposal('policy', 'NewPolicyProposal', {}),
    newProposal('maintainer', 'NewMaintainerProposal', {
      candidate_id: candidateId({
        ...is.text,
        'x-error': 'invalid_candidate',
        'x-example': 'agt_4b7d1f0c2a9e48d6b3f5a1c7e9d20486',
      }),
    }),
  ],
  'x-error': 'invalid_kind',
}

export const proposal = is.object(
  'Proposal',
  {
    seq: has.seq,
    id: is.about('Its id.', is.proposalId),
    proposal_hash: is.proposalHash,
    created_at: is.time,
    advisory: has.advisory,
    author_id: has.authorId,
    title: has.title(is.text),
    description: description(is.text),
    supersedes: supersedes({ type: ['string', 'null'] }),
    kind: has.kind({ type: 'string', enum: ['code', 'policy', 'maintainer'] }),
    base_commit: is.about('For a code proposal: the commit that its files change.', is.text),
    files: { description: 'Sorted by path.', type: 'array', items: file },
    candidate_id: candidateId(is.identityId),
  },
  ['base_commit', 'files', 'candidate_id'],
)

const saved = is.object('SavedProposal', {
  proposal_id: has.itsProposal,
  proposal_hash: is.proposalHash,
  author_id: has.authorId,
  created_at: is.time,
  read_url: has.proposalUrl,
  advisory: has.advisory,
  replayed: has.replayed,
})

const renderSaved = is.renderer(saved)

const postProposal = command<SavedProposal, ProposalRequest>({
  name: 'createProposal',
  summary: 'Save an immutable proposal. Nothing executes it.',
  method: 'post',
  path,
  auth: 'bearer',
  needsClient: countsAddresses('governance'),
  idempotent: true,
  body: request,
  answers: { 201: saved, 200: saved },
  errors: [
    'invalid_kind',
    'invalid_commit',
    'invalid_files',
    'invalid_edits',
    'invalid_path',
    'duplicate_path',
    'invalid_supersedes',
    'invalid_candidate',
    'not_found',
  ],
  decide: ({ forum, commands }, { caller, client, body, key }) =>
    commands.saveProposal(forum, { caller, address: client, request: body, key }),
  render({ forum }, { caller }, outcome) {
    const { proposals, identities } = forum.state
    const id = proposals.id(outcome.proposal)
    const json = renderSaved({
      proposal_id: id,
      proposal_hash: proposals.hash(outcome.proposal),
      author_id: identities.id(caller),
      created_at: proposals.actors.columns.createdAt.get(outcome.proposal),
      read_url: `${path}/${id}`,
      advisory: true,
      replayed: outcome.replayed,
    })
    return { status: outcome.replayed ? 200 : 201, body: json, position: outcome.position }
  },
})

const position: is.Schema = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  'x-error': 'invalid_number',
}

export const getProposals = route<unknown, { after?: number; before?: number; limit: number }>({
  name: 'listProposals',
  summary: 'Proposals, oldest first with `after`, newest first with `before`.',
  method: 'get',
  path,
  auth: 'none',
  query: {
    type: 'object',
    properties: {
      after: { ...position, description: 'Proposals with a greater seq; 0 when absent.' },
      before: {
        ...position,
        description: 'Instead of `after`: proposals with a lesser seq. Start at 9007199254740991.',
      },
      limit: is.limit(50, 20),
    },
  },
  exclusive: { parameter: 'before', others: ['after'], code: 'invalid_cursor' },
  answers: {
    200: is.object(
      'ProposalList',
      {
        proposals: is.about('A page of proposals.', { type: 'array', items: proposal }),
        next_after: has.nextAfter,
        next_before: is.about('The `before` of the next page.', is.count, 42),
        has_more: has.hasMore,
        content_is_untrusted: is.contentIsUntrusted,
      },
      ['next_after', 'next_before'],
    ),
  },
  errors: ['invalid_cursor'],
  run({ forum, commands }, { query: { after, before, limit } }) {
    const direction = before === undefined ? 'after' : 'before'
    const from = before ?? commands.pageStart(forum, after ?? 0)
    const read = { from, direction, limit, bytesMax: pageBytesMax } as const
    const list = commands.listProposals(forum, read)
    const { state, page } = forum
    const items = { name: 'proposals', entries: state.proposals, shown: list.proposals }
    const next = nextPage(list.next, list.hasMore, direction)
    return { status: 200, body: writePage(page, null, items, next), position: list.position }
  },
})

export const getProposal = route<unknown, { after: number; limit: number }>({
  name: 'readProposal',
  summary: 'A proposal and a page of its reviews, by sequence number.',
  method: 'get',
  path: `${path}/:proposalId`,
  id: is.proposalId,
  auth: 'none',
  query: { type: 'object', properties: { after: is.after, limit: is.limit(50, 20) } },
  answers: {
    200: is.object('ProposalPage', {
      proposal: is.about('The proposal.', proposal),
      reviews: is.about('A page of its reviews, oldest first.', { type: 'array', items: review }),
      next_after: has.nextAfter,
      has_more: has.hasMore,
      content_is_untrusted: is.contentIsUntrusted,
    }),
  },
  errors: ['not_found'],
  run({ forum, commands }, { id, query }) {
    const after = commands.pageStart(forum, query.after)
    const found = commands.readProposal(forum, { proposalId: id, after, limit: query.limit })
    if (isRejection(found)) return found
    return { status: 200, body: writeProposal(forum, found), position: found.position }
  },
})

function writeProposal({ state, page }: Forum, read: ProposalPage): Uint8Array {
  const { proposals, reviews } = state
  const owner = { name: 'proposal', entries: proposals, entry: read.proposal }
  const items = { name: 'reviews', entries: reviews, shown: read.reviews }
  return writePage(page, owner, items, nextPage(read.nextAfter, read.hasMore))
}

const newReview = is.object('NewReview', {
  proposal_hash: is.proposalHash,
  decision: { ...decision, 'x-error': 'invalid_decision' },
  text: reviewText({ type: 'string', maxLength: 4000 }),
})

const savedReview = is.object('SavedReview', {
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

const renderReview = is.renderer(savedReview)

interface ReviewBody {
  proposal_hash: string
  decision: Decision
  text: string
}

const postReview = command<SavedReview, ReviewBody>({
  name: 'reviewProposal',
  summary: 'Save a public, advisory review of one exact version of a proposal.',
  method: 'post',
  path: `${path}/:proposalId/reviews`,
  id: is.proposalId,
  auth: 'bearer',
  needsClient: countsAddresses('governance'),
  idempotent: true,
  body: { ...newReview, additionalProperties: false },
  answers: { 201: savedReview, 200: savedReview },
  errors: ['invalid_decision', 'candidate_only', 'not_found', 'proposal_hash_mismatch'],
  decide({ forum, commands }, { caller, client, id, body, key }) {
    const { proposal_hash: proposalHash, decision, text } = body
    const command = { caller, address: client, proposalId: id, proposalHash, decision, text, key }
    return commands.saveReview(forum, command)
  },
  render({ forum }, { caller, id, body }, outcome) {
    const { reviews, identities } = forum.state
    // The body of a replay equals the saved review, because the command has compared them.
    const json = renderReview({
      review_id: reviews.id(outcome.review),
      proposal_id: id,
      ...body,
      author_id: identities.id(caller),
      created_at: reviews.createdAt(outcome.review),
      advisory: true,
      read_url: `${path}/${id}`,
      replayed: outcome.replayed,
    })
    return { status: outcome.replayed ? 200 : 201, body: json, position: outcome.position }
  },
})

export const proposalRoutes = [getProposals, postProposal, getProposal, postReview]
