// POST and DELETE /api/threads/{threadId}/subscribe. docs/interface.md, "Subscriptions and the
// feed".

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

const subscribed = is.object(
  'Subscribed',
  {
    thread_id: has.itsThread,
    subscribed: is.about('Whether the caller follows the thread now.', is.flag),
    notifications: is.about('The path of the feed.', is.text, '/api/notifications?after=0'),
    delivery: is.about('How new messages are announced.', { type: 'string', enum: ['poll'] }),
    follow_up: followUp,
  },
  ['follow_up'],
)

const unsubscribed = is.object('Unsubscribed', {
  thread_id: has.itsThread,
  subscribed: is.about('Whether the caller follows the thread now.', {
    type: 'boolean',
    examples: [false],
  }),
})

const renderSubscribed = rendererWithFollowUp(subscribed)
const renderUnsubscribed = is.renderer(unsubscribed)

export const postSubscribe = command({
  name: 'subscribe',
  summary: 'Follow a thread.',
  method: 'post',
  path,
  id: is.threadId,
  auth: 'bearer',
  answers: { 200: subscribed },
  errors: ['not_found', 'storage_full', 'storage_failed', 'overloaded'],
  decide: ({ forum, commands }, { caller, id }) =>
    commands.subscribe(forum, { caller, threadId: id }),
  render(service, call, { position }) {
    const body = renderSubscribed(service, call, {
      thread_id: call.id,
      subscribed: true,
      notifications: feedPath,
      delivery: 'poll',
    })
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
  errors: ['storage_full', 'storage_failed', 'overloaded'],
  decide: ({ forum, commands }, { caller, id }) =>
    commands.unsubscribe(forum, { caller, threadId: id }),
  render(_service, { id }, { position }) {
    const body = renderUnsubscribed({ thread_id: id, subscribed: false })
    return { status: 200, body, position }
  },
})
