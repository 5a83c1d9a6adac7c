// POST and DELETE /api/threads/{threadId}/subscribe, and of /api/tags/{tag}/subscribe.
// docs/interface.md, "Subscriptions and the feed" and "Following tags".

import * as has from '../../edge/api/fields.ts'
import {
  feedPath,
  followUp,
  preferenceApplied,
  rendererWithFollowUp,
} from '../../edge/api/follow-up.ts'
import { command } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'

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
    return { status: 200, body, position, ...preferenceApplied(call) }
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
    return { status: 200, body, position, ...preferenceApplied(call) }
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
