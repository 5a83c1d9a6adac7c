// Records of publishing: a thread with its first message, or a reply.

import { partition } from '../../base/partition.ts'
import { detailsOf } from '../../kernel/receipts.ts'
import {
  field,
  kind,
  number,
  numbers,
  optional,
  type Timed,
  text,
  texts,
} from '../../kernel/record.ts'
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
  /** How long it lives after its newest message; 0 or absent: without end. */
  ttlSeconds?: number | undefined
}

export const postRecords = {
  'thread.posted': kind({
    code: 3,
    version: 4,
    fields: {
      by: number,
      id: text,
      messageId: text,
      title: text,
      escapedContent: text,
      visibility: field<Visibility>(),
      participants: numbers,
      key: text,
      client: text,
      mentions: numbers,
      messageType: optional(text),
      tags: optional(texts),
      ttlSeconds: optional(number),
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

  'reply.posted': kind({
    code: 4,
    version: 3,
    fields: {
      by: number,
      thread: number,
      messageId: text,
      escapedContent: text,
      key: text,
      client: text,
      mentions: numbers,
      /** A hash of the request's conditions (kernel/receipts.ts, R4). */
      details: optional(number),
      messageType: optional(text),
    },
    apply(state, position, record) {
      const { by, thread, at, details } = record
      state.threads.actors.tell(thread, { type: 'replied', position })
      addSubscription(state, by, thread, position)
      const message = addMessage(state, position, thread, record)
      state.receipts.add(by, record.key, 'reply', message, at, details)
    },
  }),

  /** Nobody sees the thread from now on. */
  'thread.expired': kind({
    code: 9,
    version: 1,
    fields: { thread: number },
    apply(state, position, { thread }) {
      hideThread(state, thread, position)
      state.expiredPosition = position
    },
  }),

  /** The newest `messages` of the messages that an expired thread still has are erased. */
  'thread.erased': kind({
    code: 13,
    version: 1,
    fields: { thread: number, messages: number },
    apply(state, position, { thread, messages: count }) {
      state.threads.actors.tell(thread, { type: 'erased', position })
      for (let i = 0; i < count; i++) forgetNewest(state, thread, position)
      state.erasedPosition = position
    },
  }),
}

/**
 * Takes the thread off all lists, so that nobody finds it. Its followers keep their subscriptions
 * for some time, which nothing shows (forum/feed/records.ts, `endExpired`).
 */
function hideThread(state: State, thread: number, position: number): void {
  const { threads, tags, claims, privateThreads } = state
  const isPublic = threads.isPublic(thread)
  if (claims.of(thread) !== null) claims.release(thread, 'released')
  tags.change(thread, [], isPublic)
  const author = threads.actors.columns.author.get(thread)
  const members = isPublic ? [] : new Set([author, ...threads.participants(thread)])
  for (const member of members) {
    const length = privateThreads.length(member)
    privateThreads.deleteAt(
      member,
      partition(length, (i) => privateThreads.get(member, i) < thread),
    )
  }
  state.moderation.delete('locked', thread)
  state.onExpiring(thread)
  threads.expire(thread, position)
  state.onNews(threadTopic(thread)) // its waiting polls end
}

/** Erases the newest message that an expired thread still has. */
function forgetNewest(state: State, thread: number, position: number): void {
  const { threads, messages, moderation } = state
  const message = threads.forgetMessage(thread)
  moderation.delete('removed', message)
  state.onForgotten(message, position)
  messages.forget(message)
}

/** Returns the hash of what a request for a thread says beside what is compared (R4). */
export function detailsOfThread({
  tags = [],
  ttlSeconds = 0,
}: Pick<NewThread, 'tags' | 'ttlSeconds'>): number {
  return detailsOf({
    tags: tags.length === 0 ? undefined : tags.join(' '),
    ttlSeconds: ttlSeconds || undefined,
  })
}

/** Adds a thread without its first message, which has this position; returns its number. */
export function addThread(state: State, position: number, record: NewThread): number {
  const { by, id, title, visibility, at, participants, tags = [], ttlSeconds = 0 } = record
  const author = state.identities.id(by)
  const nameJson = state.identities.nameJson(by)
  // A spread of the record would take a twentieth of the time of a new thread.
  const entry = renderEntry({ id, author, nameJson, title, visibility, at })
  const thread = state.threads.add(id, entry, { visibility, participants, tags })
  const created = { type: 'created', position, author: by, visibility, ttlSeconds } as const
  state.threads.actors.tell(thread, created)
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
  const [author, type] = [by, messageType || undefined]
  const entry = { id, seq, author, signature, thread, escapedContent, mentionIds, type, at }
  const message = state.messages.add(entry)
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
