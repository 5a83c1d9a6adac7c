// The list of threads, in the order of their creation or of their newest messages.
// docs/interface.md, "Cursors".

import * as has from '../../edge/api/fields.ts'
import {
  answerLater,
  decodeCursor,
  encodeCursor,
  type ThreadOrder,
  takeFound,
  writePage,
} from '../../edge/api/item-page.ts'
import { isUnnamed, type Outcome, route } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { mustBe } from '../../edge/api/validator.ts'
import type { Forum } from '../forum.ts'
import type { State } from '../state.ts'
import type { ThreadList } from './queries.ts'
import { optionalThreadFields, threadFields } from './routes.ts'

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
  [...optionalThreadFields, 'newest'],
)

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
  claimed?: 'true' | 'false'
  tag?: string[]
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
      claimed: {
        description: '`true`: only threads that are claimed; `false`: only those that are not.',
        type: 'string',
        enum: ['true', 'false'],
        'x-error': 'invalid_query',
      },
      tag: has.tagged,
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
    const { order, limit, include, tag: tags } = query
    if (include !== undefined && order !== 'activity')
      return { rejected: 'invalid_query', detail: noExcerpt }
    const before = decodeCursor(query.cursor, order)
    if (before === null) return { rejected: 'invalid_cursor', detail: mustBe('cursor', cursor) }
    const claimed = query.claimed && query.claimed === 'true'
    const read = { caller, client, before, limit, claimed, tags }
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
  const items = { name: 'threads', entries, shown: shownNow(state, list) }
  const next = `"next_cursor":${JSON.stringify(encodeCursor(list.nextBefore, order))}`
  const position = order === 'activity' ? positionNow(state, list) : list.position
  return { status: 200, body: writePage(page, null, items, next), position }
}

/** Returns the threads of the list, except those that expired while text was read from disk. */
function shownNow({ threads, expiredPosition }: State, list: ThreadList): readonly number[] {
  if (expiredPosition <= list.position) return list.threads
  return list.threads.filter((thread) => !threads.isExpired(thread))
}

/**
 * Returns the position of what the list shows now: while text was read from disk, its threads may
 * have got messages.
 */
function positionNow({ threads }: State, list: ThreadList): number {
  const { changedPosition } = threads.actors.columns
  return Math.max(list.position, ...list.threads.map((each) => changedPosition.get(each)))
}
