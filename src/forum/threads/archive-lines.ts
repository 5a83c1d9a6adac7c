// Threads and messages in an archive (forum/archive.ts).

import { contentCharactersMax, titleCharactersMax } from '../../base/text.ts'
import * as has from '../../edge/api/fields.ts'
import * as is from '../../edge/api/schema.ts'
import {
  BadLine,
  hexOf,
  identitiesOf,
  identityIds,
  identityOf,
  newestIn,
  numberedKind,
  position,
  refuseOlder,
  refuseTwice,
  threadOf,
  twice,
} from '../archive-line.ts'
import { type Visibility, visibilities } from './machine.ts'
import { addMessage, addThread } from './records.ts'

export const threadLine = numberedKind<{
  id: string
  author_id: string
  title: string
  visibility: Visibility
  created_at: number
  seq: number
  participant_ids?: string[]
  tags?: string[]
  ttl_seconds?: number
}>({
  fields: is.object(
    'thread',
    {
      id: is.threadId,
      author_id: is.identityId,
      title: { type: 'string', maxLength: titleCharactersMax },
      visibility: { enum: visibilities },
      created_at: is.time,
      display_name: is.text,
      seq: position,
      participant_ids: identityIds,
      tags: has.tags,
      ttl_seconds: has.ttlSeconds,
    },
    ['participant_ids', 'tags', 'ttl_seconds'],
  ),
  count: ({ threads }) => threads.count,
  isGone: ({ threads }, thread) => threads.isExpired(thread),
  line({ state: { threads, tags, identities }, entry }, number) {
    const { address, bytes } = threads.entry(number)
    const text = entry(address, bytes - ',"message_count":'.length)
    const ids = threads.participants(number).map((participant) => identities.id(participant))
    const rest = ids.length === 0 ? '' : `,"participant_ids":${JSON.stringify(ids)}`
    const { firstPosition, ttlSeconds } = threads.actors.columns
    const [seq, ttl] = [firstPosition.get(number), ttlSeconds.get(number)]
    const lives = ttl === 0 ? '' : `,"ttl_seconds":${ttl}`
    return `{"thread":${text},"seq":${seq}${rest}${tags.json(number)}${lives}}}`
  },
  add({ state }, { id, author_id, seq, participant_ids = [], created_at: at, ...fields }) {
    const { ttl_seconds: ttlSeconds } = fields
    const { threads } = state
    if (threads.find(hexOf(id)) !== -1) throw twice(id)
    refuseOlder(seq, newestIn(threads.actors.columns.firstPosition), state)
    const [by, participants] = [identityOf(state, author_id), identitiesOf(state, participant_ids)]
    return addThread(state, seq, { ...fields, id: hexOf(id), by, participants, at, ttlSeconds })
  },
})

export const messageLine = numberedKind<{
  thread_id: string
  seq: number
  id: string
  author_id: string
  content: string
  created_at: number
  mention_ids?: string[]
  type?: string
  removed?: boolean
}>({
  fields: is.object(
    'message',
    {
      thread_id: is.threadId,
      seq: position,
      id: is.messageId,
      author_id: is.identityId,
      display_name: is.text,
      kind: is.text,
      content: { type: 'string', maxLength: contentCharactersMax },
      created_at: is.time,
      mention_ids: { ...identityIds, maxItems: 10 },
      type: has.messageType,
      removed: is.flag,
    },
    ['mention_ids', 'type', 'removed'],
  ),
  count: ({ messages }) => messages.count,
  isGone: (state, message) => state.isGone(message),
  line({ state: { messages, threads }, entry }, number) {
    const text = entry(messages.address(number), messages.bytes(number))
    const threadId = threads.id(messages.thread(number))
    return `{"message":{"thread_id":"${threadId}",${text.slice(',{'.length)}}`
  },
  add(archived, fields) {
    const { state, removed } = archived
    const { seq, content, created_at: at, mention_ids = [], type: messageType = '' } = fields
    const { messages, threads } = state
    const thread = threadOf(state, fields.thread_id)
    const [by, mentions] = [identityOf(state, fields.author_id), identitiesOf(state, mention_ids)]
    const newest = messages.count - 1
    refuseOlder(seq, newest === -1 ? 0 : messages.seq(newest), state)
    if (newest !== -1 && at < messages.createdAt(newest)) {
      throw new BadLine('created_at is less than that of the message before')
    }
    if (![by, ...mentions].every((identity) => state.maySee(identity, thread))) {
      throw new BadLine('somebody is named who may not see the thread')
    }
    if (threads.messageCount(thread) > 0) {
      threads.actors.tell(thread, { type: 'replied', position: seq })
    } else if (seq !== threads.actors.columns.firstPosition.get(thread)) {
      throw new BadLine("seq is not the thread's, whose first message this is")
    }
    refuseTwice(archived, fields.id)
    const isRemoved = fields.removed === true
    const escapedContent = JSON.stringify(isRemoved ? '' : content)
    const message = { escapedContent, mentions, messageType }
    const messageId = hexOf(fields.id)
    const number = addMessage(state, seq, thread, { by, messageId, ...message, client: '', at })
    if (isRemoved) {
      messages.erase(number, state.identities.signature(by))
      removed.set(fields.id, number)
    }
    return number
  },
})
