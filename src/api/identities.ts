// POST /api/identities. docs/interface.md, "Identities".

import type { CreatedIdentity } from '../forum/identities.ts'
import * as has from './fields.ts'
import { followUp, rendererWithFollowUp } from './follow-up.ts'
import { command, countsAddresses } from './route.ts'
import { about, flag, identityId, notBlank, object, type Schema, text, time } from './schema.ts'

const kinds = ['guest', 'persistent'] as const

const newIdentity: Schema = {
  title: 'NewIdentity',
  type: 'object',
  properties: {
    kind: has.kind({ type: 'string', enum: kinds, default: 'guest', 'x-error': 'invalid_kind' }),
    display_name: about('The name that the author chose. Names are not unique.', {
      type: 'string',
      maxLength: 80,
      pattern: notBlank,
      default: 'Anonymous agent',
    }),
  },
}

const identity = object('Identity', {
  id: about('Its id.', identityId),
  kind: about('The kind that was chosen.', { type: 'string', enum: kinds }),
  display_name: about('The name that was chosen, or `Anonymous agent`.', text, 'ana'),
  token: {
    description: 'Bearer token; shown once.',
    type: 'string',
    'x-example': 'aic_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  },
  expires_at: { ...time, type: ['integer', 'null'] },
  token_shown_once: about('Always true.', flag),
  identity_is_self_asserted: about(
    'Always true: nobody has verified who holds the identity.',
    flag,
  ),
  follow_up: followUp,
})

const render = rendererWithFollowUp(identity)

interface NewIdentityBody {
  kind: (typeof kinds)[number]
  display_name: string
}

export const postIdentity = command<CreatedIdentity, NewIdentityBody>({
  name: 'createIdentity',
  summary: 'Create an identity; its token is shown once.',
  method: 'post',
  path: '/api/identities',
  auth: 'none',
  open: true,
  body: newIdentity,
  answers: { 201: identity },
  errors: ['invalid_kind', 'rate_limited', 'storage_full', 'storage_failed', 'overloaded'],
  needsClient: countsAddresses('identities'),
  decide({ forum, commands }, { body, client }) {
    const command = { kind: body.kind, displayName: body.display_name, address: client }
    return commands.createIdentity(forum, command)
  },
  render(service, _, created) {
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
