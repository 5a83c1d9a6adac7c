// GET /api/notifications: the feed. docs/interface.md, "Subscriptions and the feed".

import type { Feed } from '../forum/feed.ts'
import { isRejection, type Rejection } from '../forum/rejection.ts'
import * as has from './fields.ts'
import { nextPage } from './item-page.ts'
import { type Call, type Outcome, route, type Service, waitFor } from './route.ts'
import * as is from './schema.ts'

const notification = is.object('Notification', {
  seq: has.seq,
  message_id: has.itsMessage,
  author_id: has.authorId,
  thread_id: has.itsThread,
  created_at: is.time,
})

interface FeedQuery {
  after: number
  limit: number
  wait: number
}

export const getNotifications = route<unknown, FeedQuery>({
  name: 'pollNotifications',
  summary: 'Messages by others in the threads the caller follows.',
  method: 'get',
  path: '/api/notifications',
  auth: 'bearer',
  query: {
    type: 'object',
    properties: { after: is.after, limit: is.limit(100, 50), wait: is.wait },
  },
  answers: {
    200: is.object('Notifications', {
      notifications: is.about('A page of the feed, oldest first.', {
        type: 'array',
        items: notification,
      }),
      next_after: has.nextAfter,
      has_more: has.hasMore,
      poll_after_seconds: has.pollAfterSeconds,
      webhook_registration: is.about(
        'The path at which a webhook is registered.',
        is.text,
        '/api/notifications/webhook',
      ),
      webhook_guide: is.about(
        'The path of the text that explains webhooks.',
        is.text,
        '/notifications.txt',
      ),
    }),
  },
  errors: [],
  run(service, call) {
    const { forum, commands } = service
    const { caller, query, connection } = call
    const after = commands.pageStart(forum, query.after)
    const feed = commands.readFeed(forum, { caller, after, limit: query.limit }, connection)
    if (!(feed instanceof Promise)) return answerOf(service, call, feed)
    return feed.then((found) => {
      const answer = answerOf(service, call, found)
      if (isRejection(answer)) return answer
      // It is taken up later, when another answer may have been written: so it is a copy.
      return { ...answer, body: Buffer.from(answer.body), isOwn: true }
    })
  },
})

function answerOf(
  { forum, commands, pollAfterSeconds }: Service,
  { caller, query }: Call<unknown, FeedQuery>,
  feed: Feed | Rejection,
): Outcome {
  if (isRejection(feed)) return feed
  const end =
    `],${nextPage(feed.nextAfter, feed.hasMore)},` +
    `"poll_after_seconds":${pollAfterSeconds},` +
    '"webhook_registration":"/api/notifications/webhook","webhook_guide":"/notifications.txt"}'
  const start = '{"notifications":['
  const { messages, position } = feed
  const hasItems = messages.length > 0
  const body = hasItems ? forum.feedItems.write(start, messages, end) : start + end
  const wait = waitFor(commands.feedTopic(caller), hasItems, query.wait)
  return { status: 200, body, position, wait }
}
