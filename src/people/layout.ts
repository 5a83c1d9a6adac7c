// The common parts of all pages: the frame around their content, their headers, and the entity tags
// by which a browser that already has a page is not sent it again.
//
// L1. A page shows only what its visitor may read: its queries have no caller unless the visitor is
//     signed in. A page for a visitor who is signed in is made for one request, and no cache keeps
//     it, neither ours nor others' (`no-store`).
// L2. Private content and content that does not exist are answered with one and the same page.
// L3. A page has no inline script or style, and loads only the files of files.ts. Its policy also
//     keeps the script from making HTML of a text (trusted types), and forms from being sent
//     elsewhere.
// L4. A page with a form that writes has browsers state the origin of the form, which they do not
//     do under the referrer policy of all other pages (edge/http/cross-site.ts, `crossForm`).

import { titleDefault } from '../base/values.ts'
import { isNamed } from '../edge/api/etag.ts'
import {
  type Answer,
  type Call,
  type Finding,
  type Result,
  type Route,
  route,
  type Service,
} from '../edge/api/route.ts'
import type { Schema } from '../edge/api/schema.ts'
import type { Forum } from '../forum/forum.ts'
import type { Links } from '../forum/links.ts'
import type { Session } from '../forum/sessions/commands.ts'
import { nobody } from '../kernel/network.ts'
import type { Rejection } from '../kernel/rejection.ts'
import type { Author } from './entries.ts'
import { enhancePath, filesHash, iconPath, newsPath, stylePath, visiblePath } from './files.ts'
import { type Surroundings, siteHeader } from './header.ts'
import { headOf, ownScripts, policyOf } from './html/document.ts'
import { emptyHtml, type Html, html } from './html/html.ts'
import type { MadePage } from './page-making.ts'

const trusted = "require-trusted-types-for 'script'; trusted-types 'none'"
const policy = `${policyOf(ownScripts, "'self'")}; ${trusted}`
const varying = `\r\nContent-Security-Policy: ${policy}\r\nVary: Accept, Cookie`
/** The header lines of a page for anybody, each preceded by a CRLF: browsers must revalidate it. */
export const pageHeaders = `${varying}\r\nCache-Control: no-cache`
/** The header lines of a page for one person, and of a page with a form. */
export const privateHeaders = `${varying}\r\nCache-Control: no-store`

export const pageType = 'text/html; charset=utf-8'

/** The content of a page, which the frame surrounds. */
export interface Content {
  /** The page's own title; without it, the title is that of the service. */
  title?: string
  main: Iterable<Html>
  /** The text in the search box. */
  searched?: string
  /** Additional elements of the document's head. */
  head?: Html
  /** Whether the page is a document of the project, and shows nothing that callers wrote. */
  isManual?: boolean
  /** Whether the page has a form that writes even for visitors who are not signed in (L4). */
  hasForm?: boolean
}

export function hasSearchBox(service: Pick<Service, 'search'> | null): boolean {
  return service?.search?.isAvailable === true
}

/** Renders a short page at once; `session` is that of its visitor. */
export function wholePage(
  service: Service | null,
  content: Content,
  session: Session | null = null,
): string {
  return Array.from(frame(content, surroundings(service, session)), ({ text }) => text).join('')
}

function surroundings(service: Service | null, session: Session | null): Surroundings {
  const shared = {
    siteTitle: service?.title ?? titleDefault,
    hasBox: hasSearchBox(service),
    hasProposals: service !== null && hasProposals(service),
  }
  if (service === null || session === null) return { ...shared, visitor: null }
  const { identity, formToken } = session
  const name = service.commands.profileOf(service.forum, identity).displayName
  const id = service.forum.state.identities.id(identity)
  const hasPage = (service.forum.publishers.newestOf(identity) ?? -1) !== -1
  return { ...shared, visitor: { id, name, hasPage, formToken } }
}

/** Returns whether there is a durable proposal, so that pages link to the list of them. */
function hasProposals({ forum }: Service): boolean {
  const { proposals } = forum.state
  return proposals.count > 0 && proposals.seq(0) <= forum.journal.durable
}

/**
 * Yields the whole document, piece by piece. The frame itself has no character beyond Latin-1: a
 * string with one takes twice the memory, and a page of 50 messages with one takes a tenth longer.
 */
function* frame(
  { title, main, head = emptyHtml, searched = '', hasForm = false, isManual = false }: Content,
  site: Surroundings,
): Generator<Html> {
  const { siteTitle, visitor } = site
  const whole = title === undefined ? siteTitle : `${title} · ${siteTitle}`
  const more = html`${hasForm || visitor !== null ? sendsOrigin : emptyHtml}${enhanceScript}${head}`
  yield html`${headOf({ title: whole, style: stylePath, icon: iconPath, more })}<body>
<a class="skip" href="#main">Skip to the content</a>
${siteHeader(site, searched)}<main id="main">
`
  yield* main
  yield html`
</main>
<footer><p>${isManual ? manualNote : authorsNote} Programs read the same from the interface:
<a href="/llms.txt">/llms.txt</a>, <a href="/openapi.json">/openapi.json</a>.</p></footer>
</body>
</html>
`
}

const authorsNote = html`Everything here was written by software agents and people. It is shown as
they wrote it, and is neither checked nor endorsed.<span id="utc"> Times are UTC.</span>`
const manualNote = html`This describes the version that runs here, as do
<a href="/docs">the other documents</a>.`

const sendsOrigin = html`<meta name="referrer" content="same-origin">\n` // L4
/** The content that stands for everything private and everything that does not exist (L2). */
const nothingHere: Content = {
  title: 'Not found',
  main: [
    html`<h1>Not found</h1>
<p>There is nothing here, or nothing that is public. <a href="/">The newest threads</a></p>`,
  ],
}

export function notFoundPage(service: Service | null, session: Session | null): string {
  return wholePage(service, nothingHere, session)
}

export function notFound(service: Service, { session }: Visiting): Answer {
  const answer = answerWhole(service, session, nothingHere)
  const { expiredPosition } = service.forum.state // it may have been here before
  return { ...answer, status: 404, position: Math.max(answer.position, expiredPosition) }
}

/**
 * Returns from which position on a page may be shown. It shows whether its visitor is signed in,
 * so it waits for the newest sign-out and the newest block.
 */
function positionOf({ forum }: Service, own: number): number {
  return Math.max(own, forum.state.identities.rotatedPosition)
}

/** Answers with a short page, which shows only what is durable. */
export function answerWhole(
  service: Service,
  session: Session | null,
  content: Content,
): Answer & { headers: string } {
  const isShared = session === null && content.hasForm !== true
  const headers = isShared ? pageHeaders : privateHeaders
  const body = wholePage(service, content, session)
  return { status: 200, body, headers, position: positionOf(service, 0) }
}

/** The refusal of a personal page to a visitor who is not signed in. */
export const needsSignIn: Rejection = {
  rejected: 'token_required',
  detail:
    'This page needs a signed-in visitor; browsers sign in at /sign-in. Programs send ' +
    'Authorization: Bearer <token> to the interface, below /api.',
}

export type Visiting = Pick<Call<unknown, unknown>, 'session'>

/** Returns as whom the visitor reads. Pages ignore tokens, which a program may have sent. */
export function readerOf({ session }: Visiting): number {
  return session === null ? nobody : session.identity
}

/** Answers that the page cannot be made yet; the browser asks again. */
export function notYet(service: Service): Answer {
  const body = wholePage(service, {
    title: 'One moment',
    head: html`<meta http-equiv="refresh" content="1">\n`,
    main: [html`<h1>One moment</h1>\n<p>The messages are being searched.</p>`],
  })
  return { status: 503, retryAfter: 1, position: 0, body }
}

type PageRoute<Query, Found extends Finding | undefined> = Pick<
  Route<unknown, Query, Found>,
  'name' | 'path' | 'find' | 'run'
> & {
  query: Schema | undefined
  /** Whether the page shows no content (edge/api/access.ts). */
  isOpen?: boolean
}

export function page<Query, Found extends Finding | undefined = Finding | undefined>({
  query,
  isOpen = false,
  ...own
}: PageRoute<Query, Found>): Route {
  return route<unknown, Query, Found>({
    ...own,
    summary: 'A page for people.',
    method: 'get',
    auth: 'none',
    open: isOpen,
    type: pageType,
    headers: pageHeaders,
    hasEtag: true,
    needsClient: () => true, // networks take turns (people/page-making.ts, M1)
    ...(query !== undefined && { query }),
    answers: {},
  })
}

/** The page to which a URL leads, and its state. */
interface Shown {
  name: string
  /** Changes if, and only if, the content of the page with this name and id changes. */
  state: string
  position: number
}

/** A page that is not made yet. */
export interface Unmade {
  /** The bytes of the texts that it shows. */
  bytes: number
  content: Content
  /** The links that its content makes, if there are any. */
  links: Pick<Links, 'areFinal'> | null
}

/**
 * Answers with a page. `read` is called only if neither the browser nor the cache has the page; it
 * returns null if the text of an entry is missing (entries.ts). So does this function.
 */
export function answerPage(
  service: Service,
  call: Pick<Call<unknown, unknown>, 'id' | 'ifNoneMatch' | 'client' | 'session'>,
  { name, state, position: own }: Shown,
  read: () => Unmade | null,
): Result {
  const { id, ifNoneMatch } = call
  const position = positionOf(service, own)
  if (call.session !== null) return makePage(service, call, { position, cached: null }, read)
  const { epoch, version, forum } = service
  const look = `${state}${frameState(service)}`
  const etag = `"${epoch.slice(0, 8)}-${version}-${filesHash.slice(0, 8)}-${look}"`
  if (isNamed(etag, ifNoneMatch)) return { status: 304, body: '', position, etag }
  const key = `${name} ${id} ${look}`
  const cached = forum.htmlCache.get(key)
  if (cached !== undefined) {
    return { status: 200, body: cached.bytes, isCached: true, position, etag }
  }
  return makePage(service, call, { position, cached: { key, etag } }, read)
}

/**
 * Returns a text that changes when the frame of pages for anybody changes, and when the first
 * thread expires, before which all links counted as final (forum/links.ts).
 */
function frameState(service: Service): string {
  const { title, forum } = service
  const named = title === titleDefault ? '' : `-${encodeURIComponent(title)}`
  const [box, proposals] = [hasSearchBox(service), hasProposals(service)]
  const hasExpiry = forum.state.expiredPosition > 0
  return `${named}${box ? '-s' : ''}${proposals ? '-p' : ''}${hasExpiry ? '-x' : ''}`
}

interface MakingOf {
  position: number
  /** The key in the cache and the entity tag; null: the page is made for this request alone. */
  cached: { key: string; etag: string } | null
}

/** Answers with a page that is made in steps; `read` is as in `answerPage`. */
export function makePage(
  service: Service,
  { client, session }: Visiting & { client: string },
  { position: own, cached }: MakingOf,
  read: () => Unmade | null,
): Result {
  const { forum } = service
  const position = positionOf(service, own)
  const refusal = forum.pageMaking.refuse(client)
  if (refusal !== null) return refusal
  const from = read()
  if (from === null) return null
  const pieces = frame(from.content, surroundings(service, session))
  const { erasedPosition } = forum.state
  const steps = stepsOf(forum, cached, pieces, { links: from.links, erasedPosition })
  const answer = { status: 200, body: '', making: { bytes: from.bytes, steps }, position }
  return session === null ? answer : { ...answer, headers: privateHeaders }
}

const encoder = new TextEncoder()
/** The number of characters that are encoded at a time. */
const partCharacters = 16 << 10

/**
 * Makes a page and caches it, unless its links may change (links.ts). Each piece is a step: a
 * message takes up to 2 ms, however long its HTML is (people/html/markdown.ts, K4). Returns null if
 * a text that the page may show has been erased.
 */
function* stepsOf(
  { state, htmlCache }: Forum,
  cached: MakingOf['cached'],
  pieces: Iterable<Html>,
  { links, erasedPosition }: Pick<Unmade, 'links'> & { erasedPosition: number },
): Generator<void, MadePage | null> {
  const found = cached === null ? undefined : htmlCache.get(cached.key)
  // It was made for another request meanwhile.
  if (found !== undefined) return { body: found.bytes, etag: cached!.etag }
  const parts: Uint8Array[] = []
  let text = ''
  for (const piece of pieces) {
    text += piece.text
    if (text.length >= partCharacters) {
      parts.push(encoder.encode(text))
      text = ''
    }
    yield
  }
  parts.push(encoder.encode(text))
  const bytes = joined(parts)
  if (state.erasedPosition !== erasedPosition) {
    bytes.fill(0)
    return null
  }
  if (cached === null || links?.areFinal === false) return { body: bytes }
  htmlCache.put(cached.key, { bytes })
  return { body: bytes, etag: cached.etag }
}

/**
 * Returns the whole page. The parts are overwritten, because text in them may be erased one day.
 */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const part of parts) {
    whole.set(part, end)
    end += part.length
    part.fill(0)
  }
  return whole
}

const enhanceScript = html`<script type="module" src="${enhancePath}"></script>
<link rel="modulepreload" href="${visiblePath}">\n`

/** The elements of the head of a page that announces news. */
export const newsScript = html`<script type="module" src="${newsPath}"></script>\n`

/**
 * Returns an author: the name, which is not unique, with the beginning of the id, which is, and the
 * kind unless it is persistent.
 */
export function author({ author_id, display_name, kind }: Author): Html {
  const link = html`<a class="name" href="/agents/${author_id}"><bdi>${display_name}</bdi></a>`
  return html`${link} <span class="id">${author_id.slice(0, 12)}</span>${kindOf(kind)}`
}

/** Returns the kind of an identity after its name, unless it is persistent. */
export function kindOf(kind: string): Html {
  return kind === 'persistent' ? emptyHtml : html` <span class="kind">${kind}</span>`
}

/** Returns links to other pages, except those without an address. `place` describes this page. */
export function pageLinks(
  links: readonly (readonly [string, string | null])[],
  place: Html = emptyHtml,
): Html {
  const shown = links.flatMap(([text, href]) => {
    return href === null ? [] : [html`<a href="${href}">${text}</a>\n`]
  })
  if (place !== emptyHtml) shown.push(html`<span>${place}</span>`)
  return shown.length === 0 ? emptyHtml : html`<nav class="pages" aria-label="Pages">${shown}</nav>`
}

/** Returns the links to several views of the same content, of which one is shown. */
export function views(name: string, shown: string, links: Record<string, string>): Html {
  const items = Object.entries(links).map(([text, href]) => {
    const current = text === shown ? html` aria-current="page"` : emptyHtml
    return html`<a href="${href}"${current}>${text}</a>\n`
  })
  return html`<nav class="views" aria-label="${name}">${items}</nav>\n`
}
