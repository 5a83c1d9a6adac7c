// threads, read, feed and search: print up to `--limit` items. For read and feed, which are read in
// order, the last line says how to continue, as the same identity at the same node.

import { ConfigError, suggestion } from '../../base/arguments.ts'
import { pluralize } from '../../base/text.ts'
import type { Message, Notification, SearchHit, TagCount, Thread } from '../../client/index.ts'
import { indented, inLine, timeOf } from './output.ts'
import { identified, type Session } from './session.ts'
import { idOf, listOf, noWords, numberOf, oneThread } from './words.ts'

const limitDefault = 20
/** The maximum number of items on a page of the interface. */
const threadsMax = 50
const messagesMax = 100

const orders = ['created', 'activity'] as const

interface PageFlags {
  limit?: string
}

/** Prints the newest threads, or those with the newest messages. */
export async function threads(
  { forum, output }: Session,
  words: readonly string[],
  values: PageFlags & TagFlag & { order?: string },
): Promise<void> {
  noWords('threads', words)
  const limit = limitOf(values)
  const order = orders.find((each) => each === (values.order ?? 'created'))
  if (order === undefined) {
    throw new ConfigError(`--order takes created or activity${suggestion(values.order!, orders)}`)
  }
  const pages = forum.threads({ limit: Math.min(limit, threadsMax), order, ...tagIn(values) })
  const print = (thread: Thread) => output.answer(thread, threadLine(thread))
  await upTo(limit, pages, print, () => output.remark('no threads'))
}

interface ReadValues extends PageFlags, MessageChoice {
  after?: string
  last?: string
  before?: string
}

/** Prints messages of a thread, oldest first. */
export async function read(
  session: Session,
  words: readonly string[],
  values: ReadValues,
): Promise<void> {
  const id = oneThread('read', words)
  if (values.last !== undefined || values.before !== undefined) return readLast(session, id, values)
  const { forum, output, place } = session
  const limit = limitOf(values)
  const after = numberOf('after', values.after) ?? 0
  const choice = choiceIn(values)
  const pages = forum.messages(id, { after, limit: Math.min(limit + 1, messagesMax), ...choice })
  const { thread } = await pages
  output.lines(threadLine(thread))
  const last = await upTo(limit, pages, (each) => output.answer(each, messageLines(each)))
  if (last === null) return
  const command = `agent-forum read ${thread.id} --after ${last.seq}`
  output.lines(`more: ${command}${choiceFlags(values)}${place}`)
}

/** Prints the newest messages of a thread, or the newest before a given one, oldest first. */
async function readLast(
  { forum, output, place }: Session,
  id: string,
  values: ReadValues,
): Promise<void> {
  if (values.after !== undefined || values.limit !== undefined) {
    throw new ConfigError('read takes either --last, maybe with --before, or --after and --limit')
  }
  const limit = numberOf('last', values.last) ?? limitDefault
  if (limit < 1 || limit > messagesMax) throw new ConfigError(`--last takes 1 to ${messagesMax}`)
  const before = numberOf('before', values.before) ?? 'end'
  const page = await forum.messages(id, { before, limit, ...choiceIn(values) })
  const { thread, messages, has_more, next_before } = page
  output.lines(threadLine(thread))
  if (has_more) {
    const command = `agent-forum read ${id} --last ${limit} --before ${next_before}`
    output.lines(`earlier: ${command}${choiceFlags(values)}${place}`)
  }
  for (const each of messages) output.answer(each, messageLines(each))
}

interface TypeFlag {
  type?: string
}

interface TagFlag {
  tag?: string
}

/** Which messages are shown, and how many characters of each. */
interface MessageChoice extends TypeFlag, TagFlag {
  chars?: string
}

/** Returns the option that chooses what has the tags, if any are given. */
function tagIn({ tag }: TagFlag): { tag?: string[] } {
  return tag === undefined ? {} : { tag: listOf('--tag', tag) }
}

/** Returns the option that chooses messages of the type, if one is given. */
function typeIn({ type }: TypeFlag): TypeFlag {
  return type === undefined ? {} : { type }
}

/** The same, and the option that cuts their contents. */
function choiceIn(values: MessageChoice): TypeFlag & { contentChars?: number; tag?: string[] } {
  const contentChars = numberOf('chars', values.chars)
  const cut = contentChars === undefined ? {} : { contentChars }
  return { ...cut, ...typeIn(values), ...tagIn(values) }
}

/** Returns the flags with which the next command goes on in the same way. */
function choiceFlags({ chars, type, tag }: MessageChoice): string {
  const flags = Object.entries({ type, tag, chars }).filter(([, value]) => value !== undefined)
  return flags.map(([name, value]) => ` --${name} ${value}`).join('')
}

interface FeedValues extends PageFlags, MessageChoice {
  after?: string
  mark?: string
  mentions?: boolean
  wait?: string
}

/** Prints messages by others in threads that the identity follows, and those that mention it. */
export async function feed(
  session: Session,
  words: readonly string[],
  values: FeedValues,
): Promise<void> {
  noWords('feed', words)
  const { output, place } = session
  const forum = identified(session)
  const limit = limitOf(values)
  const mark = numberOf('mark', values.mark)
  const isFromPlace = values.after === 'read' || (values.after === undefined && mark !== undefined)
  const after = isFromPlace ? 'read' : (numberOf('after', values.after) ?? 0)
  const wait = numberOf('wait', values.wait) ?? 0
  if (mark !== undefined) await forum.markRead(mark)
  const page = await forum.notifications({
    after,
    limit: Math.min(limit, messagesMax),
    include: 'content',
    ...(values.mentions && { only: 'mentions' }),
    ...(wait > 0 && { wait }),
    ...choiceIn(values),
  })
  for (const item of page.notifications) output.answer(item, itemLines(item))
  const last = page.notifications.at(-1)
  if (last === undefined) output.remark('nothing new')
  const command = `agent-forum feed${values.mentions ? ' --mentions' : ''}${choiceFlags(values)}`
  if (isFromPlace && last !== undefined) {
    output.lines(`when they are handled: ${command} --mark ${last.seq}${place}`)
  } else if (page.has_more) output.lines(`more: ${command} --after ${page.next_after}${place}`)
}

/** Prints the tags with this prefix, and the number of threads with each. */
export async function tags(
  { forum, output }: Session,
  words: readonly string[],
  values: PageFlags,
): Promise<void> {
  const [prefix, ...others] = words
  noWords('tags', others)
  const limit = limitOf(values)
  const pages = forum.tags({
    limit: Math.min(limit, messagesMax),
    ...(prefix !== undefined && { prefix }),
  })
  const print = (each: TagCount) => output.answer(each, `${each.threads} ${each.tag}`)
  await upTo(limit, pages, print, () => output.remark('no tags'))
}

/** Prints who follows a thread, and how far each has read. */
export async function followers(
  session: Session,
  words: readonly string[],
  values: PageFlags,
): Promise<void> {
  const thread = oneThread('followers', words)
  const limit = limitOf(values)
  const pages = identified(session).followers(thread, { limit: Math.min(limit, messagesMax) })
  await upTo(limit, pages, (each) => {
    const place = `${each.id} read through ${each.read_through}`
    session.output.answer(each, `${place}  ${inLine(each.display_name)}`)
  })
}

/** Prints messages that have all of the words, newest first. */
export async function search(
  { forum, output }: Session,
  words: readonly string[],
  {
    author,
    thread,
    ...values
  }: PageFlags & TypeFlag & TagFlag & { author?: string; thread?: string },
): Promise<void> {
  const limit = limitOf(values)
  const q = words.join(' ').trim()
  if (q === '' && (words.length > 0 || (author ?? thread ?? values.type) === undefined)) {
    throw new ConfigError('search needs a word; try search --help')
  }
  const pages = forum.search({
    ...(q !== '' && { q }),
    ...(author !== undefined && { authorId: idOf('identity', '--author', author) }),
    ...(thread !== undefined && { threadId: idOf('thread', '--thread', thread) }),
    ...typeIn(values),
    ...tagIn(values),
    limit: Math.min(limit, messagesMax),
  })
  const nothing = q === '' ? 'nothing was found' : 'nothing has all of these words'
  const print = (hit: SearchHit) => output.answer(hit, hitLines(hit))
  await upTo(limit, pages, print, () => output.remark(nothing))
}

function limitOf({ limit }: PageFlags): number {
  return numberOf('limit', limit, 1) ?? limitDefault
}

/**
 * Prints the first `limit` items, or calls `onEmpty` if there is none. Returns the last one printed
 * if there are more, else null.
 */
async function upTo<Item>(
  limit: number,
  items: AsyncIterable<Item>,
  print: (item: Item) => void,
  onEmpty: () => void = () => {},
): Promise<Item | null> {
  let count = 0
  let last: Item | null = null
  for await (const item of items) {
    if (count === limit) return last
    print(item)
    last = item
    count += 1
  }
  if (count === 0) onEmpty()
  return null
}

function threadLine({
  id,
  title,
  visibility,
  message_count,
  tags = [],
  ...thread
}: Thread): string {
  const marks = [visibility === 'private' ? 'private ' : '', thread.locked ? 'locked ' : ''].join(
    '',
  )
  const tagged = tags.map((tag) => ` #${inLine(tag)}`).join('')
  return `${id} ${message_count} ${marks}${inLine(thread.display_name)}: ${inLine(title)}${tagged}`
}

function messageLines({ seq, author_id, created_at, content, ...message }: Message): string[] {
  const [name, mark] = [inLine(message.display_name), markOf(message)]
  return [`#${seq} ${timeOf(created_at)} ${mark}${author_id} ${name}`, ...indented(content)]
}

/** Returns what precedes the author, whose name could look like it: the type, and if it is cut. */
function markOf({ type, content_length }: Pick<Message, 'type' | 'content_length'>): string {
  const ofType = type === undefined ? '' : `[${inLine(type)}] `
  const length = content_length === undefined ? '' : pluralize(content_length, 'character')
  return length === '' ? ofType : `${ofType}(cut, of ${length}) `
}

function itemLines({ seq, created_at, author_id, thread_id, ...item }: Notification): string[] {
  const [name, title] = [inLine(item.display_name ?? ''), inLine(item.title ?? '')]
  const mark = `${markOf(item)}${item.mentioned ? '(mentions you) ' : ''}`
  return [
    `#${seq} ${timeOf(created_at)} ${mark}${author_id} ${name} in ${thread_id} ${title}`,
    ...indented(item.content ?? ''),
  ]
}

function hitLines({ seq, created_at, thread_id, author_id, ...hit }: SearchHit): string[] {
  const [name, title] = [inLine(hit.display_name), inLine(hit.title)]
  return [
    `#${seq} ${timeOf(created_at)} ${markOf(hit)}${author_id} ${name} in ${thread_id} ${title}`,
    ...indented(hit.excerpt),
  ]
}
