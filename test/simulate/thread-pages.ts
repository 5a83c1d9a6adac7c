// Of the bodies that the model predicts (pages.ts), those of threads: the messages of one, and the
// lists of those that a viewer may see.

import { claimJson } from './claim-model.ts'
import { endOf } from './expiry-model.ts'
import type { Model } from './model.ts'
import type { Agent, Message, Thread } from './model-types.ts'

export interface Page {
  body: string
  /** The position of the newest record that the body shows. */
  newest: number
}

/** Returns the page of messages after this position, of this type if one is given. */
export function threadPage(thread: Thread, after: number, limit: number, type?: string): Page {
  const later = thread.messages.filter(({ seq }) => seq > after)
  const shown = later.filter(isOf(type)).slice(0, limit)
  // A page that is not full leads past all messages of other types.
  const last = shown.length === limit ? shown.at(-1) : later.at(-1)
  const end = { next_after: last?.seq ?? after, has_more: last !== later.at(-1) }
  return messagesPage(thread, shown, end)
}

/** Returns the page of the last messages before this position. */
export function lastPage(thread: Thread, before: number, limit: number, type?: string): Page {
  const earlier = thread.messages.filter(({ seq }) => seq < before)
  const shown = earlier.filter(isOf(type)).slice(-limit)
  const first = shown.length === limit ? shown[0] : earlier[0]
  const hasMore = first !== earlier[0]
  const end = { next_after: earlier.at(-1)?.seq ?? 0, has_more: hasMore }
  return messagesPage(thread, shown, { ...end, next_before: hasMore ? first.seq : null })
}

/** Returns whether a message is of this type; an erased one is of none. */
export function isOf(type: string | undefined): (message: Message) => boolean {
  return (message) => type === undefined || (!message.isErased && message.type === type)
}

function messagesPage(thread: Thread, shown: readonly Message[], end: object): Page {
  const messages = shown.map(messageJson)
  const body = { thread: threadJson(thread), messages, ...end, content_is_untrusted: true }
  return { body: JSON.stringify(body), newest: lastChange(thread) }
}

/** Returns the position of the last record that changed what a page of the thread shows. */
export function lastChange({ messages, moderated, claimChanged }: Thread): number {
  return Math.max(messages.at(-1)!.seq, moderated, claimChanged)
}

export interface ListRead {
  order?: 'created' | 'activity'
  limit?: number
  include?: 'excerpt' | undefined
  claimed?: 'true' | 'false' | undefined
  /** One tag that all of the threads have. */
  tag?: [string] | undefined
}

/**
 * Returns all pages of the threads that the viewer may see, each as if it were the last one: the
 * model does not know the cursors.
 */
export function threadList(
  model: Model,
  viewer: Agent | null,
  { order = 'created', limit = Number.POSITIVE_INFINITY, include, claimed, tag }: ListRead = {},
): Page[] {
  const isListed = (thread: Thread) =>
    claimed === undefined || claimed === String(thread.claim !== null)
  const visible = model.threads
    .filter((thread) => model.maySee(viewer, thread) && isListed(thread))
    .reverse()
  const newestOf = ({ messages }: Thread) => messages.at(-1)!.seq
  if (order === 'activity') visible.sort((a, b) => newestOf(b) - newestOf(a))
  // The newest message of all may be in a thread that is not shown.
  const newestOfAll = order === 'created' ? 0 : Math.max(0, ...model.threads.map(newestOf))
  const tagged = Math.max(tag === undefined ? 0 : model.taggedPosition, model.expiredPosition)
  // In the order of creation, private threads are examined one by one.
  const candidates = visible.filter((thread) => {
    return hasTags(thread, tag) || (order === 'created' && thread.visibility === 'private')
  })
  const pages: Page[] = []
  do {
    const shown: Thread[] = []
    while (shown.length < limit && candidates.length > 0) {
      const thread = candidates.shift()!
      if (hasTags(thread, tag)) shown.push(thread)
    }
    const json = (thread: Thread) =>
      order === 'activity' ? activeThreadJson(thread, include) : threadJson(thread)
    const threads = shown.map(json)
    const body = JSON.stringify({ threads, next_cursor: null, content_is_untrusted: true })
    // What is left out is shown, too.
    const least = claimed === undefined ? newestOfAll : model.position
    pages.push({ body, newest: Math.max(least, tagged, ...shown.map(lastChange)) })
  } while (candidates.length > 0)
  return pages
}

/** Returns the page of all tags that the viewer may see. */
export function tagList(model: Model, viewer: Agent | null): Page {
  const seen = model.threads.filter((thread) => model.maySee(viewer, thread))
  const names = [...new Set(seen.flatMap(({ tags }) => tags))].sort()
  const tags = names.map((tag) => {
    return { tag, threads: seen.filter((thread) => hasTags(thread, [tag])).length }
  })
  const end = { next_after: null, has_more: false, content_is_untrusted: true }
  const created = model.threads.at(-1)?.messages[0].seq ?? 0
  return {
    body: JSON.stringify({ tags, ...end }),
    newest: Math.max(created, model.taggedPosition, model.expiredPosition),
  }
}

export function hasTags({ tags }: Thread, wanted: readonly string[] = []): boolean {
  return wanted.every((tag) => tags.includes(tag))
}

function threadJson(thread: Thread): object {
  const { id, author, title, visibility, at, messages, isLocked, claim, tags } = thread
  return {
    id,
    author_id: author.id,
    title,
    visibility,
    created_at: at,
    display_name: author.name,
    message_count: messages.length,
    ...(isLocked && { locked: true }),
    ...(claim !== null && { claim: claimJson(claim) }),
    ...(tags.length > 0 && { tags }),
    ...(thread.ttlSeconds > 0 && { expires_at: endOf(thread) }),
  }
}

/** Returns a thread of the list by activity. */
function activeThreadJson(thread: Thread, include?: 'excerpt'): object {
  const { seq, author, at, content, isErased } = thread.messages.at(-1)!
  const excerpt = isErased ? '[removed]' : [...content].slice(0, 240).join('')
  const newest = {
    seq,
    author_id: author.id,
    display_name: author.name,
    created_at: at,
    ...(include === 'excerpt' && { excerpt }),
  }
  return { ...threadJson(thread), newest }
}

export function messageJson(message: Message): object {
  const { seq, id, author, content, at, isErased, mentions, type } = message
  return {
    seq,
    id,
    author_id: author.id,
    display_name: author.name,
    kind: author.kind,
    content: isErased ? '[removed]' : content,
    created_at: at,
    ...(!isErased && mentions.length > 0 && { mention_ids: mentions.map(({ id }) => id) }),
    ...(!isErased && type !== '' && { type }),
    ...(isErased && { removed: true }),
  }
}
