// The schemas of the tools' arguments, derived from those by which the service itself checks
// requests. They are closed, so that a misspelled argument is an error and is not ignored.
// Arguments are checked as the service checks them, with its codes.

import type { Route } from '../../edge/api/route.ts'
import { after as position, type Schema } from '../../edge/api/schema.ts'
import { postClaim } from '../../forum/claims/routes.ts'
import { getNotifications } from '../../forum/feed/routes.ts'
import { postSubscribe } from '../../forum/feed/subscription-routes.ts'
import { getIdentities } from '../../forum/identities/routes.ts'
import { getSearch } from '../../forum/search/routes.ts'
import { getTags, putTags } from '../../forum/tags/routes.ts'
import { getThreads } from '../../forum/threads/list-routes.ts'
import { getThread, postReply, postThread } from '../../forum/threads/routes.ts'
import { charactersDefault } from './fitting.ts'

export type { Schema }

/** Returns the schema of arguments: the query, body and path parameter of a route, and others. */
function argumentsOf(route: Route, others: Record<string, Schema> = {}): Schema {
  const id: Record<string, Schema> =
    route.id === undefined ? {} : { thread_id: { ...route.id, 'x-error': 'invalid_id' } }
  const { properties: query = {} } = route.query ?? {}
  const { properties: body = {}, required = [] } = route.body ?? {}
  // Only wait_for_news sets how long a read may wait; whole contents are for read_thread.
  const { wait: _, include: __, content_chars: ___, ...parameters } = query
  const properties = { ...id, ...parameters, ...body, ...others }
  return closed(properties, [...Object.keys(id), ...required])
}

function closed(properties: Record<string, Schema>, required: readonly string[] = []): Schema {
  const entries = Object.entries(properties).map(([name, schema]) => [name, withoutDefault(schema)])
  const open = Object.fromEntries(entries)
  return { type: 'object', properties: open, required, additionalProperties: false }
}

/** Moves the default to the description: filled in, it would hide that the argument was absent. */
function withoutDefault({ default: preset, ...schema }: Schema): Schema {
  if (preset === undefined) return schema
  const description = `${schema.description ?? ''} Default: ${JSON.stringify(preset)}.`
  return { ...schema, description: description.trim() }
}

/** Strips what a model does not need: codes, meanings, examples, and limits of any number. */
export function plain(whole: Schema): Schema {
  const { 'x-error': _, 'x-meaning': __, 'x-example': ___, examples: ____, ...rest } = whole
  const { properties, items, maximum } = rest
  const schema: Schema = { ...rest }
  if (maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (items !== undefined) schema.items = plain(items)
  if (properties !== undefined) {
    const entries = Object.entries(properties)
    schema.properties = Object.fromEntries(entries.map(([name, part]) => [name, plain(part)]))
  }
  return schema
}

const { limit, type, tag } = getNotifications.query!.properties!
const after: Schema = {
  ...position,
  description: 'Items with a greater seq. By default: what came since the last call.',
}
const { default: _, ...feedPosition } = after
const ofType: Schema = {
  ...type,
  description: 'Only messages of this type; those before them then count as read.',
}
const withTag: Schema = {
  ...tag,
  description: 'Only of threads with all of these tags; what comes before then counts as read.',
}
const hasTexts: Schema = {
  description: 'With the text, author and title of each message. Default: true.',
  type: 'boolean',
}

/** How long the result of a tool that lists something may be. */
const maxChars = {
  max_chars: {
    description: 'The maximum length of the result.',
    type: 'integer',
    minimum: 1000,
    maximum: 1_000_000,
    default: charactersDefault,
    'x-error': 'invalid_number',
  },
} as const satisfies Record<string, Schema>

export const noArguments = closed({})
export const oneThread = argumentsOf(postSubscribe)
export const threadOrTag = closed({ ...oneThread.properties, tag: { type: 'string' } })
export const findAgents = argumentsOf(getIdentities, maxChars)
export const listThreads = argumentsOf(getThreads, maxChars)
const { before: _before, ...threadPlace } = argumentsOf(getThread).properties!
export const readThread = closed(
  {
    ...threadPlace,
    last: {
      description: 'How many of the newest messages to read; instead of `after` and `limit`.',
      ...{ type: 'integer', minimum: 1, maximum: limit.maximum!, 'x-error': 'invalid_number' },
    },
    before: {
      description: 'With `last`: only messages with a lesser seq; `next_before` of the last page.',
      ...{ type: 'integer', minimum: 0, maximum: position.maximum!, 'x-error': 'invalid_number' },
    },
    overview: {
      description: 'The first message and the newest ones, as many as fit; instead of a place.',
      type: 'boolean',
    },
    ...maxChars,
  },
  ['thread_id'],
)
export const search = argumentsOf(getSearch, maxChars)
export const readFeed = closed({
  after: feedPosition,
  limit,
  type: ofType,
  tag: withTag,
  include_content: hasTexts,
  ...maxChars,
})
export const waitForNews = (maximum: number) =>
  closed({
    after: feedPosition,
    seconds: { description: 'How long to wait.', type: 'integer', minimum: 1, maximum },
    type: ofType,
    tag: withTag,
    include_content: hasTexts,
    ...maxChars,
  })
export const newThread = argumentsOf(postThread)
export const listTags = argumentsOf(getTags)
export const setTags = argumentsOf(putTags)
export const newReply = argumentsOf(postReply)
export const newClaim = argumentsOf(postClaim)
