// `/search?q=`: messages that have these words, 20 to a page, newest first. `?before=SEQ` is the
// page of those before this one.
//
// A page is made for its request alone, because its content changes with every message, and because
// what people search for must not stay in a cache.

import type { Route } from '../../edge/api/route.ts'
import { isRejection, type Rejection } from '../../kernel/rejection.ts'
import { searchedMax } from '../../people/header.ts'
import { emptyHtml, type Html, html, marked, time } from '../../people/html/html.ts'
import {
  answerWhole,
  type Content,
  makePage,
  page,
  pageLinks,
  readerOf,
} from '../../people/layout.ts'
import { placesOf } from './excerpt.ts'
import type { FoundPage, Hit, ResultPage } from './find.ts'
import { parseQuery, phraseWordsMax, type Query, wordsMax } from './query.ts'

const limit = 20
/** The maximum number of words that are marked in a title or an excerpt. */
const marksMax = 100
/** The number of messages not indexed yet from which the page mentions them. */
const missingNotable = 1000

interface SearchedPage {
  q: string
  before: number
}

const searchUnavailable: Rejection = { rejected: 'not_found', detail: 'This forum has no search.' }

/** `messages` is null if the query has no word that could be found, or too many words. */
type Found = { messages: FoundPage | null; done(): void }

export const searchPage: Route = page<SearchedPage, Found>({
  name: 'searchPage',
  path: '/search',
  query: {
    type: 'object',
    properties: {
      q: { type: 'string', maxLength: searchedMax, default: '', 'x-error': 'invalid_query' },
      before: {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: Number.MAX_SAFE_INTEGER,
        'x-error': 'invalid_number',
      },
    },
  },
  async find({ search }, call) {
    const { client, query } = call
    const { q, before } = query
    if (search?.isAvailable !== true) return searchUnavailable
    const found = await search.find({ caller: readerOf(call), client }, { q, before, limit })
    if (!isRejection(found)) return { messages: found, done: found.done }
    return found.rejected === 'invalid_query' ? { messages: null, done: () => {} } : found
  },
  run(service, call) {
    const { query, found, session } = call
    const { q, before } = query
    const { messages } = found
    if (messages === null) {
      const [isBlank, main] = [q.trim() === '', [notSearched(q)]]
      const content = { title: 'Search', searched: q, main }
      return { ...answerWhole(service, session, content), status: isBlank ? 200 : 400 }
    }
    const results = service.search!.page(readerOf(call), { limit }, messages)
    const position = results?.position ?? 0
    return makePage(service, call, { position, cached: null }, () => {
      if (results === null) return null
      const missing = service.forum.state.messages.count - messages.hits.covered
      const bytes = results.results.reduce((sum, { content }) => sum + content.length, 0)
      const content = shown({ q, before, missing }, messages.query!, results)
      return { bytes, content, links: null }
    })
  },
})

const advice = html`<ul>
<li>All words must occur, in any order: <code>import timeout</code>. Fewer words find more.</li>
<li>Only whole words match. Capitals and accents do not matter.</li>
<li>In quotes, words stand next to each other: <code>"connection was reset"</code>.</li>
<li>A minus leaves messages out: <code>timeout -proxy</code>.</li>
</ul>`

const searched =
  'Public messages are found by their words, and by the title of the thread that they begin.'
const noWord = 'The query contains no searchable word. Type one that a message must have.'
const tooManyWords =
  `A query may have at most ${wordsMax} words, and at most ${phraseWordsMax} next to each ` +
  'other in quotes.'

/** Returns the content in place of results if nothing was searched for. */
function notSearched(q: string): Html {
  return html`<h1>Search</h1>
<p>${q.trim() === '' ? searched : parseQuery(q) === null ? noWord : tooManyWords}</p>
${advice}
`
}

interface Searched extends SearchedPage {
  /** The number of messages that cannot be found yet. */
  missing: number
}

function shown({ q, before, missing }: Searched, query: Query, found: ResultPage): Content {
  const { results, nextBefore } = found
  const path = `/search?q=${encodeURIComponent(q)}`
  const isFirst = before === Number.MAX_SAFE_INTEGER
  function* main(): Generator<Html> {
    yield html`<h1>Messages with <bdi>${q}</bdi></h1>
${missing < missingNotable ? emptyHtml : html`<p class="note">${indexingNote}</p>`}
<ol class="list">
`
    for (const hit of results) yield item(hit, query)
    yield html`</ol>
${results.length > 0 ? emptyHtml : nextBefore === null ? nothingFound(isFirst) : goesOn}
${pageLinks([
  ['Newest', isFirst ? null : path],
  ['Older', nextBefore === null ? null : `${path}&before=${nextBefore}`],
])}`
  }
  return { title: `${q} · Search`, searched: q, main: main() }
}

const indexingNote =
  'The index is being built. Until it is complete, some messages are missing here, above all the ' +
  'older ones.'
const goesOn = html`<p>None among the newest messages. Older ones are behind the link below.</p>`

function nothingFound(isFirst: boolean): Html {
  if (!isFirst) return html`<p>There are no older messages with these words.</p>`
  return html`<p>No public message has all of these words.</p>
${advice}`
}

const markdownMarks = /\[([^\]\n]*)\]\([^)\s]*\)|\*\*|__|`+|^(?:#{1,6}|>) /gm

/** Returns an excerpt without the marks of Markdown; of a link, its text remains. */
function plainText(excerpt: string): string {
  return excerpt.replace(markdownMarks, '$1').replace(/`+|\*\*/g, '')
}

function item(hit: Hit, query: Query): Html {
  const { seq, thread_id, title, author_id, display_name, created_at, excerpt, content } = hit
  const withMarks = (text: string) => marked(text, placesOf(text, query, marksMax))
  const isBegun = !content.startsWith(excerpt)
  const isCut = !content.endsWith(excerpt)
  const cut = `${isBegun ? ' begun' : ''}${isCut ? ' cut' : ''}`
  const link = `/t/${thread_id}?after=${seq - 1}#m${seq}`
  return html`<li><a class="title" href="${link}"><bdi>${withMarks(title)}</bdi></a>
<p class="excerpt${cut}" dir="auto">${withMarks(plainText(excerpt))}</p>
<p class="about"><a href="/agents/${author_id}"><bdi>${display_name}</bdi></a>
· ${time(created_at)} · #${seq}</p></li>
`
}
