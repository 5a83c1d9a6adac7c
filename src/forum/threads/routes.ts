// Threads and their messages: creating, reading and replying; list-routes.ts has the list of
// threads. docs/interface.md, "Threads and messages" and "Conditional replies".
//
// Pages are assembled from bytes that were rendered when the messages were accepted
// (kernel/text/page.ts), or taken from a cache (forum/threads/page-cache.ts). The schemas here
// describe them, and a test compares every real answer with its schema.

import { contentCharactersMax, titleCharactersMax } from '../../base/text.ts'
import * as has from '../../edge/api/fields.ts'
import { type Entries, nextPage, writePage } from '../../edge/api/item-page.ts'
import { publication, publicationAnswer } from '../../edge/api/publication.ts'
import { command, countsAddresses, route, waitFor, waitsUnnamed } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { claim } from '../claims/routes.ts'
import type { Forum } from '../forum.ts'
import type { Publication } from './commands.ts'
import type { Visibility } from './machine.ts'
import type { ThreadPage } from './queries.ts'

export const title: is.Schema = {
  type: 'string',
  minLength: 1,
  maxLength: titleCharactersMax,
  pattern: is.notBlank,
}
const content: is.Schema = {
  type: 'string',
  minLength: 1,
  maxLength: contentCharactersMax,
  pattern: is.notBlank,
}
const visibility: is.Schema = { type: 'string', enum: ['public', 'private'] }

/** The fields of a thread, which lists show as well. */
export const threadFields = {
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
  claim: is.about('Only while the thread is claimed.', claim),
  tags: has.itsTags,
  expires_at: {
    ...is.time,
    description: 'When the thread expires if no reply comes; only if it has `ttl_seconds`.',
  },
} as const

export const optionalThreadFields = ['locked', 'claim', 'tags', 'expires_at'] as const

const thread = is.object('Thread', threadFields, optionalThreadFields)

/** What items of the feed and hits of a search show of their thread. */
export const ofItsThread = {
  title: is.about('The title of its thread.', is.text, 'What do you work on?'),
} as const

/** The fields of a message, some of which items of the feed have as well. */
export const messageFields = {
  seq: has.seq,
  id: is.about('Its id.', is.messageId),
  author_id: has.authorId,
  display_name: has.displayName,
  kind: has.kind({ type: 'string', enum: ['guest', 'persistent', 'compat'] }),
  content: has.content(is.text),
  ...has.cutMark,
  created_at: is.time,
  mention_ids: is.about('The identities that it mentions, if any.', {
    type: 'array',
    items: is.identityId,
  }),
  type: has.messageType,
  removed: {
    type: 'boolean',
    const: true,
    description: 'Only where an operator has erased the message: its content is gone.',
  },
} as const

const message = is.object('Message', messageFields, [
  ...Object.keys(has.cutMark),
  'mention_ids',
  'type',
  'removed',
])

/** What a message may say besides its content, in requests that publish one. */
const furtherFields = {
  mention_ids: is.about('The identities that it mentions; it appears in their feeds.', {
    type: 'array',
    maxItems: 10,
    uniqueItems: true,
    items: { type: 'string', 'x-error': 'invalid_mentions' },
    default: [],
    'x-error': 'invalid_mentions',
  }),
  type: has.messageType,
} as const

interface MessageBody {
  content: string
  mention_ids: string[]
  type?: string
}

interface NewThreadBody extends MessageBody {
  title: string
  visibility: Visibility
  participant_ids: string[]
  tags: string[]
  ttl_seconds?: number
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
      tags: { ...has.tags, default: [] },
      ttl_seconds: has.ttlSeconds,
      ...furtherFields,
    },
  },
  answers: { 201: publication, 200: publication },
  errors: ['invalid_visibility', 'invalid_members', 'invalid_mentions'],
  needsClient: countsAddresses('messages'),
  decide({ forum, commands }, { caller, body, key, client }) {
    return commands.createThread(forum, {
      caller,
      title: body.title,
      content: body.content,
      mentionIds: body.mention_ids,
      type: body.type,
      visibility: body.visibility,
      participantIds: body.participant_ids,
      tags: body.tags,
      ttlSeconds: body.ttl_seconds,
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
  content_chars?: number
  type?: string
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
      content_chars: is.contentChars,
      type: has.ofType,
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
    const { limit, type } = query
    const read = { caller, threadId: id, after, before, limit, type }
    const found = commands.readThread(forum, read)
    if (isRejection(found)) return found
    const { position, thread, hasMore } = found
    const hasItems = hasMore || countOf(found) > 0
    const wait = waitFor(commands.threadTopic(thread), hasItems, query.wait)
    const { body, isCached } = threadPage(forum, found, query.content_chars)
    return { status: 200, body, isCached, position, wait }
  },
})

function threadPage(
  forum: Forum,
  read: ThreadPage,
  charactersMax: number | undefined,
): { body: Uint8Array; isCached: boolean } {
  const { pageCache, state } = forum
  if (charactersMax !== undefined) {
    const entries = state.messages.cutTo(charactersMax)
    return { body: writeThread(forum, read, entries), isCached: false }
  }
  // Not cached: an empty page, which depends on the caller's cursor, and pages of one type.
  const isShared = read.end > read.first && read.chosen === undefined
  if (!isShared) return { body: writeThread(forum, read), isCached: false }
  const cached = pageCache.get(read)
  if (cached !== null) return { body: cached, isCached: true }
  const body = writeThread(forum, read)
  if (forum.coldReads.isNeeded) return { body, isCached: false } // text is missing
  const copy = pageCache.add(read, body)
  return { body: copy ?? body, isCached: copy !== null }
}

function countOf({ first, end, chosen }: ThreadPage): number {
  return chosen === undefined ? end - first : chosen.length
}

/** The messages of the page that is being written. */
const shown = new Uint32Array(messagesMax)

function writeThread(
  { state, page }: Forum,
  read: ThreadPage,
  entries: Entries = state.messages,
): Uint8Array {
  const { threads } = state
  const { thread, first, end, chosen } = read
  if (chosen !== undefined) shown.set(chosen)
  else threads.copyMessages(thread, first, end, shown)
  const owner = { name: 'thread', entries: threads, entry: thread }
  const items = { name: 'messages', entries, shown: shown.subarray(0, countOf(read)) }
  const previous = read.nextBefore === undefined ? '' : `,"next_before":${read.nextBefore}`
  return writePage(page, owner, items, nextPage(read.nextAfter, read.hasMore) + previous)
}

/** What a reply says of the messages that its author has seen. */
const seenFields = {
  expect_seq: is.about(
    'The newest message that the caller has seen; refused if the thread has a newer one.',
    has.position,
    57,
  ),
  seen_seq: is.about(
    'The same, without a refusal: the answer has `unseen`, the number of newer ones by others.',
    has.position,
    57,
  ),
  fence: is.about(
    'Of the claim that the caller holds; refused if it does not hold the claim any more.',
    has.position,
    7,
  ),
} as const

interface ReplyBody extends MessageBody {
  expect_seq?: number
  seen_seq?: number
  fence?: number
}

const replyRefused = is.object(
  'ReplyRefused',
  { ...is.refusal, newest_seq: is.about('The newest message of the thread.', is.count, 58) },
  ['newest_seq'],
)

export const postReply = command<Publication, ReplyBody>({
  name: 'reply',
  summary: 'Publish a reply; the caller becomes subscribed.',
  method: 'post',
  path: '/api/threads/:threadId/replies',
  id: is.threadId,
  auth: 'bearer',
  idempotent: true,
  body: {
    title: 'NewReply',
    type: 'object',
    required: ['content'],
    properties: { content: has.content(content), ...furtherFields, ...seenFields },
  },
  answers: { 201: publication, 200: publication, 412: replyRefused },
  errors: ['not_found', 'thread_locked', 'invalid_mentions', 'claim_lost', 'thread_changed'],
  needsClient: countsAddresses('messages'),
  decide({ forum, commands }, { caller, id, body, key, client }) {
    return commands.reply(forum, {
      caller,
      threadId: id,
      content: body.content,
      mentionIds: body.mention_ids,
      type: body.type,
      expectSeq: body.expect_seq,
      seenSeq: body.seen_seq,
      fence: body.fence,
      key,
      address: client,
    })
  },
  render: publicationAnswer,
})

export const threadRoutes = [postThread, getThread, postReply]
