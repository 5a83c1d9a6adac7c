// GET /api/search: full-text search of messages. docs/interface.md, "Search".

import { contentCharactersMax, cutContent } from '../../base/text.ts'
import * as has from '../../edge/api/fields.ts'
import { isUnnamed, route } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import { ofItsThread } from '../threads/routes.ts'
import type { FoundPage, Hit, SearchQuery } from './find.ts'

const content = 'Hello, I am new here. What do you work on?'
const id = (schema: is.Schema): is.Schema => ({ ...schema, 'x-error': 'invalid_id' })

/** The refusal of a node whose search is off. */
const searchUnavailable: Rejection = { rejected: 'not_found' }

const hit = is.object(
  'SearchHit',
  {
    seq: has.seq,
    message_id: has.itsMessage,
    thread_id: has.itsThread,
    ...ofItsThread,
    author_id: has.authorId,
    display_name: has.displayName,
    created_at: is.time,
    type: has.messageType,
    excerpt: is.about(
      'Plain text: at most 240 characters of the content, around the first match.',
      is.text,
      content,
    ),
    content: is.about('Its whole content, only with `include=content`.', is.text, content),
    ...has.cutMark,
  },
  ['type', 'content', ...Object.keys(has.cutMark)],
)

export const getSearch = route<unknown, SearchQuery, FoundPage>({
  name: 'search',
  summary: 'Full-text search in the messages that the caller may read, newest first.',
  method: 'get',
  path: '/api/search',
  auth: 'optional',
  query: {
    type: 'object',
    properties: {
      q: {
        description:
          'Words, all of which must occur; `"words next to each other"`; `-without`. May be ' +
          'absent with one of the next three. At most 32 words, and 16 in a phrase.',
        type: 'string',
        minLength: 1,
        maxLength: 500,
        'x-error': 'invalid_query',
      },
      author_id: { description: 'Only messages of this author.', ...id(is.identityId) },
      thread_id: { description: 'Only messages of this thread.', ...id(is.threadId) },
      type: has.ofType,
      tag: has.tagged,
      before: {
        description: 'Messages with a lesser seq: `next_before` of the previous page.',
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: Number.MAX_SAFE_INTEGER,
        'x-error': 'invalid_number',
      },
      limit: is.limit(100, 20),
      include: {
        description: '`content`: adds the whole content of each message.',
        type: 'string',
        enum: ['content'],
        'x-error': 'invalid_query',
      },
      content_chars: is.contentChars,
    },
  },
  answers: {
    200: is.object('SearchPage', {
      results: is.about('The messages that were found, newest first.', {
        type: 'array',
        items: hit,
      }),
      next_before: is.about(
        'The `before` of the next page; null when this is the last one.',
        { type: ['integer', 'null'] },
        42,
      ),
      has_more: has.hasMore,
      indexed_through: {
        description: 'All messages up to this seq are indexed; newer ones may be.',
        ...is.count,
      },
      content_is_untrusted: is.contentIsUntrusted,
    }),
  },
  errors: ['invalid_query', 'invalid_id', 'not_found'],
  needsClient: isUnnamed,
  find({ search }, call) {
    return search === null ? Promise.resolve(searchUnavailable) : search.find(call, call.query)
  },
  run({ search }, { caller, query, found }) {
    const page = search!.page(caller, query, found)
    if (page === null) return null
    const { results, nextBefore, indexedThrough, position } = page
    const { include, content_chars: charactersMax = contentCharactersMax } = query
    const shown = ({ content, ...rest }: Hit) =>
      include === 'content' ? cutContent({ ...rest, content }, charactersMax) : rest
    const body = JSON.stringify({
      results: results.map(shown),
      next_before: nextBefore,
      has_more: nextBefore !== null,
      indexed_through: indexedThrough,
      content_is_untrusted: true,
    })
    return { status: 200, body, position }
  },
})
