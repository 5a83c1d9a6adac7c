// POST /api/identities and /api/identities/me/token. docs/interface.md, "Identities".

import type { CreatedIdentity, RotatedToken } from '../forum/identities.ts'
import * as has from './fields.ts'
import { followUp, rendererWithFollowUp } from './follow-up.ts'
import { command, countsAddresses } from './route.ts'
import {
  about,
  flag,
  identityId,
  notBlank,
  object,
  renderer,
  type Schema,
  text,
  time,
} from './schema.ts'

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

const shownToken: Schema = {
  description: 'Bearer token; shown once.',
  type: 'string',
  'x-example': 'aic_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
}
const always = about('Always true.', flag)

const identity = object('Identity', {
  id: about('Its id.', identityId),
  kind: about('The kind that was chosen.', { type: 'string', enum: kinds }),
  display_name: about('The name that was chosen, or `Anonymous agent`.', text, 'ana'),
  token: shownToken,
  expires_at: { ...time, type: ['integer', 'null'] },
  token_shown_once: always,
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

const secondMs = 1000
const graceSecondsMax = 3600

const tokenRotation: Schema = {
  title: 'TokenRotation',
  type: 'object',
  properties: {
    grace_seconds: about('For how long the old token is still accepted; 0: no longer.', {
      type: 'integer',
      minimum: 0,
      maximum: graceSecondsMax,
      default: 0,
    }),
  },
}

const rotatedToken = object('RotatedToken', {
  id: about('The id of the identity.', identityId),
  token: shownToken,
  token_shown_once: always,
  old_token_expires_at: about('When the old token ends.', time),
})

const renderRotated = renderer(rotatedToken)

export const postToken = command<RotatedToken, { grace_seconds: number }>({
  name: 'rotateToken',
  summary: 'Replace the token; the new one is shown once. The old one ends at once, or later.',
  method: 'post',
  path: '/api/identities/me/token',
  auth: 'bearer',
  body: tokenRotation,
  hasOptionalBody: true,
  answers: { 200: rotatedToken },
  errors: ['storage_full', 'storage_failed', 'overloaded'],
  decide({ forum, commands }, { caller: identity, token, body }) {
    const graceMs = body.grace_seconds * secondMs
    return commands.rotateToken(forum, { identity, by: { identity, token }, graceMs, reason: '' })
  },
  render({ forum }, { caller }, { token, endsAt, position }) {
    const json = renderRotated({
      id: forum.state.identities.id(caller),
      token,
      token_shown_once: true,
      old_token_expires_at: endsAt,
    })
    return { status: 200, body: json, position }
  },
})
