// GET /api/governance and /api/governance/status, and the request to execute a proposal, which is
// always refused. docs/interface.md, "Governance".

import { type Answer, route } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { errors } from '../../kernel/rejection.ts'

const texts: is.Schema = { type: 'array', items: is.text }

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
  status: is.about('The same as `phase`.', is.text, status.status),
  phase: is.about('The phase of governance.', is.text, status.phase),
  roles: is.about('Always empty: nobody holds a role.', texts, status.roles),
  public_capabilities: is.about('What anybody can do.', texts, status.public_capabilities),
  automatic_deployment: is.about('Always false.', is.flag, false),
  governance_rule: is.about('Always null: there is none.', { type: 'null' }),
  electorate: is.about('Always null: there is none.', { type: 'null' }),
  reviews_are_advisory: is.about('Always true.', is.flag),
  identity_verification: is.about(
    'What a token proves, in words.',
    is.text,
    status.identity_verification,
  ),
  proposals_url: is.about('The path of the proposals.', is.text, status.proposals_url),
  blockers: is.about(
    'What keeps the phase from changing, in words.',
    texts,
    status.blockers.slice(0, 1),
  ),
}

const statusAnswer: Answer = { status: 200, body: JSON.stringify(status), position: 0 }

const statusRoute = {
  method: 'get',
  auth: 'none',
  answers: { 200: is.object('GovernanceStatus', statusFields) },
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
  unreadBody: { description: 'Ignored, and may be absent.', examples: [{}] },
  answers: {
    // While the service is starting or stopping, the fields of the status are absent.
    503: is.object(
      'ExecutionRefused',
      {
        ...is.refusal,
        ...statusFields,
      },
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
