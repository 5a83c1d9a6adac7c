// GET /api/notifications: the feed; and /api/notifications/read: the read mark, up to which the
// caller has read it. docs/interface.md, "Subscriptions and the feed" and "What you have read".

import * as has from '../../edge/api/fields.ts'
import { answerLater, nextPage, takeFound, writePage } from '../../edge/api/item-page.ts'
import {
  type Answer,
  type Call,
  type Outcome,
  route,
  type Service,
  waitFor,
} from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import type { Positioned } from '../forum.ts'
import { messageFields, ofItsThread } from '../threads/routes.ts'
import type { Feed } from './queries.ts'

/** Returns the field with a note that items have it only if the caller requests their texts. */
function withContent(field: is.Schema): is.Schema {
  return is.about(`${is.meaningOf(field)} Only with \`include=content\`.`, field)
}

// The other fields of a message are those that `ContentItems` copies from its entry.
const { seq, id, author_id, created_at, removed, ...said } = messageFields
const shownFields = Object.fromEntries(
  Object.entries({ ...ofItsThread, ...said }).map(([name, field]) => [name, withContent(field)]),
)

const notification = is.object(
  'Notification',
  {
    seq,
    message_id: has.itsMessage,
    author_id,
    thread_id: has.itsThread,
    created_at,
    mentioned: {
      type: 'boolean',
      const: true,
      description: 'Only where the message mentions the caller.',
    },
    tag: is.about(
      'Only where it begins a thread with this tag, which the caller follows.',
      is.text,
      'infra',
    ),
    ...shownFields,
    removed,
  },
  ['mentioned', 'tag', ...Object.keys(shownFields), 'removed'],
)

interface FeedQuery {
  after: number | 'read'
  limit: number
  wait: number
  include?: string
  content_chars?: number
  only?: 'mentions'
  type?: string
  tag?: string[]
}

export const getNotifications = route<unknown, FeedQuery>({
  name: 'pollNotifications',
  summary:
    'Messages by others in the threads the caller follows, those that mention it, and the first ' +
    'ones of new threads with a tag it follows.',
  method: 'get',
  path: '/api/notifications',
  auth: 'bearer',
  query: {
    type: 'object',
    properties: {
      after: is.afterOrRead,
      limit: is.limit(100, 50),
      wait: is.wait,
      include: {
        description: '`content`: adds the title, author and text of each message, and the epoch.',
        type: 'string',
        enum: ['content'],
        'x-error': 'invalid_query',
      },
      content_chars: is.contentChars,
      only: {
        description: '`mentions`: only messages that mention the caller.',
        type: 'string',
        enum: ['mentions'],
        'x-error': 'invalid_query',
      },
      type: has.ofType,
      tag: has.tagged,
    },
  },
  answers: {
    200: is.object(
      'Notifications',
      {
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
        epoch: has.epoch,
        content_is_untrusted: is.contentIsUntrusted,
      },
      ['epoch', 'content_is_untrusted'],
    ),
  },
  errors: ['invalid_query'],
  run(service, call) {
    const { forum, commands } = service
    const { caller, query, connection } = call
    const { limit, only, type, tag: tags } = query
    const found = takeFound<Feed>(call)
    if (found !== undefined && commands.isCurrent(forum, caller, found)) {
      return answerOf(service, call, found)
    }
    const after =
      query.after === 'read'
        ? commands.readPlace(forum, call).through
        : commands.pageStart(forum, query.after)
    const read = { caller, after, limit, only, type, tags }
    const feed = commands.readFeed(forum, read, connection)
    if (!(feed instanceof Promise)) return answerOf(service, call, feed)
    return answerLater(service, call, feed, (page) => answerOf(service, call, page))
  },
})

function answerOf(
  service: Service,
  { caller, query }: Call<unknown, FeedQuery>,
  feed: Feed,
): Outcome {
  const { forum, commands } = service
  const wait = waitFor(commands.feedTopic(caller), feed.messages.length > 0, query.wait)
  const isFromMark = query.after === 'read'
  const marked = isFromMark ? commands.readPlace(forum, { caller }).position : 0
  if (query.include !== 'content') {
    const body = page(service, feed, isFromMark ? `,"epoch":"${service.epoch}"` : '')
    return { status: 200, body, position: Math.max(feed.position, marked), wait }
  }
  const shown = commands.contentPage(forum.state, feed)
  const body = contentPage(service, shown, query.content_chars)
  return { status: 200, body, position: Math.max(shown.position, marked), wait }
}

function page({ forum, pollAfterSeconds }: Service, feed: Feed, epoch: string): Answer['body'] {
  const [start, end] = ['{"notifications":[', `],${endOf(pollAfterSeconds, feed)}${epoch}}`]
  return feed.messages.length > 0 ? forum.feedItems.write(start, feed, end) : start + end
}

function contentPage(
  { forum, epoch, pollAfterSeconds }: Service,
  { messages, mentions, tagged, ...rest }: Feed,
  charactersMax: number | undefined,
): Answer['body'] {
  const entries = forum.contentItems.with({ mentions, tagged, charactersMax })
  const items = { name: 'notifications', entries, shown: messages }
  const end = `${endOf(pollAfterSeconds, rest)},"epoch":"${epoch}"`
  return writePage(forum.page, null, items, end)
}

function endOf(
  pollAfterSeconds: number,
  { nextAfter, hasMore }: Pick<Feed, 'nextAfter' | 'hasMore'>,
): string {
  return (
    `${nextPage(nextAfter, hasMore)},"poll_after_seconds":${pollAfterSeconds},` +
    '"webhook_registration":"/api/notifications/webhook","webhook_guide":"/notifications.txt"'
  )
}

const readPath = '/api/notifications/read'
/** Unread messages are counted up to this number. */
const unreadMax = 1_000

const readPlace = is.object('ReadPlace', {
  through: is.about('The seq up to which the feed is read; 0 if none.', is.count, 57),
  unread: is.about(
    `How many messages of the feed follow, counted up to ${unreadMax}.`,
    is.count,
    3,
  ),
  has_more_unread: is.about('Whether there are more unread messages than that.', is.flag, false),
})

const renderRead = is.renderer(readPlace)

export const getRead = route({
  name: 'readPlace',
  summary: 'How far the caller has read its feed, and how much is unread.',
  method: 'get',
  path: readPath,
  auth: 'bearer',
  answers: { 200: readPlace },
  run: (service, call) =>
    readAnswerOf(service, call, service.commands.readPlace(service.forum, call)),
})

export const putRead = route<{ through: number }>({
  name: 'markRead',
  summary: 'Mark the feed as read up to a message. The mark only goes forward.',
  method: 'put',
  path: readPath,
  auth: 'bearer',
  body: {
    title: 'Mark',
    type: 'object',
    required: ['through'],
    properties: {
      through: is.about('The seq of the last message that has been read.', has.position, 57),
    },
  },
  answers: { 200: readPlace },
  run(service, call) {
    const { forum, commands } = service
    const { caller, body } = call
    const marked = commands.markRead(forum, { caller, through: body.through })
    return isRejection(marked) ? marked : readAnswerOf(service, call, marked)
  },
})

function readAnswerOf(
  { forum, commands }: Service,
  { caller, connection }: Pick<Call<unknown, unknown>, 'caller' | 'connection'>,
  { through, position }: Positioned & { through: number },
): Outcome | Promise<Outcome> {
  const read = { caller, after: through, limit: unreadMax, isCount: true }
  const unread = commands.readFeed(forum, read, connection)
  const answer = (found: Awaited<typeof unread>): Outcome => {
    if (isRejection(found)) return found
    const { messages, hasMore } = found
    const body = renderRead({ through, unread: messages.length, has_more_unread: hasMore })
    return { status: 200, body, position: Math.max(position, found.position) }
  }
  return unread instanceof Promise ? unread.then(answer) : answer(unread)
}

export const feedRoutes = [getNotifications, getRead, putRead]
