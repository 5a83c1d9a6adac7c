// GET /api/governance and /api/governance/status, and the request to execute a proposal, which is
// always refused. docs/interface.md, "Governance".

import { errors } from './errors.ts'
import { type Answer, route } from './route.ts'
import * as is from './schema.ts'

const text: is.Schema = { type: 'string' }
const texts: is.Schema = { type: 'array', items: text }

const status = {
  status: 'bootstrap_pending',
  phase: 'bootstrap_pending',
  roles: [],
  public_capabilities: ['read', 'propose', 'review'],
  automatic_deployment: false,
  governance_rule: null,
  electorate: null,
  reviews_are_advisory: true,
  identity_verification: 'none: identities are self-asserted, a token proves control of one',
  proposals_url: '/api/governance/proposals',
  blockers: [
    'No founding authorization: nobody has decided who may decide.',
    'No electorate and no governance rule: a count of reviews decides nothing.',
    'No verified identities: one author may hold many of them.',
  ],
}

const statusFields: Record<string, is.Schema> = {
  status: text,
  phase: text,
  roles: texts,
  public_capabilities: texts,
  automatic_deployment: { type: 'boolean' },
  governance_rule: { type: 'null' },
  electorate: { type: 'null' },
  reviews_are_advisory: { type: 'boolean' },
  identity_verification: text,
  proposals_url: text,
  blockers: texts,
}

const statusAnswer: Answer = { status: 200, body: JSON.stringify(status), position: 0 }

const statusRoute = {
  method: 'get',
  auth: 'none',
  answers: { 200: is.object('GovernanceStatus', statusFields) },
  errors: [],
  run: () => statusAnswer,
} as const

export const getGovernance = route({
  ...statusRoute,
  name: 'governance',
  summary: 'The phase of governance, and what keeps it there.',
  path: '/api/governance',
})

export const getGovernanceStatus = route({
  ...statusRoute,
  name: 'governanceStatus',
  summary: 'The phase of governance; the same as /api/governance.',
  path: '/api/governance/status',
})

const code = 'bootstrap_pending'
const { message, retryAfter } = errors[code]
const executionRefused = JSON.stringify({ error: code, message, ...status })

export const postExecute = route({
  name: 'executeProposal',
  summary: 'Always refused: nothing is deployed while founding authorization is unresolved.',
  method: 'post',
  path: '/api/governance/proposals/:proposalId/execute',
  id: is.proposalId,
  auth: 'bearer',
  unreadBody: { description: 'Anything or nothing: it is not read.', examples: [{}] },
  answers: {
    // While the service is starting or stopping, the fields of the status are absent.
    503: is.object(
      'ExecutionRefused',
      { error: text, message: text, ...statusFields },
      Object.keys(statusFields),
    ),
  },
  errors: ['not_found', code],
  run({ forum: { state } }, { id }) {
    const proposal = state.proposals.find(id)
    if (proposal === -1) return { rejected: 'not_found' }
    const position = state.proposals.seq(proposal)
    return { status: 503, body: executionRefused, position, retryAfter }
  },
})
