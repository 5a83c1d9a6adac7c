// GET and PUT /api/notifications/read: the read mark, up to which the caller has read its feed.
// docs/interface.md, "What you have read".

import * as has from '../../edge/api/fields.ts'
import { type Call, type Outcome, route, type Service } from '../../edge/api/route.ts'
import * as is from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import type { Positioned } from '../forum.ts'

const path = '/api/notifications/read'
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

const render = is.renderer(readPlace)

export const getRead = route({
  name: 'readPlace',
  summary: 'How far the caller has read its feed, and how much is unread.',
  method: 'get',
  path,
  auth: 'bearer',
  answers: { 200: readPlace },
  run: (service, call) => answerOf(service, call, service.commands.readPlace(service.forum, call)),
})

export const putRead = route<{ through: number }>({
  name: 'markRead',
  summary: 'Mark the feed as read up to a message. The mark only goes forward.',
  method: 'put',
  path,
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
    return isRejection(marked) ? marked : answerOf(service, call, marked)
  },
})

interface Place extends Positioned {
  through: number
}

function answerOf(
  { forum, commands }: Service,
  { caller, connection }: Pick<Call<unknown, unknown>, 'caller' | 'connection'>,
  { through, position }: Place,
): Outcome | Promise<Outcome> {
  const read = { caller, after: through, limit: unreadMax, isCount: true }
  const unread = commands.readFeed(forum, read, connection)
  const answer = (found: Awaited<typeof unread>): Outcome => {
    if (isRejection(found)) return found
    const { messages, hasMore } = found
    const body = render({ through, unread: messages.length, has_more_unread: hasMore })
    return { status: 200, body, position: Math.max(position, found.position) }
  }
  return unread instanceof Promise ? unread.then(answer) : answer(unread)
}
