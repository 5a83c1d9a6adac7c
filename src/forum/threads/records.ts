// Records of publishing: a thread with its first message, or a reply.

import { detailsOf } from '../../kernel/receipts.ts'
import { kind, type Timed } from '../../kernel/record.ts'
import { feedTopic, tagTopic, threadTopic } from '../../kernel/topics.ts'
import { addSubscription } from '../feed/records.ts'
import type { State } from '../state.ts'
import type { Visibility } from './machine.ts'
import { renderEntry } from './table.ts'

/** The fields of records that add a message. */
export interface NewMessage extends Omit<Timed, 'type'> {
  /** The author's number. */
  by: number
  messageId: string
  /**
   * The content as a string in JSON, with its quotation marks: the log is replayed 1.19 times as
   * fast as when `apply` escapes it.
   */
  escapedContent: string
  /** A hash of the author's address, or '' if no limit needs it. */
  client: string
  /** Numbers of the identities that it mentions, each once, in the order of the request. */
  mentions: readonly number[]
  /** What kind of message it is, in the words of its author; '' or absent if they do not say. */
  messageType?: string
}

interface NewThread extends Omit<Timed, 'type'> {
  /** The author's number. */
  by: number
  id: string
  title: string
  visibility: Visibility
  /** Numbers of identities, in the order of the request. */
  participants: readonly number[]
  /** At most eight, each once, in the order of the request. */
  tags?: readonly string[]
}

interface Keyed {
  /** The idempotency key. */
  key: string
}

export interface ThreadPosted extends NewThread, NewMessage, Keyed {
  type: 'thread.posted'
}

export interface ReplyPosted extends NewMessage, Keyed {
  type: 'reply.posted'
  thread: number
  /** A hash of the request's conditions (kernel/receipts.ts, R4). */
  details?: number
}

export const postRecords = {
  'thread.posted': kind<ThreadPosted>({
    code: 3,
    version: 3,
    fields: {
      by: true,
      id: true,
      messageId: true,
      title: true,
      escapedContent: true,
      visibility: true,
      participants: true,
      key: true,
      client: true,
      mentions: true,
      messageType: true,
      tags: true,
    },
    apply(state, position, record) {
      const { by, participants, at } = record
      const thread = addThread(state, position, record)
      for (const member of new Set([by, ...participants])) {
        addSubscription(state, member, thread, position)
      }
      const message = addMessage(state, position, thread, record)
      state.receipts.add(by, record.key, 'thread', message, at, detailsOfThread(record))
    },
  }),

  'reply.posted': kind<ReplyPosted>({
    code: 4,
    version: 3,
    fields: {
      by: true,
      thread: true,
      messageId: true,
      escapedContent: true,
      key: true,
      client: true,
      mentions: true,
      details: true,
      messageType: true,
    },
    apply(state, position, record) {
      const { by, thread, at, details } = record
      state.threads.actors.tell(thread, { type: 'replied', position })
      addSubscription(state, by, thread, position)
      const message = addMessage(state, position, thread, record)
      state.receipts.add(by, record.key, 'reply', message, at, details)
    },
  }),
}

/** Returns the hash of what a request for a thread says and its author may change later. */
export function detailsOfThread({ tags = [] }: { tags?: readonly string[] }): number {
  return detailsOf({ tags: tags.length === 0 ? undefined : tags.join(' ') })
}

/** Adds a thread without its first message, which has this position; returns its number. */
export function addThread(state: State, position: number, record: NewThread): number {
  const { by, id, visibility, participants, tags = [] } = record
  const author = state.identities.id(by)
  const nameJson = state.identities.nameJson(by)
  const entry = renderEntry({ ...record, author, nameJson })
  const thread = state.threads.add(id, entry, { visibility, participants, tags })
  state.threads.actors.tell(thread, { type: 'created', position, author: by, visibility })
  if (visibility === 'private') {
    for (const member of new Set([by, ...participants])) state.privateThreads.push(member, thread)
  } else for (const tag of state.tags.numbersOf(thread)) state.onNews(tagTopic(tag))
  return thread
}

/**
 * Adds a message to its thread and to the feeds of the identities that it mentions, reports it as
 * news, and counts it for quotas; returns its number. Nothing here depends on how many follow.
 */
export function addMessage(state: State, seq: number, thread: number, record: NewMessage): number {
  const { by, messageId: id, escapedContent, mentions, messageType, at } = record
  const { identities } = state
  const signature = identities.signature(by)
  const mentionIds = mentions.map((identity) => identities.id(identity))
  const said = { escapedContent, mentionIds, type: messageType || undefined }
  const message = state.messages.add({ id, seq, author: by, signature, thread, ...said, at })
  state.threads.addMessage(thread, message)
  state.quotas.count('messages', record)
  state.onNews(threadTopic(thread))
  for (const identity of mentions) {
    state.quotas.count('mentions', record)
    if (identity === by) continue // an identity's own messages are not in its feed
    state.feeds.mention(identity, message)
    state.onNews(feedTopic(identity))
  }
  return message
}
