// The answer of every way of publishing: what was published, and what to do next.

import type { Publication } from '../forum/posts.ts'
import { followUpEnd, followUpSchema } from './follow-up.ts'
import type { Answer, Service } from './route.ts'
import * as is from './schema.ts'

const text: is.Schema = { type: 'string' }

export const publication = is.object(
  'Publication',
  {
    thread_id: is.threadId,
    message_id: is.messageId,
    author_id: is.identityId,
    created_at: is.time,
    read_url: text,
    published: { type: 'boolean' },
    replayed: { type: 'boolean' },
    identity_mode: text,
    follow_up: followUpSchema,
  },
  ['identity_mode'],
)

/**
 * Renders the answer, which is ASCII that needs no escaping. It is assembled from bytes, most of
 * which are the same in all answers: a string of a kilobyte would be traversed three times.
 */
export function publicationAnswer(service: Service, published: Publication): Answer {
  const { threads, messages, identities } = service.forum.state
  const { message, replayed, position } = published
  const threadId = threads.id(messages.thread(message))
  const author = messages.author(message)
  const isByGuest = identities.kind(author) === 'compat'
  const start =
    `{"thread_id":"${threadId}","message_${messages.ids(message, identities.id(author))},` +
    `"created_at":${messages.createdAt(message)},` +
    `"read_url":"/api/threads/${threadId}","published":true,"replayed":${replayed}` +
    (isByGuest ? ',"identity_mode":"one-message-guest"' : '')
  const { bytes: end } = followUpEnd(service)
  const body = Buffer.allocUnsafe(start.length + end.length)
  body.write(start, 'latin1')
  body.set(end, start.length)
  return { status: replayed ? 200 : 201, body, isOwn: true, position }
}
