// POST and DELETE /api/threads/{threadId}/subscribe, and of /api/tags/{tag}/subscribe; and GET
// /api/threads/{threadId}/followers. docs/interface.md, "Subscriptions and the feed", "Following
// tags" and "Who follows a thread".

import * as has from '../../edge/api/fields.ts'
import {
  feedPath,
  followUp,
  preferenceApplied,
  rendererWithFollowUp,
} from '../../edge/api/follow-up.ts'
import { command, type Outcome, route, type Service } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { mustBe } from '../../edge/api/validator.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { lastSeen } from '../identities/routes.ts'
import type { Followers } from './followers.ts'

const path = '/api/threads/:threadId/subscribe'
const tagPath = '/api/tags/:tag/subscribe'

const how = {
  notifications: is.about('The path of the feed.', is.text, '/api/notifications?after=0'),
  delivery: is.about('How new messages are announced.', { type: 'string', enum: ['poll'] }),
  follow_up: followUp,
}
const polled = { subscribed: true, notifications: feedPath, delivery: 'poll' }
const isFollowed = (what: string) =>
  is.about(`Whether the caller follows the ${what} now.`, is.flag)
const isNotFollowed = (what: string) =>
  is.about(`Whether the caller follows the ${what} now.`, { type: 'boolean', examples: [false] })
const itsTag = is.about('The tag.', is.text, 'infra')

const subscribed = is.object(
  'Subscribed',
  { thread_id: has.itsThread, subscribed: isFollowed('thread'), ...how },
  ['follow_up'],
)
const unsubscribed = is.object('Unsubscribed', {
  thread_id: has.itsThread,
  subscribed: isNotFollowed('thread'),
})
const tagSubscribed = is.object(
  'TagSubscribed',
  { tag: itsTag, subscribed: isFollowed('tag'), ...how },
  ['follow_up'],
)
const tagUnsubscribed = is.object('TagUnsubscribed', {
  tag: itsTag,
  subscribed: isNotFollowed('tag'),
})

const renderSubscribed = rendererWithFollowUp(subscribed)
const renderUnsubscribed = is.renderer(unsubscribed)
const renderTagSubscribed = rendererWithFollowUp(tagSubscribed)
const renderTagUnsubscribed = is.renderer(tagUnsubscribed)

export const postSubscribe = command({
  name: 'subscribe',
  summary: 'Follow a thread.',
  method: 'post',
  path,
  id: is.threadId,
  auth: 'bearer',
  answers: { 200: subscribed },
  errors: ['not_found'],
  decide: ({ forum, commands }, { caller, id }) =>
    commands.subscribe(forum, { caller, threadId: id }),
  render(service, call, { position }) {
    const body = renderSubscribed(service, call, { thread_id: call.id, ...polled })
    return { status: 200, body, position, headers: preferenceApplied(call) }
  },
})

export const deleteSubscribe = command({
  name: 'unsubscribe',
  summary: 'Stop following a thread. The answer is the same whether or not the thread exists.',
  method: 'delete',
  path,
  id: is.threadId,
  auth: 'bearer',
  answers: { 200: unsubscribed },
  decide: ({ forum, commands }, { caller, id }) =>
    commands.unsubscribe(forum, { caller, threadId: id }),
  render(_service, { id }, { position }) {
    const body = renderUnsubscribed({ thread_id: id, subscribed: false })
    return { status: 200, body, position }
  },
})

export const postTagSubscribe = command({
  name: 'subscribeTag',
  summary: 'Follow a tag: new public threads with it are in the feed from now on.',
  method: 'post',
  path: tagPath,
  id: has.tagName,
  auth: 'bearer',
  answers: { 200: tagSubscribed },
  errors: ['too_many_tags'],
  decide: ({ forum, commands }, { caller, id }) =>
    commands.subscribeTag(forum, { caller, tag: id }),
  render(service, call, { position }) {
    const body = renderTagSubscribed(service, call, { tag: call.id, ...polled })
    return { status: 200, body, position, headers: preferenceApplied(call) }
  },
})

export const deleteTagSubscribe = command({
  name: 'unsubscribeTag',
  summary: 'Stop following a tag.',
  method: 'delete',
  path: tagPath,
  id: has.tagName,
  auth: 'bearer',
  answers: { 200: tagUnsubscribed },
  decide: ({ forum, commands }, { caller, id }) =>
    commands.unsubscribeTag(forum, { caller, tag: id }),
  render(_service, { id }, { position }) {
    const body = renderTagUnsubscribed({ tag: id, subscribed: false })
    return { status: 200, body, position }
  },
})

const afterFollower: is.Schema = {
  description: 'The `next_after` of the previous page.',
  ...is.identityId,
  'x-error': 'invalid_cursor',
}

const followerList = is.object('FollowerList', {
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

const renderFollowers = is.renderer<object>(followerList)

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
  query: { type: 'object', properties: { after: afterFollower, limit: is.limit(100, 50) } },
  answers: { 200: followerList },
  errors: ['not_found', 'not_author', 'invalid_cursor'],
  run(service, { caller, id, query, connection }) {
    const read = { caller, threadId: id, ...query }
    const found = service.commands.listFollowers(service.forum, read, connection)
    const answer = (page: Followers | Rejection) => pageOf(service, page)
    return found instanceof Promise ? found.then(answer) : answer(found)
  },
})

function pageOf({ forum, commands }: Service, found: Followers | Rejection): Outcome {
  if (isRejection(found)) {
    const isUnknown = found.rejected === 'invalid_cursor'
    return isUnknown ? { ...found, detail: mustBe('after', afterFollower) } : found
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
  const body = renderFollowers({
    followers,
    next_after: found.hasMore ? followers.at(-1)!.id : null,
    has_more: found.hasMore,
    content_is_untrusted: true,
  })
  return { status: 200, body, position: found.position }
}

export const subscriptionRoutes = [
  postSubscribe,
  deleteSubscribe,
  postTagSubscribe,
  deleteTagSubscribe,
]
