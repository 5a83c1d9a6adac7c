// The pages of the operators' port on which operators moderate and control access. They do what
// `agent-forum admin` does, by the same commands (commands.ts) and so with the same records.
//
//   GET  /admin                  what is new, acts, invitations and forms; or how to sign in
//   GET  /admin?id=ID            a thread, message, identity or invitation, with its actions
//   POST /admin/COMMAND          runs it; redirects to ?id=ID, or shows a code or token
//   GET  /admin/sign-in?code=…   a button, whose POST with the code begins a session, once
//   POST /admin/sign-out         ends the session
//
// D1. Only a browser of the owner of the data directory is signed in (browser-sessions.ts).
// D2. A form must come from a page of this port: its origin and its form token are checked.
// D3. A command that cannot be undone runs only if the box in its form is ticked.
// D4. A page is shown when everything in the state is durable, as the lists of the socket are.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { messageOf } from '../../../wal/errors.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { ownScripts, policyOf } from '../../people/html/document.ts'
import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import { type BrowserSession, BrowserSessions, sessionSeconds } from './browser-sessions.ts'
import { type Administered, actsPage, runCommand } from './commands.ts'
import {
  confirmPage,
  labels,
  mainPage,
  type Problem,
  secretPage,
  section,
  sentencePage,
  signInPage,
  subjectPage,
} from './page-parts.ts'
import { type ErrorJson, integer } from './protocol.ts'
import { bodyOf } from './socket.ts'
import { findSubject, identityLink, idLink } from './subjects.ts'

const bodyBytesMax = 16 * 1024
const finalCommands = new Set(['remove-message', 'rotate-token', 'revoke-invite'])
/** The policy of these pages: their forms may be sent only to this port. */
const formPolicy = policyOf(ownScripts, "'self'")

/** An answer for operators/ops/serve.ts; `headers` are added to those of all its answers. */
interface PageAnswer {
  status: number
  type: string
  body: string
  headers: Record<string, string>
}

interface Opened {
  node: Administered
  publicUrl: string | null
}

export class OperatorPages {
  readonly #log: Logger
  readonly #sessions = new BrowserSessions()
  #opened: Opened | null = null
  #origin = ''

  constructor(log: Logger) {
    this.#log = log
  }

  /**
   * Called with the origin of these pages when the port is known. The name of the cookie contains
   * the port, because browsers send cookies to all ports of a host.
   */
  listen(origin: string): void {
    this.#origin = origin
  }

  /** Called when the node serves. Until then, whatever needs the node is answered with 503. */
  open(node: Administered, publicUrl: string | null): void {
    this.#opened = { node, publicUrl }
  }

  /** Called when the node stops. */
  close(): void {
    this.#opened = null
  }

  /** Returns an address at which a browser can sign in, once and within ten minutes. */
  signInUrl(): string {
    return `${this.#origin}/admin/sign-in?code=${this.#sessions.newCode()}`
  }

  /** Answers a request for `/admin` or a path below it. Never rejects. */
  async answer(request: IncomingMessage): Promise<PageAnswer> {
    try {
      return await this.#answer(request)
    } catch (error) {
      // A request that ends early, or a bug: the node continues.
      this.#log.error({ why: messageOf(error) }, 'admin_request_failed')
      return shown(500, sentence('This failed. The log of the node says why.'))
    }
  }

  async #answer(request: IncomingMessage): Promise<PageAnswer> {
    const { method, url, headers } = request
    const [path, query = ''] = url!.split('?', 2)
    const name = path!.slice('/admin/'.length)
    const searchParams = new URLSearchParams(query)
    const session = this.#sessions.find(cookieOf(headers, this.#cookieName))
    if (method === 'POST') return this.#post(session, name, request)
    if (method !== 'GET' && method !== 'HEAD') {
      return { ...shown(405, sentence('GET and POST only')), headers: { Allow: 'GET, HEAD, POST' } }
    }
    const code = searchParams.get('code')
    if (name === 'sign-in' && code !== null) return shown(200, confirmPage(code))
    if (name === 'sign-in') return shown(401, signInPage(null))
    if (name !== '') return shown(404, sentence('There is no such page.'))
    if (session === null) return shown(401, signInPage(null))
    return this.#page(session, searchParams, null)
  }

  get #cookieName(): string {
    return `agent-forum-operator-${new URL(this.#origin).port}`
  }

  async #post(
    session: BrowserSession | null,
    name: string,
    request: IncomingMessage,
  ): Promise<PageAnswer> {
    if (!isOwnOrigin(request.headers)) {
      return shown(403, sentence('This form was sent by a page of another origin.'))
    }
    const body = await bodyOf(request, bodyBytesMax)
    if (body === null) return shown(413, sentence('This form is too long.'))
    const sent = new URLSearchParams(body)
    if (name === 'sign-in') return this.#signIn(session, sent.get('code') ?? '')
    if (session === null) return shown(401, signInPage(null))
    if (sent.get('form') !== session.formToken) {
      const text = 'This form is older than your session. Check it, and send it once more.'
      return this.#page(session, sent, { status: 403, text, sent })
    }
    if (name === 'sign-out') {
      this.#sessions.end(session)
      return redirect('/admin', this.#cookieLine('', 0))
    }
    return this.#run(session, name, sent)
  }

  #signIn(before: BrowserSession | null, code: string): PageAnswer {
    const cookie = this.#sessions.begin(code)
    if (cookie !== null && before !== null) this.#sessions.end(before)
    if (cookie !== null) return redirect('/admin', this.#cookieLine(cookie, sessionSeconds))
    const text = 'This address was used already, or is older than ten minutes.'
    return shown(403, signInPage({ status: 403, text }))
  }

  async #run(session: BrowserSession, command: string, sent: URLSearchParams): Promise<PageAnswer> {
    sent.set('command', command)
    const refuse = (status: number, text: string) => {
      return this.#page(session, sent, { status, text, sent })
    }
    if (this.#opened === null) return shown(503, sentence(notServing))
    if (finalCommands.has(command) && sent.get('sure') !== 'yes') {
      return refuse(400, 'Nothing was done. Tick the box: this cannot be undone.')
    }
    const { uses, days, ...texts } = Object.fromEntries(sent)
    const fields = { ...texts, uses: integer(uses ?? ''), days: integer(days ?? '') }
    const [status, done] = await runCommand(this.#opened.node, command, fields)
    if ('error' in done) return refuse(status, sentenceOf(done))
    const isSecret = 'code' in done || 'token' in done
    if (isSecret) this.#sessions.renewForms(session) // a reload would run it again
    if ('code' in done) {
      const about = html`This is the code of the invitation ${done.id}.`
      return shown(200, secretPage(session, about, done.code))
    }
    if ('token' in done) {
      const about = html`This is the token of ${done.id}.`
      return shown(200, secretPage(session, about, done.token))
    }
    const id = 'invitation' in done ? done.invitation.id : done.id
    return redirect(`/admin?id=${encodeURIComponent(id)}`)
  }

  /**
   * Answers with the page of the subject that the query or the form names, or with the first page.
   */
  async #page(
    session: BrowserSession,
    fields: URLSearchParams,
    problem: Problem | null,
  ): Promise<PageAnswer> {
    if (this.#opened === null) return shown(503, sentence(notServing))
    const { node } = this.#opened
    const page = await this.#render(this.#opened, session, fields, problem)
    const rejection = await node.whenDurable()
    if (rejection === null) return page
    return shown(503, sentence(sentences[rejection.rejected] ?? busy))
  }

  async #render(
    { node, publicUrl }: Opened,
    session: BrowserSession,
    fields: URLSearchParams,
    problem: Problem | null,
  ): Promise<PageAnswer> {
    const id = fields.get('id')?.trim() ?? ''
    // A code of an invitation belongs to a form on the first page.
    const found = id === '' || id.startsWith('inv_') ? null : await findSubject(node, id)
    if (found !== null && typeof found !== 'string') {
      if (isRejection(found)) return shown(503, sentence(sentences[found.rejected] ?? busy))
      return shown(problem?.status ?? 200, subjectPage({ session, problem }, found, publicUrl))
    }
    const sent = new URLSearchParams({ id })
    const shownProblem = problem ?? (found === null ? null : { status: 404, text: found, sent })
    const after = Number(fields.get('after') ?? 0)
    const acts = actsPage(node.state, Number.isSafeInteger(after) ? after : 0)
    const recent = await recentSections(node)
    const invitations = node.invitations()
    const overview = { session, problem: shownProblem, acts, invitations, recent }
    return shown(shownProblem?.status ?? 200, mainPage(overview))
  }

  #cookieLine(value: string, seconds: number): Record<string, string> {
    const line = `${this.#cookieName}=${value}; Path=/admin; Max-Age=${seconds}`
    return { 'Set-Cookie': `${line}; HttpOnly; SameSite=Strict` }
  }
}

const notServing = 'The node is not serving requests: it is starting or stopping.'
const busy = 'The node is busy. Try again in a moment.'

const sentences: Record<string, string> = {
  no_leader: 'This node is not the leader. Use the port of the leader.',
  storage_full: 'The disk of the node is full. Nothing was done.',
  storage_failed: 'The storage of the node has failed. Nothing was done.',
  overloaded: busy,
  unreadable: 'The stored text is damaged, and the node is repairing it. Try again later.',
  not_found: 'This does not exist any more.',
}

function sentenceOf({ error, message }: ErrorJson): string {
  if (message === undefined) return sentences[error] ?? error
  return message.replace(/^[a-z-]+ takes --(\w+),? /, (_, field: string) => `${labels[field]}: `)
}

const sentence = (text: string) => sentencePage('Moderation', text)

function shown(status: number, body: string): PageAnswer {
  // With `no-referrer`, as on the rest of this port, browsers send forms with the origin `null`.
  const headers = { 'Content-Security-Policy': formPolicy, 'Referrer-Policy': 'same-origin' }
  return { status, type: 'text/html; charset=utf-8', body, headers }
}

function redirect(path: string, headers: Record<string, string> = {}): PageAnswer {
  return { ...shown(303, ''), headers: { ...headers, Location: path } }
}

/**
 * Returns whether a page of this port has sent the form. Programs other than browsers send neither
 * of these two headers, and may send forms.
 */
function isOwnOrigin({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin === undefined) return site === undefined || site === 'same-origin'
  return origin === `http://${host}` || origin === `https://${host}` // behind a proxy with TLS
}

function cookieOf({ cookie = '' }: IncomingHttpHeaders, name: string): string {
  const found = cookie.split(/; */).find((each) => each.startsWith(`${name}=`))
  return found?.slice(name.length + 1) ?? ''
}

const [messagesShown, identitiesShown, refusedShown] = [20, 10, 5]
/** Messages of threads that have expired are among these. */
const messagesExamined = 1_000
/** The part of a message that is shown, in UTF-16 units. */
const excerptMax = 120

export async function recentSections(node: Administered): Promise<Html> {
  const { state, refusedCallers } = node
  const { identities } = state
  const left = newest(state.messages.count, messagesExamined).filter((each) => !state.isGone(each))
  const messages = await Promise.all(
    left.slice(0, messagesShown).map((each) => messageRow(node, each)),
  )
  const registered = newest(identities.count, identitiesShown).map((each) => {
    const at = time(identities.actors.columns.createdAt.get(each))
    const blocked = identities.isBlocked(each) ? 'blocked' : ''
    return html`<tr><td>${at}</td><td>${identityLink(state, each)}</td>
<td>${identities.kind(each)}</td><td>${blocked}</td></tr>\n`
  })
  const refused = refusedCallers.top(refusedShown).map(([identity, count]) => {
    return html`<tr><td>${count}</td><td>${identityLink(state, identity)}</td></tr>\n`
  })
  return html`${section('messages', 'Newest messages', ['When', 'Who', 'What'], messages)}
${section('identities', 'Newest identities', ['When', 'Who', 'Kind', 'State'], registered)}
${
  refused.length === 0
    ? emptyHtml
    : section('refused', 'Refused most often by rate limits', ['Times', 'Who'], refused)
}`
}

async function messageRow(node: Administered, message: number): Promise<Html> {
  const { state } = node
  const { messages } = state
  const text = await node.textOf(message)
  const isRemoved = state.moderation.find('removed', message) !== undefined
  const shown = isRemoved ? 'removed' : typeof text === 'string' ? text : 'cannot be read now'
  const cut = shown.length > excerptMax ? `${shown.slice(0, excerptMax)}…` : shown
  return html`<tr><td>${time(messages.createdAt(message))}</td>
<td>${identityLink(state, messages.author(message))}</td>
<td><bdi>${cut}</bdi> ${idLink(`msg_${messages.id(message)}`, `#${messages.seq(message)}`)}</td>
</tr>\n`
}

/** Returns the greatest of `count` numbers, up to `most` of them. */
function newest(count: number, most: number): number[] {
  return Array.from({ length: Math.min(count, most) }, (_, i) => count - 1 - i)
}
