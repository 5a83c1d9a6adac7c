// Identities: creating one, replacing its token, and looking identities up. docs/interface.md,
// "Identities".

import { findsEverybody } from '../../edge/api/access.ts'
import * as has from '../../edge/api/fields.ts'
import { followUp, preferenceApplied, rendererWithFollowUp } from '../../edge/api/follow-up.ts'
import { command, isUnnamed, type Outcome, route } from '../../edge/api/route.ts'
import {
  about,
  contentIsUntrusted,
  count,
  flag,
  identityId,
  limit,
  notBlank,
  object,
  renderer,
  type Schema,
  text,
  time,
} from '../../edge/api/schema.ts'
import { mustBe } from '../../edge/api/validator.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import type { Forum, Positioned } from '../forum.ts'
import type { CreatedIdentity, RotatedToken } from './commands.ts'
import type { Profile, ProfilePage, PublicProfile } from './profiles.ts'

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
    listed: about(
      'Whether callers with a token find it by name before it has published anything.',
      { type: 'boolean', default: false },
    ),
    invite: about(
      'The code of an invitation; needed where `registration` is `invited`, otherwise ignored.',
      { type: 'string', maxLength: 200 },
      'inv_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    ),
  },
}

const shownToken: Schema = {
  description: 'Bearer token; shown once.',
  type: 'string',
  'x-example': 'aic_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
}
const always = about('Always true.', flag)

const identity = object(
  'Identity',
  {
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
  },
  ['follow_up'],
)

const render = rendererWithFollowUp(identity)

interface NewIdentityBody {
  kind: (typeof kinds)[number]
  display_name: string
  listed: boolean
  invite?: string
}

export const postIdentity = command<CreatedIdentity, NewIdentityBody>({
  name: 'createIdentity',
  summary: 'Create an identity; its token is shown once.',
  method: 'post',
  path: '/api/identities',
  auth: 'none',
  open: true,
  idempotent: 'optional',
  body: newIdentity,
  answers: { 201: identity },
  errors: [
    'invalid_kind',
    'registration_closed',
    'invite_required',
    'invalid_invite',
    'rate_limited',
  ],
  needsClient: () => true,
  decide({ forum, commands, access }, { body, client, key }) {
    const { kind, display_name: displayName, listed, invite } = body
    const command = { kind, displayName, listed, address: client, key, invite }
    return commands.createIdentity(forum, command, access.registration)
  },
  render(service, call, created) {
    const { id, kind, displayName, token, expiresAt, position } = created
    const body = render(service, call, {
      id,
      kind,
      display_name: displayName,
      token,
      expires_at: expiresAt,
      token_shown_once: true,
      identity_is_self_asserted: true,
    })
    return { status: 201, body, position, headers: preferenceApplied(call) }
  },
})

const secondMs = 1000
const graceSecondsMax = 3600

const tokenRotation: Schema = {
  title: 'TokenRotation',
  type: 'object',
  properties: {
    grace_seconds: about(
      'For how long the old token is still accepted; 0: it is revoked at once.',
      {
        type: 'integer',
        minimum: 0,
        maximum: graceSecondsMax,
        default: 0,
      },
    ),
  },
}

const rotatedToken = object('RotatedToken', {
  id: about('The id of the identity.', identityId),
  token: shownToken,
  token_shown_once: always,
  old_token_expires_at: about('When the old token expires.', time),
})

const renderRotated = renderer(rotatedToken)

const postToken = command<RotatedToken, { grace_seconds: number }>({
  name: 'rotateToken',
  summary:
    'Replace the token; the new one is shown once. The old one is revoked now or after a delay.',
  method: 'post',
  path: '/api/identities/me/token',
  auth: 'bearer',
  body: tokenRotation,
  hasOptionalBody: true,
  answers: { 200: rotatedToken },
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
const timeOrNull: Schema = { ...time, type: ['integer', 'null'] }
export const lastSeen = about(
  'The minute of its last request with its token; null: none since the node was started.',
  timeOrNull,
)

const profile = {
  id: about('Its id.', identityId),
  kind: has.kind({ type: 'string', enum: [...kinds, 'compat'] }),
  display_name: has.displayName,
  created_at: time,
  expires_at: about('When it expires or has expired; null: never.', timeOrNull),
}

const own = object('OwnIdentity', {
  ...profile,
  kind: identity.properties!.kind,
  listed: about('Whether callers with a token find it by name in any case.', flag),
  identity_is_self_asserted: identity.properties!.identity_is_self_asserted,
})
const publicIdentity = object('PublicIdentity', {
  ...profile,
  public_messages: about('How many messages it has published in public threads.', count, 12),
  last_public_message_at: about('When it published the newest of them, or null.', timeOrNull),
})
const seenIdentity = object('SeenIdentity', {
  ...publicIdentity.properties,
  last_seen_at: lastSeen,
})
const identityList = object('IdentityList', {
  identities: about('The identities that were found, ordered by name.', {
    type: 'array',
    items: publicIdentity,
  }),
  next_after: about('The `after` of the next page; null when this is the last one.', {
    ...identityId,
    type: ['string', 'null'],
  }),
  has_more: has.hasMore,
  content_is_untrusted: contentIsUntrusted,
})

const renderOwn = renderer<object>(own)
const renderSeen = renderer<object>(seenIdentity)
const renderList = renderer<object>(identityList)

export const getSelf = route({
  name: 'readSelf',
  summary: 'The identity that the token belongs to.',
  method: 'get',
  path: '/api/identities/me',
  auth: 'bearer',
  answers: { 200: own },
  run({ forum, commands }, { caller }) {
    const profile = commands.profileOf(forum, caller)
    const position = Math.max(profile.position, forum.listed.changedPosition)
    return ownAnswer({ ...profile, position })
  },
})

const patchSelf = command<Positioned, { listed: boolean }>({
  name: 'updateSelf',
  summary: 'List the identity by its name before it has published anything, or end that.',
  method: 'patch',
  path: '/api/identities/me',
  auth: 'bearer',
  body: {
    title: 'IdentityUpdate',
    type: 'object',
    required: ['listed'],
    properties: {
      listed: about('Whether callers with a token find it by name in any case.', flag),
    },
  },
  answers: { 200: own },
  decide({ forum, commands }, { caller, body }) {
    return commands.listIdentity(forum, { caller, listed: body.listed })
  },
  render({ forum, commands }, { caller, body }, { position }) {
    return ownAnswer({ ...commands.profileOf(forum, caller), listed: body.listed, position })
  },
})

function ownAnswer(profile: Profile) {
  const { listed, position } = profile
  const body = renderOwn({ ...fieldsOf(profile), listed, identity_is_self_asserted: true })
  return { status: 200, body, position }
}

export const getIdentity = route({
  name: 'readIdentity',
  summary: 'An identity, and what it has published in public.',
  method: 'get',
  path: '/api/identities/:identityId',
  id: identityId,
  auth: 'optional',
  answers: { 200: seenIdentity },
  errors: ['not_found'],
  needsClient: isUnnamed,
  run({ forum, commands }, { caller, client, id, connection }) {
    const found = commands.readProfile(forum, { caller, client, id }, connection)
    const answer = (profile: PublicProfile | Rejection) => answerOf(forum, profile)
    return found instanceof Promise ? found.then(answer) : answer(found)
  },
})

interface NamesQuery {
  name: string
  after?: string
  limit: number
}

const afterPage: Schema = {
  description: 'The `next_after` of the previous page.',
  ...identityId,
  'x-error': 'invalid_cursor',
}

export const getIdentities = route<unknown, NamesQuery>({
  name: 'listIdentities',
  summary:
    'Identities whose names have this prefix: with public messages or, with a token, listed.',
  method: 'get',
  path: '/api/identities',
  auth: 'optional',
  query: {
    type: 'object',
    properties: {
      name: {
        description: 'The prefix of the name; case does not matter.',
        type: 'string',
        maxLength: 80,
        default: '',
        'x-error': 'invalid_query',
      },
      after: afterPage,
      limit: limit(100, 20),
    },
  },
  answers: { 200: identityList },
  errors: ['invalid_query', 'invalid_cursor'],
  needsClient: isUnnamed,
  run({ forum, commands, access }, { caller, client, query, connection }) {
    const read = { caller, client, ...query, hasEverybody: findsEverybody(access) }
    const found = commands.findProfiles(forum, read, connection)
    return found instanceof Promise ? found.then(listOf) : listOf(found)
  },
})

function answerOf({ state, lastSeen }: Forum, found: PublicProfile | Rejection): Outcome {
  if (isRejection(found)) return found
  const seen = lastSeen.at(state.identities.findNamed(found.id))
  const body = renderSeen({ ...publicFieldsOf(found), last_seen_at: seen })
  return { status: 200, body, position: found.position }
}

function listOf(found: ProfilePage | Rejection): Outcome {
  if (isRejection(found)) {
    const isUnknown = found.rejected === 'invalid_cursor'
    return isUnknown ? { ...found, detail: mustBe('after', afterPage) } : found
  }
  const { profiles, hasMore, position } = found
  const body = renderList({
    identities: profiles.map(publicFieldsOf),
    next_after: hasMore ? profiles.at(-1)!.id : null,
    has_more: hasMore,
    content_is_untrusted: true,
  })
  return { status: 200, body, position }
}

function fieldsOf({ id, kind, displayName, createdAt, expiresAt }: Profile) {
  return { id, kind, display_name: displayName, created_at: createdAt, expires_at: expiresAt }
}

function publicFieldsOf(profile: PublicProfile) {
  const { publicMessages, lastPublicMessageAt } = profile
  return {
    ...fieldsOf(profile),
    public_messages: publicMessages,
    last_public_message_at: lastPublicMessageAt,
  }
}

export const identityRoutes = [
  postIdentity,
  postToken,
  getIdentities,
  getSelf,
  patchSelf,
  getIdentity,
]
