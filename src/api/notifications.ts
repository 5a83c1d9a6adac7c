// GET /api/notifications: the feed. docs/interface.md, "Subscriptions and the feed".

import { type Feed, readFeed } from '../forum/feed.ts'
import { type Forum, isRejection, pageStart, type Rejection } from '../forum/forum.ts'
import { nextPage } from './item-page.ts'
import { type Outcome, route } from './route.ts'
import * as is from './schema.ts'

const notification = is.object('Notification', {
  seq: is.count,
  message_id: is.messageId,
  author_id: is.identityId,
  thread_id: is.threadId,
  created_at: is.time,
})

export const getNotifications = route<unknown, { after: number; limit: number }>({
  name: 'pollNotifications',
  summary: 'Messages by others in the threads the caller follows.',
  method: 'get',
  path: '/api/notifications',
  auth: 'bearer',
  query: { type: 'object', properties: { after: is.after, limit: is.limit(100, 50) } },
  answers: {
    200: is.object('Notifications', {
      notifications: { type: 'array', items: notification },
      next_after: is.count,
      has_more: { type: 'boolean' },
      poll_after_seconds: is.count,
      webhook_registration: { type: 'string' },
      webhook_guide: { type: 'string' },
    }),
  },
  errors: [],
  run({ forum, pollAfterSeconds }, { caller, query, connection }) {
    const after = pageStart(forum, query.after)
    const feed = readFeed(forum, { caller, after, limit: query.limit }, connection)
    if (!(feed instanceof Promise)) return answerOf(forum, feed, pollAfterSeconds)
    return feed.then((found) => {
      const answer = answerOf(forum, found, pollAfterSeconds)
      if (isRejection(answer)) return answer
      // It is taken up later, when another answer may have been written: so it is a copy.
      return { ...answer, body: Buffer.from(answer.body), isOwn: true }
    })
  },
})

function answerOf({ feedItems }: Forum, feed: Feed | Rejection, pollAfterSeconds: number): Outcome {
  if (isRejection(feed)) return feed
  const end =
    `],${nextPage(feed.nextAfter, feed.hasMore)},` +
    `"poll_after_seconds":${pollAfterSeconds},` +
    '"webhook_registration":"/api/notifications/webhook","webhook_guide":"/notifications.txt"}'
  const start = '{"notifications":['
  const { messages, position } = feed
  const body = messages.length === 0 ? start + end : feedItems.write(start, messages, end)
  return { status: 200, body, position }
}
