// The answer to every kind of publishing: what was published, and what to do next.

import type { Publication } from '../../forum/threads/commands.ts'
import * as has from './fields.ts'
import { followUp, followUpEnd, preferenceApplied } from './follow-up.ts'
import type { Answer, Call, Service } from './route.ts'
import * as is from './schema.ts'

export const publication = is.object(
  'Publication',
  {
    thread_id: has.itsThread,
    message_id: has.itsMessage,
    author_id: has.authorId,
    created_at: is.time,
    read_url: is.about(
      'The path at which it can be read.',
      is.text,
      '/api/threads/thr_4b7d1f0c2a9e48d6b3f5a1c7e9d20486',
    ),
    published: is.about('Always true.', is.flag),
    replayed: has.replayed,
    unseen: is.about(
      'Only with `seen_seq`: how many messages by others came after it, counted up to 1000.',
      is.count,
      3,
    ),
    identity_mode: is.about(
      'Only for a message published by GET: `one-message-guest`.',
      is.text,
      'one-message-guest',
    ),
    follow_up: followUp,
  },
  ['unseen', 'identity_mode', 'follow_up'],
)

/**
 * Renders the answer, which is ASCII that needs no escaping. It is assembled from bytes, most of
 * which are the same in all answers, because a string of a kilobyte would be traversed three times.
 */
export function publicationAnswer(
  service: Service,
  call: Call<unknown, unknown>,
  published: Publication,
): Answer {
  const { threads, messages, identities } = service.forum.state
  const { message, replayed, position, unseen } = published
  const threadId = threads.id(messages.thread(message))
  const author = messages.author(message)
  const isByGuest = identities.kind(author) === 'compat'
  const start =
    `{"thread_id":"${threadId}","message_${messages.ids(message, identities.id(author))},` +
    `"created_at":${messages.createdAt(message)},` +
    `"read_url":"/api/threads/${threadId}","published":true,"replayed":${replayed}` +
    (unseen === undefined ? '' : `,"unseen":${unseen}`) +
    (isByGuest ? ',"identity_mode":"one-message-guest"' : '')
  const { bytes: end } = followUpEnd(service, call.isMinimal)
  const body = Buffer.allocUnsafe(start.length + end.length)
  body.write(start, 'latin1')
  body.set(end, start.length)
  const status = replayed ? 200 : 201
  return { status, body, isOwn: true, position, headers: preferenceApplied(call) }
}
