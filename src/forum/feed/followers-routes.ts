// GET /api/threads/{threadId}/followers. docs/interface.md, "Who follows a thread".

import * as has from '../../edge/api/fields.ts'
import { type Outcome, route, type Service } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { mustBe } from '../../edge/api/validator.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { lastSeen } from '../identities/routes.ts'
import type { Followers } from './followers.ts'

const after: is.Schema = {
  description: 'The `next_after` of the previous page.',
  ...is.identityId,
  'x-error': 'invalid_cursor',
}

const list = is.object('FollowerList', {
  followers: is.about('A page of those who follow it, the first ones to do so first.', {
    type: 'array',
    items: is.object('Follower', {
      id: is.about('Its id.', is.identityId),
      display_name: has.displayName,
      read_through: is.about(
        'The seq up to which it has marked its feed as read; 0: it has marked nothing.',
        is.count,
        57,
      ),
      last_seen_at: lastSeen,
    }),
  }),
  next_after: is.about('The `after` of the next page; null when this is the last one.', {
    ...is.identityId,
    type: ['string', 'null'],
  }),
  has_more: has.hasMore,
  content_is_untrusted: is.contentIsUntrusted,
})

const render = is.renderer<object>(list)

interface FollowersQuery {
  after?: string
  limit: number
}

export const getFollowers = route<unknown, FollowersQuery>({
  name: 'listFollowers',
  summary: 'Who follows a thread; for its author, or whoever takes part in a private one.',
  method: 'get',
  path: '/api/threads/:threadId/followers',
  id: is.threadId,
  auth: 'bearer',
  query: { type: 'object', properties: { after, limit: is.limit(100, 50) } },
  answers: { 200: list },
  errors: ['not_found', 'not_author', 'invalid_cursor'],
  run(service, { caller, id, query, connection }) {
    const read = { caller, threadId: id, ...query }
    const found = service.commands.listFollowers(service.forum, read, connection)
    const answer = (page: Followers | Rejection) => answerOf(service, page)
    return found instanceof Promise ? found.then(answer) : answer(found)
  },
})

function answerOf({ forum, commands }: Service, found: Followers | Rejection): Outcome {
  if (isRejection(found)) {
    const isUnknown = found.rejected === 'invalid_cursor'
    return isUnknown ? { ...found, detail: mustBe('after', after) } : found
  }
  const followers = found.followers.map((identity) => {
    const { id, displayName } = commands.profileOf(forum, identity)
    return {
      id,
      display_name: displayName,
      read_through: commands.readPlace(forum, { caller: identity }).through,
      last_seen_at: forum.lastSeen.at(identity),
    }
  })
  const body = render({
    followers,
    next_after: found.hasMore ? followers.at(-1)!.id : null,
    has_more: found.hasMore,
    content_is_untrusted: true,
  })
  return { status: 200, body, position: found.position }
}
