// Answers a search: which messages the index names, which of those the caller may read now, and an
// excerpt of each.
//
//   query ──findPage──▶ the index: numbers of messages ──pageOf──▶ access, text, excerpts
//
// F1. Access is decided by the state when the page is made; the index only proposes messages. Of
//     private threads it proposes only those of the caller (shard.ts, S3), so that messages which
//     the caller may not read make a page neither shorter nor slower.
// F2. A page ends early when its texts exceed `textBytesMax`, because excerpts take time in
//     proportion to them.
// F3. `indexedThrough` says how far the index has come; newer messages may be missing.

import { holderOf, nobody } from '../../kernel/network.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import type { Forum } from '../forum.ts'
import type { State } from '../state.ts'
import { firstBefore, taggedOf } from '../threads/queries.ts'
import { excerptOf } from './excerpt.ts'
import type { Hits, SearchRequest } from './link.ts'
import {
  isTooLong,
  marks,
  matchOf,
  parseQuery,
  partsOf,
  phraseWordsMax,
  type Query,
  wordsMax,
} from './query.ts'

/** The maximum size of the messages on one page, in bytes; the first one may exceed it. */
const textBytesMax = 64 << 10

/** The number of messages that are found for one page, of which those with the tags are shown. */
const taggedAmong = 512

export interface SearchQuery {
  q?: string
  author_id?: string
  thread_id?: string
  type?: string
  tag?: string[]
  /** Only messages with a lower seq are found. */
  before: number
  limit: number
  include?: string
  content_chars?: number
}

export interface FoundPage {
  hits: Hits
  /** The phrases that excerpts show; null: messages were found by their author or thread alone. */
  query: Query | null
  done(): void
}

export type Hit = ReturnType<typeof hitOf>

export interface ResultPage {
  results: Hit[]
  /** The `before` of the next page; null: this is the last one. */
  nextBefore: number | null
  indexedThrough: number
  position: number
}

/** The part of the host, or of a reader's link, that searches use. */
interface IndexAccess {
  /** Whether the index can answer, now or soon. */
  readonly isAvailable: boolean
  readonly link: { readonly covered: number; find(request: SearchRequest): Promise<Hits | null> }
}

/** The search of a node, as its routes use it. */
export class MessageSearch {
  readonly #forum: Forum
  readonly #index: IndexAccess

  constructor(forum: Forum, index: IndexAccess) {
    this.#forum = forum
    this.#index = index
  }

  get isAvailable(): boolean {
    return this.#index.isAvailable
  }

  find(searcher: Searcher, query: SearchQuery): Promise<FoundPage | Rejection> {
    return findPage(this.#forum, this.#index, searcher, query)
  }

  /** Returns the page of what was found; null if that needs text from disk, which is noted. */
  page(
    caller: number,
    query: Pick<SearchQuery, 'limit' | 'tag'>,
    found: FoundPage,
  ): ResultPage | null {
    return pageOf(this.#forum, caller, query, found)
  }
}

const noPositivePhrase: Rejection = {
  rejected: 'invalid_query',
  detail: 'q must contain a searchable word; it may be absent with author_id, thread_id or type.',
}
const tooManyWords: Rejection = {
  rejected: 'invalid_query',
  detail: `q must have at most ${wordsMax} words, and at most ${phraseWordsMax} in a phrase.`,
}
const searchUnavailable: Rejection = { rejected: 'not_found', detail: 'This node has no search.' }
const searchOverloaded: Rejection = {
  rejected: 'overloaded',
  detail: 'There are too many searches, or the index is starting.',
}

/** Who searches. `client`, the address, is needed only if there is no token. */
interface Searcher {
  caller: number
  client: string
}

/** Has the index look for one message more than the page shows. */
async function findPage(
  { state }: Forum,
  index: IndexAccess,
  { caller, client }: Searcher,
  { q, author_id, thread_id, type, tag, before, limit }: SearchQuery,
): Promise<FoundPage | Rejection> {
  if (!index.isAvailable) return searchUnavailable
  const query = q === undefined ? null : parseQuery(q)
  if (query !== null && isTooLong(query)) return tooManyWords
  const isNarrow = (author_id ?? thread_id ?? type) !== undefined
  if (query === null && (q !== undefined || !isNarrow)) return noPositivePhrase
  const author = author_id === undefined ? null : state.identities.findNamed(author_id)
  const thread = thread_id === undefined ? null : state.visibleThread(caller, thread_id)
  const first = firstBefore(state, before)
  // The index is not asked about authors and threads that are unknown, or private to others.
  if (author === nobody || thread === -1 || first === 0) return { ...noHits(index), query }
  const required = [
    ...(author === null ? [] : [marks.author(author)]),
    ...(thread === null ? [] : [marks.thread(thread)]),
    ...(type === undefined ? [] : [marks.type(type)]),
  ]
  const words = query ?? { all: [], none: [] }
  const isMember = caller !== nobody && state.privateThreads.length(caller) > 0
  const hits = await index.link.find({
    publicMatch: matchOf(words, required),
    privateMatch: isMember ? matchOf(words, [marks.member(caller), ...required]) : '',
    parts: partsOf(words),
    before: first,
    limit: tag === undefined ? limit + 1 : Math.max(limit + 1, taggedAmong),
    turn: holderOf(caller, client),
  })
  return hits === null ? searchOverloaded : { hits, query, done: hits.done }
}

function pageOf(
  { state, journal }: Forum,
  caller: number,
  { limit, tag: tags }: Pick<SearchQuery, 'limit' | 'tag'>,
  { hits, query }: FoundPage,
): ResultPage | null {
  const { messages } = state
  const { has } = taggedOf(state, { tags })
  const found = hits.messages.filter((message) => {
    return isShown(state, caller, message) && has(messages.thread(message))
  })
  const shown = upTo(found.slice(0, limit), (message) => messages.bytes(message))
  const entries = shown.map((message) => entryOf(state, message))
  if (state.text.blocks.isMissing) return null
  const results = entries.flatMap((entry, i) => {
    if (entry === null) return []
    return [hitOf(state, shown[i], entry, query)]
  })
  // The next page has a message that was found but does not fit, or that was not looked at.
  const next = shown.length < found.length ? shown.at(-1)! : hits.next
  const { durable } = journal
  const seqOf = (message: number) =>
    message < messages.count ? messages.seq(message) : durable + 1
  return {
    results,
    nextBefore: next === null || next === 0 ? null : seqOf(next),
    indexedThrough: Math.min(durable, seqOf(hits.covered) - 1),
    position: Math.max(
      state.erasedPosition,
      state.expiredPosition,
      tags === undefined ? 0 : state.tags.changedPosition,
      ...results.map(({ seq }) => seq),
    ),
  }
}

/** Returns whether the caller may read the message. A lagging reader may not know it yet. */
function isShown(state: State, caller: number, message: number): boolean {
  const { messages } = state
  return message < messages.count && state.maySee(caller, messages.thread(message))
}

/** Returns the messages whose texts fit on a page, at least one. */
function upTo(found: readonly number[], bytesOf: (message: number) => number): number[] {
  let bytes = 0
  const end = found.findIndex((message) => {
    bytes += bytesOf(message)
    return bytes > textBytesMax
  })
  return found.slice(0, end === -1 ? found.length : Math.max(1, end))
}

interface Entry {
  title: string
  content: string
  type?: string | undefined
}

/** Returns the texts of a message; null if it is removed, or its texts have yet to be read. */
function entryOf({ text, messages, threads }: State, message: number): Entry | null {
  const entry = messages.json(message)
  const { address, bytes } = threads.entry(messages.thread(message))
  const thread = text.text(address, 0, bytes)
  if (text.blocks.isMissing) return null
  const { content, type, removed } = JSON.parse(entry) as Entry & { removed?: true }
  // A thread's entry ends before its number of messages (forum/threads/table.ts).
  const { title } = JSON.parse(`${thread}0}`) as { title: string }
  return removed ? null : { title, content, type }
}

function hitOf(state: State, message: number, entry: Entry, query: Query | null) {
  const { title, content, type } = entry
  const { messages, identities, threads } = state
  const author = messages.author(message)
  return {
    seq: messages.seq(message),
    message_id: `msg_${messages.id(message)}`,
    thread_id: threads.id(messages.thread(message)),
    title,
    author_id: identities.id(author),
    display_name: JSON.parse(identities.nameJson(author)) as string,
    created_at: messages.createdAt(message),
    /** Undefined if the message has none. */
    type,
    excerpt: excerptOf(content, query),
    content,
  }
}

/** Returns the result of a search that can find nothing, without asking the index. */
function noHits({ link: { covered } }: IndexAccess): Pick<FoundPage, 'hits' | 'done'> {
  const done = () => {}
  return { hits: { messages: [], next: null, covered, done }, done }
}
