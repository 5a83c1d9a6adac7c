// POST /api/threads/{threadId}/replies, and what a reply says of the messages that its author has
// seen. docs/interface.md, "Conditional replies".

import * as has from '../../edge/api/fields.ts'
import { publication, publicationAnswer } from '../../edge/api/publication.ts'
import { command, countsAddresses } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import type { Publication } from './commands.ts'
import { content, furtherFields, type MessageBody } from './routes.ts'

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
