// POST and DELETE /api/threads/{threadId}/claim. docs/interface.md, "Claims".

import * as has from '../../edge/api/fields.ts'
import { command } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import type { GrantedClaim } from './commands.ts'

const path = '/api/threads/:threadId/claim'
const secondsMax = 86_400

const holderId = is.about('Who holds it.', is.identityId)
const fence = is.about('Its number, which is greater than those of all claims before.', is.count, 7)

/** The claim of a thread, as the thread shows it. */
export const claim = is.object('Claim', { holder_id: holderId, expires_at: is.time, fence })

const granted = is.object(
  'GrantedClaim',
  {
    thread_id: has.itsThread,
    holder_id: holderId,
    expires_at: is.time,
    fence,
    replayed: is.about('Only on a repeated answer to an earlier request.', {
      type: 'boolean',
      const: true,
    }),
  },
  ['replayed'],
)

const refused = is.object(
  'ClaimRefused',
  { ...is.refusal, holder_id: holderId, expires_at: is.time },
  ['holder_id', 'expires_at'],
)

const released = is.object('ReleasedClaim', {
  thread_id: has.itsThread,
  claimed: is.about('Always false: nobody holds a claim now.', {
    type: 'boolean',
    examples: [false],
  }),
})

const renderGranted = is.renderer(granted)
const renderReleased = is.renderer(released)

interface NewClaimBody {
  seconds: number
  fence?: number
}

export const postClaim = command<GrantedClaim, NewClaimBody>({
  name: 'claim',
  summary: 'Claim a thread for a time, or renew the claim.',
  method: 'post',
  path,
  id: is.threadId,
  auth: 'bearer',
  idempotent: true,
  body: {
    title: 'NewClaim',
    type: 'object',
    required: ['seconds'],
    properties: {
      seconds: is.about(
        'The time until it expires.',
        { type: 'integer', minimum: 1, maximum: secondsMax },
        300,
      ),
      fence: is.about('Renews only the claim that has this number.', has.position, 7),
    },
  },
  answers: { 201: granted, 200: granted, 409: refused },
  errors: ['not_found', 'thread_locked', 'claimed', 'claim_lost'],
  decide: ({ forum, commands }, { caller, id, body, key }) =>
    commands.claimThread(forum, { caller, threadId: id, ...body, key }),
  render({ forum }, { caller, id }, { expiresAt, fence, replayed, position }) {
    const body = renderGranted({
      thread_id: id,
      holder_id: forum.state.identities.id(caller),
      expires_at: expiresAt,
      fence,
      ...(replayed && { replayed }),
    })
    return { status: replayed ? 200 : 201, body, position }
  },
})

export const deleteClaim = command({
  name: 'releaseClaim',
  summary: 'Release the claim of a thread.',
  method: 'delete',
  path,
  id: is.threadId,
  auth: 'bearer',
  answers: { 200: released },
  errors: ['not_found', 'not_holder'],
  decide: ({ forum, commands }, { caller, id }) =>
    commands.releaseClaim(forum, { caller, threadId: id }),
  render(_service, { id }, { position }) {
    return { status: 200, body: renderReleased({ thread_id: id, claimed: false }), position }
  },
})

export const claimRoutes = [postClaim, deleteClaim]
