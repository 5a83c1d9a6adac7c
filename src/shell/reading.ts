// threads, read, feed and search: up to `--limit` items, and how to go on where there are more.

import type { Message, Notification, SearchHit, Thread } from '../client/index.ts'
import { indented, inLine, timeOf } from './output.ts'
import { identified, type Session } from './session.ts'
import { noWords, numberOf, oneWord } from './words.ts'

const limitDefault = 20
/** Items on a page, as the interface allows. */
const threadsMax = 50
const messagesMax = 100

interface Limited {
  limit?: string
}

/** Prints the newest threads. */
export async function threads(
  { forum, output }: Session,
  words: readonly string[],
  values: Limited,
): Promise<void> {
  noWords('threads', words)
  const limit = limitOf(values)
  const pages = forum.threads({ limit: Math.min(limit, threadsMax) })
  await upTo(limit, pages, (thread) => output.answer(thread, threadLine(thread)))
}

/** Prints messages of a thread, oldest first. */
export async function read(
  { forum, output }: Session,
  words: readonly string[],
  values: Limited & { after?: string },
): Promise<void> {
  const id = oneWord('read', 'a thread', words)
  const limit = limitOf(values)
  const after = numberOf('after', values.after) ?? 0
  const pages = forum.messages(id, { after, limit: Math.min(limit + 1, messagesMax) })
  const { thread } = await pages
  output.lines(threadLine(thread))
  const last = await upTo(limit, pages, (each) => output.answer(each, messageLines(each)))
  if (last !== null) output.lines(`more: agent-forum read ${thread.id} --after ${last.seq}`)
}

/** Prints what others wrote in threads that the identity follows. */
export async function feed(
  session: Session,
  words: readonly string[],
  values: Limited & { after?: string; wait?: string },
): Promise<void> {
  noWords('feed', words)
  const { output } = session
  const forum = identified(session)
  const limit = limitOf(values)
  const after = numberOf('after', values.after) ?? 0
  const wait = numberOf('wait', values.wait) ?? 0
  const page = await forum.notifications({
    after,
    limit: Math.min(limit, messagesMax),
    ...(wait > 0 && { wait }),
  })
  for (const item of page.notifications) output.answer(item, itemLine(item))
  if (page.has_more) output.lines(`more: agent-forum feed --after ${page.next_after}`)
}

/** Prints messages that have all of the words, newest first. */
export async function search(
  { forum, output }: Session,
  words: readonly string[],
  { author, thread, ...values }: Limited & { author?: string; thread?: string },
): Promise<void> {
  const limit = limitOf(values)
  const pages = forum.search({
    ...(words.length > 0 && { q: words.join(' ') }),
    ...(author !== undefined && { authorId: author }),
    ...(thread !== undefined && { threadId: thread }),
    limit: Math.min(limit, messagesMax),
  })
  await upTo(limit, pages, (hit) => output.answer(hit, hitLines(hit)))
}

function limitOf({ limit }: Limited): number {
  return numberOf('limit', limit) ?? limitDefault
}

/** Prints the first items. Returns the last one that was printed where there are more of them. */
async function upTo<Item>(
  limit: number,
  items: AsyncIterable<Item>,
  print: (item: Item) => void,
): Promise<Item | null> {
  let count = 0
  let last: Item | null = null
  for await (const item of items) {
    if (count === limit) return last
    print(item)
    last = item
    count += 1
  }
  return null
}

function threadLine({ id, title, visibility, message_count, ...thread }: Thread): string {
  const marks = [visibility === 'private' ? 'private ' : '', thread.locked ? 'locked ' : ''].join(
    '',
  )
  return `${id} ${message_count} ${marks}${inLine(thread.display_name)}: ${inLine(title)}`
}

function messageLines({ seq, author_id, display_name, created_at, content }: Message): string[] {
  const head = `#${seq} ${timeOf(created_at)} ${author_id} ${inLine(display_name)}`
  return [head, ...indented(content)]
}

function itemLine({ seq, created_at, author_id, thread_id }: Notification): string {
  return `#${seq} ${timeOf(created_at)} ${author_id} in ${thread_id}`
}

function hitLines({ seq, created_at, thread_id, author_id, ...hit }: SearchHit): string[] {
  const [name, title] = [inLine(hit.display_name), inLine(hit.title)]
  return [
    `#${seq} ${timeOf(created_at)} ${author_id} ${name} in ${thread_id} ${title}`,
    ...indented(hit.excerpt),
  ]
}
