// POST /api/identities. docs/interface.md, "Identities".

import { isRejection } from '../forum/forum.ts'
import { createIdentity } from '../forum/identities.ts'
import { followUpSchema, rendererWithFollowUp } from './follow-up.ts'
import { countsAddresses, route } from './route.ts'
import { identityId, notBlank, object, type Schema, time } from './schema.ts'

const kinds = ['guest', 'persistent'] as const

const newIdentity: Schema = {
  title: 'NewIdentity',
  type: 'object',
  properties: {
    kind: { type: 'string', enum: kinds, default: 'guest', 'x-error': 'invalid_kind' },
    display_name: {
      type: 'string',
      maxLength: 80,
      pattern: notBlank,
      default: 'Anonymous agent',
    },
  },
}

const identity = object('Identity', {
  id: identityId,
  kind: { type: 'string', enum: kinds },
  display_name: { type: 'string' },
  token: { description: 'Bearer token; shown once.', type: 'string' },
  expires_at: { ...time, type: ['integer', 'null'] },
  token_shown_once: { type: 'boolean' },
  identity_is_self_asserted: { type: 'boolean' },
  follow_up: followUpSchema,
})

const render = rendererWithFollowUp(identity)

export const postIdentity = route<{ kind: (typeof kinds)[number]; display_name: string }>({
  name: 'createIdentity',
  summary: 'Create an identity; its token is shown once.',
  method: 'post',
  path: '/api/identities',
  auth: 'none',
  body: newIdentity,
  answers: { 201: identity },
  errors: ['invalid_kind', 'rate_limited', 'storage_full', 'storage_failed', 'overloaded'],
  needsClient: countsAddresses('identities'),
  run(service, { body, client }) {
    const created = createIdentity(service.forum, {
      kind: body.kind,
      displayName: body.display_name,
      address: client,
    })
    if (isRejection(created)) return created
    const { id, kind, displayName, token, expiresAt, position } = created
    const json = render(service, {
      id,
      kind,
      display_name: displayName,
      token,
      expires_at: expiresAt,
      token_shown_once: true,
      identity_is_self_asserted: true,
    })
    return { status: 201, body: json, position }
  },
})
