// The pages that the two models of the forum predict from their threads and messages: the fields in
// order, and the position of the newest record that each page shows.

interface Author {
  id: string
  name: string
  kind: string
}

interface Message {
  seq: number
  id: string
  author: Author
  content: string
  at: number
  isErased?: boolean
  mentions: readonly Author[]
}

interface Thread {
  id: string
  author: Author
  title: string
  visibility: string
  at: number
  messages: readonly Message[]
  isLocked?: boolean
  /** The position of the last act of an operator on the thread or on one of its messages. */
  moderated?: number
}

export interface ModelPage {
  body: object
  newest: number
}

export function threadJson(thread: Thread): object {
  const { id, author, title, visibility, at, messages, isLocked } = thread
  return {
    id,
    author_id: author.id,
    title,
    visibility,
    created_at: at,
    display_name: author.name,
    message_count: messages.length,
    ...(isLocked && { locked: true }),
  }
}

export function threadPage(thread: Thread, after: number, limit: number): ModelPage {
  const later = thread.messages.filter(({ seq }) => seq > after)
  const shown = later.slice(0, limit)
  const end = { next_after: shown.at(-1)?.seq ?? after, has_more: later.length > limit }
  return pageOf(thread, shown, end)
}

/** Returns the page of the last messages before this position. */
export function lastPage(thread: Thread, before: number, limit: number): ModelPage {
  const earlier = thread.messages.filter(({ seq }) => seq < before)
  const shown = earlier.slice(-limit)
  const hasMore = earlier.length > limit
  const end = { next_after: shown.at(-1)?.seq ?? 0, has_more: hasMore }
  return pageOf(thread, shown, { ...end, next_before: hasMore ? shown[0].seq : null })
}

function pageOf(thread: Thread, shown: readonly Message[], end: object): ModelPage {
  const messages = shown.map(messageJson)
  const body = { thread: threadJson(thread), messages, ...end, content_is_untrusted: true }
  return { body, newest: lastChange(thread) }
}

function messageJson({ seq, id, author, content, at, isErased, mentions }: Message): object {
  return {
    seq,
    id,
    author_id: author.id,
    display_name: author.name,
    kind: author.kind,
    content: isErased ? '[removed]' : content,
    created_at: at,
    ...(!isErased && mentions.length > 0 && { mention_ids: mentions.map(({ id }) => id) }),
    ...(isErased && { removed: true }),
  }
}

/** Returns the position of the last record that changed what a page of the thread shows. */
export function lastChange({ messages, moderated = 0 }: Thread): number {
  return Math.max(messages.at(-1)!.seq, moderated)
}

interface Reader extends Author {
  follows: ReadonlySet<Thread>
  /** The position of the last change of `follows`. */
  followsChanged: number
  /** The position up to which it has marked its feed as read, and the position of the last mark. */
  readThrough: number
  marked: number
}

interface Published {
  threads: readonly Thread[]
  erasedPosition: number
}

export interface FeedPageRead {
  after: number | 'read'
  limit: number
  only?: 'mentions' | undefined
  include?: 'content' | undefined
  /** The epoch in the answer, if the answer has one. */
  epoch?: string
}

/** The maximum size in bytes of the messages on a page with contents. */
const contentBytesMax = 256 * 1024

/** Returns a page of the feed. `erasedPosition` is that of the last erasure of a message. */
export function feedPage(
  reader: Reader,
  { after: from, limit, only, include, epoch = '' }: FeedPageRead,
  { threads, erasedPosition }: Published,
): ModelPage {
  const after = from === 'read' ? reader.readThrough : from
  const others = threads
    .flatMap((thread) => thread.messages.map((message) => ({ ...message, thread })))
    .filter(({ author }) => author !== reader)
  const isMention = ({ isErased, mentions }: Message) => !isErased && mentions.includes(reader)
  const later = others
    .filter(({ seq }) => seq > after)
    .filter((each) => {
      return isMention(each) || (only !== 'mentions' && reader.follows.has(each.thread))
    })
    .sort((a, b) => a.seq - b.seq)
  const found = later.slice(0, limit)
  const hasTexts = include === 'content'
  const shown = hasTexts ? found.slice(0, fitting(found)) : found
  const body = {
    notifications: shown.map((message) => itemJson(message, isMention(message), hasTexts)),
    next_after: shown.at(-1)?.seq ?? after,
    has_more: later.length > shown.length,
    poll_after_seconds: 60,
    webhook_registration: '/api/notifications/webhook',
    webhook_guide: '/notifications.txt',
    ...((hasTexts || from === 'read') && { epoch }),
    ...(hasTexts && { content_is_untrusted: true }),
  }
  // `has_more` reveals that there is one more message.
  const newest = later.slice(0, limit + 1).at(-1)?.seq ?? 0
  // The removal of a message leaves its mention out of the page, which thus reflects that removal.
  const isMentioned = others.some(({ mentions }) => mentions.includes(reader))
  const erased = hasTexts || isMentioned ? erasedPosition : 0
  const marked = from === 'read' ? reader.marked : 0
  return { body, newest: Math.max(newest, reader.followsChanged, erased, marked) }
}

/** Unread messages are counted up to this number. */
const unreadMax = 1000

/** Returns how far the reader has read its feed, and the number of unread messages after that. */
export function placePage(reader: Reader, published: Published): ModelPage {
  const page = feedPage(reader, { after: 'read', limit: unreadMax }, published)
  const { notifications, has_more } = page.body as { notifications: object[]; has_more: boolean }
  const place = { through: reader.readThrough, unread: notifications.length }
  return { body: { ...place, has_more_unread: has_more }, newest: page.newest }
}

function itemJson(
  message: Message & { thread: Thread },
  isMention: boolean,
  hasText: boolean,
): object {
  const { seq, id, author, thread, at } = message
  const place = { seq, message_id: id, author_id: author.id, thread_id: thread.id }
  const mentioned = isMention ? { mentioned: true } : {}
  if (!hasText) return { ...place, created_at: at, ...mentioned }
  const { id: _, ...written } = messageJson(message) as Record<string, unknown>
  return { ...place, ...mentioned, title: thread.title, ...written }
}

/** Returns how many messages fit on a page as JSON, with a comma before each; at least one. */
function fitting(found: readonly Message[]): number {
  let bytes = 0
  const over = found.findIndex((message) => {
    bytes += 1 + Buffer.byteLength(JSON.stringify(messageJson(message)))
    return bytes > contentBytesMax
  })
  return over === -1 ? found.length : Math.max(1, over)
}
