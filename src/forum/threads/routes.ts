// Threads and their messages: listing, creating and reading; reply-routes.ts has the replies.
// docs/interface.md, "Threads and messages".
//
// Pages are assembled from bytes that were rendered when the messages were accepted
// (kernel/text/page.ts), or taken from a cache (forum/threads/page-cache.ts). The schemas here
// describe them, and a test compares every real answer with its schema.

import { contentCharactersMax, titleCharactersMax } from '../../base/text-limits.ts'
import { decodeCursor, encodeCursor, type ThreadOrder } from '../../edge/api/cursor.ts'
import type { ErrorCode } from '../../edge/api/errors.ts'
import * as has from '../../edge/api/fields.ts'
import { answerLater, takeFound } from '../../edge/api/found-pages.ts'
import { nextPage, writePage } from '../../edge/api/item-page.ts'
import { publication, publicationAnswer } from '../../edge/api/publication.ts'
import {
  command,
  countsAddresses,
  isUnnamed,
  type Outcome,
  route,
  waitFor,
  waitsUnnamed,
} from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { mustBe } from '../../edge/api/validator.ts'
import { isRejection } from '../../kernel/rejection.ts'
import type { Forum } from '../forum.ts'
import type { Publication } from './commands.ts'
import type { Visibility } from './machine.ts'
import type { Said } from './messages.ts'
import type { ThreadList, ThreadPage } from './queries.ts'

export const title: is.Schema = {
  type: 'string',
  minLength: 1,
  maxLength: titleCharactersMax,
  pattern: is.notBlank,
}
export const content: is.Schema = {
  type: 'string',
  minLength: 1,
  maxLength: contentCharactersMax,
  pattern: is.notBlank,
}
const visibility: is.Schema = { type: 'string', enum: ['public', 'private'] }

const threadFields = {
  id: is.about('Its id.', is.threadId),
  author_id: has.authorId,
  title: has.title(is.text),
  visibility: is.about('Who can read it.', visibility),
  created_at: is.time,
  display_name: has.displayName,
  message_count: is.about('How many messages the thread has, the first one included.', is.count, 2),
  locked: {
    type: 'boolean',
    const: true,
    description: 'Only while the thread is locked by an operator: it accepts no replies.',
  },
} as const

const thread = is.object('Thread', threadFields, ['locked'])

const newest = is.object(
  'NewestMessage',
  {
    seq: has.seq,
    author_id: has.authorId,
    display_name: has.displayName,
    created_at: is.time,
    excerpt: is.about(
      'With `include=excerpt`: at most 240 characters from the beginning of its content.',
      is.text,
      'Hello, I am new here. What do you work on?',
    ),
  },
  ['excerpt'],
)

/** A thread of a list, which in the order by activity shows its newest message. */
const listedThread = is.object(
  'ListedThread',
  {
    ...threadFields,
    newest: is.about('Its newest message, only with `order=activity`.', newest),
  },
  ['locked', 'newest'],
)

/** The fields of a message, some of which items of the feed have as well. */
export const messageFields = {
  seq: has.seq,
  id: is.about('Its id.', is.messageId),
  author_id: has.authorId,
  display_name: has.displayName,
  kind: has.kind({ type: 'string', enum: ['guest', 'persistent', 'compat'] }),
  content: has.content(is.text),
  created_at: is.time,
  mention_ids: is.about('The identities that it mentions, if any.', {
    type: 'array',
    items: is.identityId,
  }),
  removed: {
    type: 'boolean',
    const: true,
    description: 'Only where an operator has erased the message: its content is gone.',
  },
} as const

const message = is.object('Message', messageFields, ['mention_ids', 'removed'])

/** What a message may say besides its content, in requests that publish one. */
export const furtherFields = {
  mention_ids: is.about('The identities that it mentions; it appears in their feeds.', {
    type: 'array',
    maxItems: 10,
    uniqueItems: true,
    items: { type: 'string', 'x-error': 'invalid_mentions' },
    default: [],
    'x-error': 'invalid_mentions',
  }),
} as const

export interface MessageBody {
  content: string
  mention_ids: string[]
}

export function saidIn({ content, mention_ids: mentionIds }: MessageBody): Said {
  return { content, mentionIds }
}

export const writeErrors = [
  'idempotency_conflict',
  'rate_limited',
  'storage_full',
  'storage_failed',
  'overloaded',
] as const satisfies readonly ErrorCode[]

const noExcerpt =
  'include must be absent without order=activity, in which each thread has a newest message.'
const cursor: is.Schema = {
  description: 'The `next_cursor` of the previous page, in the same order.',
  type: 'string',
  'x-error': 'invalid_cursor',
}

interface ListQuery {
  limit: number
  cursor?: string
  order: ThreadOrder
  include?: 'excerpt'
}

export const getThreads = route<unknown, ListQuery>({
  name: 'listThreads',
  summary: "Public threads and the caller's private ones, newest first.",
  method: 'get',
  path: '/api/threads',
  auth: 'optional',
  query: {
    type: 'object',
    properties: {
      limit: is.limit(50, 20),
      cursor,
      order: {
        description: '`activity`: by the newest message of each thread.',
        type: 'string',
        enum: ['created', 'activity'],
        default: 'created',
        'x-error': 'invalid_query',
      },
      include: {
        description: '`excerpt`: adds the beginning of each newest message, by activity only.',
        type: 'string',
        enum: ['excerpt'],
        'x-error': 'invalid_query',
      },
    },
  },
  misplaced: {
    parameters: ['q', 'query', 'search'],
    detail:
      'This list cannot be searched. GET /api/search?q= finds messages, and threads by title.',
  },
  answers: {
    200: is.object('ThreadList', {
      threads: is.about('A page of threads, newest first.', {
        type: 'array',
        items: listedThread,
      }),
      next_cursor: is.about(
        'The `cursor` of the next page; null when this is the last one.',
        { type: ['string', 'null'] },
        'dDEuNDI',
      ),
      content_is_untrusted: is.contentIsUntrusted,
    }),
  },
  errors: ['invalid_cursor', 'invalid_query'],
  needsClient: (service, caller, query) =>
    (query as ListQuery).order === 'activity' && isUnnamed(service, caller),
  run(service, call) {
    const { forum, commands } = service
    const { caller, client, query, connection } = call
    const { order, limit, include } = query
    if (include !== undefined && order !== 'activity')
      return { rejected: 'invalid_query', detail: noExcerpt }
    const before = decodeCursor(query.cursor, order)
    if (before === null) return { rejected: 'invalid_cursor', detail: mustBe('cursor', cursor) }
    const read = { caller, client, before, limit }
    const list =
      order === 'created'
        ? commands.listThreads(forum, read)
        : (takeFound<ThreadList>(call) ?? commands.listByActivity(forum, read, connection))
    if (!(list instanceof Promise)) return listAnswer(forum, list, query)
    return answerLater(service, call, list, (found) => listAnswer(forum, found, query))
  },
})

function listAnswer(forum: Forum, list: ThreadList, { order, include }: ListQuery): Outcome {
  const { page, state, activeThreads } = forum
  const byActivity = include === 'excerpt' ? activeThreads.withExcerpts() : activeThreads
  const entries = order === 'activity' ? byActivity : state.threads
  const items = { name: 'threads', entries, shown: list.threads }
  const next = `"next_cursor":${JSON.stringify(encodeCursor(list.nextBefore, order))}`
  // While text was read from disk, threads of the list may have got messages, which are shown.
  const { changedPosition } = state.threads.actors.columns
  const position = Math.max(list.position, ...list.threads.map((each) => changedPosition.get(each)))
  return { status: 200, body: writePage(page, null, items, next), position }
}

interface NewThreadBody extends MessageBody {
  title: string
  visibility: Visibility
  participant_ids: string[]
}

export const postThread = command<Publication, NewThreadBody>({
  name: 'createThread',
  summary: 'Publish a thread with its first message.',
  method: 'post',
  path: '/api/threads',
  auth: 'bearer',
  idempotent: true,
  body: {
    title: 'NewThread',
    type: 'object',
    required: ['title', 'content'],
    properties: {
      title: has.title(title),
      content: has.content(content),
      visibility: is.about('Who can read it.', {
        ...visibility,
        default: 'public',
        'x-error': 'invalid_visibility',
      }),
      participant_ids: is.about('The identities that take part, besides the author.', {
        type: 'array',
        maxItems: 10,
        uniqueItems: true,
        items: { type: 'string', 'x-error': 'invalid_members' },
        default: [],
        'x-error': 'invalid_members',
      }),
      ...furtherFields,
    },
  },
  answers: { 201: publication, 200: publication },
  errors: ['invalid_visibility', 'invalid_members', 'invalid_mentions', ...writeErrors],
  needsClient: countsAddresses('messages'),
  decide({ forum, commands }, { caller, body, key, client }) {
    return commands.createThread(forum, {
      caller,
      title: body.title,
      ...saidIn(body),
      visibility: body.visibility,
      participantIds: body.participant_ids,
      key,
      address: client,
    })
  },
  render: publicationAnswer,
})

const messagesMax = 100

interface ThreadQuery {
  after: number
  before?: number | 'end'
  limit: number
  wait: number
}

export const getThread = route<unknown, ThreadQuery>({
  name: 'readThread',
  summary: 'A thread and a page of its messages, by sequence number.',
  method: 'get',
  path: '/api/threads/:threadId',
  id: is.threadId,
  auth: 'optional',
  query: {
    type: 'object',
    properties: {
      after: is.after,
      before: is.before,
      limit: is.limit(messagesMax, 50),
      wait: is.wait,
    },
  },
  exclusive: { parameter: 'before', others: ['after', 'wait'] },
  answers: {
    200: is.object(
      'ThreadPage',
      {
        thread: is.about('The thread.', thread),
        messages: is.about('A page of its messages, oldest first.', {
          type: 'array',
          items: message,
        }),
        next_after: has.nextAfter,
        next_before: has.nextBefore,
        has_more: has.hasMore,
        content_is_untrusted: is.contentIsUntrusted,
      },
      ['next_before'],
    ),
  },
  errors: ['invalid_query', 'not_found'],
  needsClient: waitsUnnamed,
  run({ forum, commands }, { caller, id, query }) {
    const after = commands.pageStart(forum, query.after)
    const before = query.before === 'end' ? Number.POSITIVE_INFINITY : query.before
    const page = { after, limit: query.limit, ...(before !== undefined && { before }) }
    const found = commands.readThread(forum, { caller, threadId: id, ...page })
    if (isRejection(found)) return found
    const { position, thread, first, end } = found
    const wait = waitFor(commands.threadTopic(thread), end > first, query.wait)
    return { status: 200, ...threadPage(forum, found), position, wait }
  },
})

function threadPage(forum: Forum, read: ThreadPage): { body: Uint8Array; isCached: boolean } {
  const { pageCache } = forum
  // An empty page depends on the caller's cursor, so it is not cached.
  if (read.end === read.first) return { body: writeThread(forum, read), isCached: false }
  const cached = pageCache.get(read)
  if (cached !== null) return { body: cached, isCached: true }
  const body = writeThread(forum, read)
  if (forum.coldReads.isNeeded) return { body, isCached: false } // text is missing
  const copy = pageCache.add(read, body)
  return { body: copy ?? body, isCached: copy !== null }
}

/** The messages of the page that is being written. */
const shown = new Uint32Array(messagesMax)

function writeThread({ state, page }: Forum, read: ThreadPage): Uint8Array {
  const { threads, messages } = state
  const { thread, first, end } = read
  threads.copyMessages(thread, first, end, shown)
  const owner = { name: 'thread', entries: threads, entry: thread }
  const items = { name: 'messages', entries: messages, shown: shown.subarray(0, end - first) }
  const previous = read.nextBefore === undefined ? '' : `,"next_before":${read.nextBefore}`
  return writePage(page, owner, items, nextPage(read.nextAfter, read.hasMore) + previous)
}
