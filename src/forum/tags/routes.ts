// Tags: listing those in use, and changing those of a thread. docs/interface.md, "Tags".

import * as has from '../../edge/api/fields.ts'
import { answerLater } from '../../edge/api/item-page.ts'
import { command, type Outcome, route } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import type { TagPage } from './queries.ts'

const tagList = is.object('TagList', {
  tags: is.about('A page of the tags, in the order of their bytes.', {
    type: 'array',
    items: is.object('TagCount', {
      tag: is.about('The tag.', is.text, 'infra'),
      threads: is.about('How many threads have it, of those that the caller may see.', is.count, 3),
    }),
  }),
  next_after: is.about(
    'The `after` of the next page; null when this is the last one.',
    { type: ['string', 'null'] },
    'infra',
  ),
  has_more: has.hasMore,
  content_is_untrusted: is.contentIsUntrusted,
})

const renderList = is.renderer(tagList)

interface TagsQuery {
  prefix: string
  after: string
  limit: number
}

export const getTags = route<unknown, TagsQuery>({
  name: 'listTags',
  summary: 'The tags of threads that the caller may see, with the number of these threads.',
  method: 'get',
  path: '/api/tags',
  auth: 'optional',
  query: {
    type: 'object',
    properties: {
      prefix: {
        description: 'Only tags that begin with this.',
        type: 'string',
        maxLength: 40,
        default: '',
        'x-error': 'invalid_query',
      },
      after: {
        description: 'Only tags that follow this one: `next_after` of the previous page.',
        type: 'string',
        maxLength: 40,
        default: '',
        'x-error': 'invalid_query',
      },
      limit: is.limit(100, 50),
    },
  },
  answers: { 200: tagList },
  errors: ['invalid_query'],
  run(service, call) {
    const { forum, commands } = service
    const { caller, query, connection } = call
    const page = commands.listTags(forum, { caller, ...query }, connection)
    return page instanceof Promise ? answerLater(service, call, page, answerOf) : answerOf(page)
  },
})

function answerOf({ tags, hasMore, position }: TagPage): Outcome {
  const body = renderList({
    tags,
    next_after: hasMore ? tags.at(-1)!.tag : null,
    has_more: hasMore,
    content_is_untrusted: true,
  })
  return { status: 200, body, position }
}

interface TagsBody {
  tags: string[]
}

const threadTags = is.object('ThreadTags', {
  thread_id: has.itsThread,
  tags: is.about('All of its tags.', {
    type: 'array',
    items: { ...is.text, 'x-example': 'infra' },
  }),
})

const renderTags = is.renderer(threadTags)

export const putTags = command<{ position: number }, TagsBody>({
  name: 'tagThread',
  summary: 'Replace the tags of a thread; by its author.',
  method: 'put',
  path: '/api/threads/:threadId/tags',
  id: is.threadId,
  auth: 'bearer',
  body: {
    title: 'NewTags',
    type: 'object',
    required: ['tags'],
    properties: { tags: has.tags },
  },
  answers: { 200: threadTags },
  errors: ['not_found', 'not_author', 'thread_locked'],
  decide: ({ forum, commands }, { caller, id, body }) =>
    commands.tagThread(forum, { caller, threadId: id, tags: body.tags }),
  render(_service, { id, body }, { position }) {
    return { status: 200, body: renderTags({ thread_id: id, tags: body.tags }), position }
  },
})

export const tagRoutes = [putTags, getTags]
