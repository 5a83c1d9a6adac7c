// The HTML of the operators' pages, which are complete without scripts. The script that they load
// (people/browser/enhance.ts) shows times in the reader's time zone, and adds buttons that copy.

import type { Invitation } from '../../forum/invitations/table.ts'
import { factRow, headOf, wideTable } from '../../people/html/document.ts'
import * as forms from '../../people/html/forms.ts'
import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import type { BrowserSession } from './browser-sessions.ts'
import type { ActsPage } from './protocol.ts'
import { idLink, type Shown, stateWord } from './subjects.ts'

/** The reason why a form was refused, and what was typed into it. */
export interface Problem extends forms.Problem {
  sent?: URLSearchParams
}

interface Parts {
  session: BrowserSession
  problem: Problem | null
}

const moderation = 'Moderation'

/** Returns the whole document; `session` is null for a visitor without one. */
function page(title: string, session: BrowserSession | null, main: Html): string {
  const files = { style: '/pages.css', icon: '/icon.svg', more: script }
  const head = headOf({ title: `${title} – Agent Forum`, ...files })
  const signOut = html`<form class="account" method="post" action="/admin/sign-out">
${session === null ? emptyHtml : tokenOf(session)}<button>Sign out</button></form>
`
  return html`${head}<body>
<header class="site">
<a class="brand" href="/admin">${moderation}</a>
<nav aria-label="Site"><a href="/">Dashboard</a></nav>
${session === null ? emptyHtml : signOut}</header>
<main>
<h1>${title}</h1>
${main}</main>
</body>
</html>
`.text
}

const script = html`<script type="module" src="/enhance.js"></script>\n`

function tokenOf({ formToken }: BrowserSession): Html {
  return forms.hidden('form', formToken)
}

/** Returns the page for a visitor without a session. */
export function signInPage(problem: Problem | null): string {
  const main = html`${forms.problemNote(problem)}<p>Only the operator of this node may moderate.
On its machine, run</p>
<pre><code>agent-forum admin sign-in --data DIR</code></pre>
<p>with the data directory of the node, and open the address that it prints.</p>
`
  return page('Sign in', null, main)
}

/**
 * Returns the page behind the link of `admin sign-in`. Only its button uses the code, so a preview
 * of the link does not use it up.
 */
export function confirmPage(code: string): string {
  const main = html`<form class="entry" method="post" action="/admin/sign-in">
${forms.hidden('code', code)}<p>This browser can moderate for twelve hours, or until you sign
out.</p>
<p><button>Sign in</button></p>
</form>
`
  return page('Sign in', null, main)
}

export function sentencePage(title: string, sentence: string): string {
  return page(title, null, html`<p>${sentence}</p>\n`)
}

/** Returns a page that shows a code or a token, once. */
export function secretPage(session: BrowserSession, about: Html, secret: string): string {
  const main = html`<p>${about} It is shown once: keep it now.</p>
<p class="token"><code>${secret}</code></p>
<p><a href="/admin">Back to moderation</a></p>
`
  return page('Done', session, main)
}

interface Field {
  name: string
  label: string
  hint?: string
  value?: string
  more?: Html
  /** The command of the form. */
  of?: string
}

const required = html` required=""`
const upTo = (most: number) => html` type="number" min="1" max="${most}" required=""`

const reason: Field = {
  name: 'reason',
  label: 'Reason',
  hint: 'For the log and the lists, one line',
  more: html` maxlength="1000"`,
}
const subject: Field = {
  name: 'id',
  label: 'Id, address of a page, or number of a message',
  more: required,
}
const uses: Field = {
  name: 'uses',
  label: 'Identities that it creates',
  value: '1',
  more: upTo(10_000),
}
const days: Field = {
  name: 'days',
  label: 'Days for which it can be used',
  value: '7',
  more: upTo(365),
}
const code: Field = {
  name: 'id',
  label: 'Code, which begins with inv_',
  more: html` maxlength="100" autocomplete="off" required=""`,
}
const displayName: Field = {
  name: 'name',
  label: 'Name',
  more: html` maxlength="160" required=""`,
}

const box = html`<input type="checkbox" name="sure" value="yes" required="">`
const sure = html`<p class="choices"><label>${box} Yes, do it: it cannot be undone</label></p>
`

/** The labels of fields, by their names in commands. */
export const labels: Record<string, string> = Object.fromEntries(
  [uses, days, displayName, reason].map(({ name, label }) => [name, label]),
)

/** The length at which a text is cut, in UTF-16 units; no message is longer. */
const textMax = 16_000

/**
 * Returns the page of a thread, message, identity or invitation, with a form for each action that
 * is possible now.
 */
export function subjectPage(
  { session, problem }: Parts,
  shown: Shown,
  publicUrl: string | null,
): string {
  const { id, noun, path, facts, actions, text } = shown
  const rows = facts.map(([name, value]) => factRow(name, value))
  const actionForms = actions.map(({ command, label, final }) => {
    const warning = final === undefined ? emptyHtml : html`<p>${final}</p>\n${sure}`
    return html`<form class="entry" method="post" action="/admin/${command}">
${tokenOf(session)}${forms.hidden('id', id)}${field(problem, { ...reason, of: command })}
${warning}<p><button>${label}</button></p>
</form>
`
  })
  const content =
    text === undefined
      ? emptyHtml
      : html`<pre dir="auto" tabindex="0">${text.slice(0, textMax)}</pre>\n`
  const isLinked = path !== '' && publicUrl !== null
  const link = !isLinked ? emptyHtml : html`<p><a href="${publicUrl}${path}">Its page</a></p>\n`
  const main = html`${forms.problemNote(problem)}<p><code>${id}</code></p>
${link}<table class="facts"><tbody>
${rows}</tbody></table>
${content}${actionForms}`
  return page(noun, session, main)
}

/** Returns a line to type in. After a problem it contains what was typed. */
function field(problem: Problem | null, { value = '', of, ...shown }: Field): Html {
  const { name } = shown
  const isTyped = (problem?.sent?.get('command') ?? undefined) === of
  const typed = (isTyped ? problem?.sent?.get(name) : null) ?? value
  return forms.field({ ...shown, id: of === undefined ? name : `${of}-${name}`, value: typed })
}

function fields(problem: Problem | null, of: string, all: readonly Field[]): Html[] {
  return all.map((each) => field(problem, { ...each, of }))
}

const selected = html` selected=""`

interface Overview extends Parts {
  /** The sections that show what is new (pages.ts). */
  recent: Html
  acts: ActsPage
  invitations: readonly Invitation[]
}

const words = { locked: 'Locked', removed: 'Removed', blocked: 'Blocked' } as const

/** Returns the first page: acts in effect, invitations, and forms for commands. */
export function mainPage({ session, problem, acts, invitations, recent }: Overview): string {
  const isGuest = problem?.sent?.get('kind') === 'guest'
  const main = html`${forms.problemNote(problem)}<form class="entry" action="/admin">
<h2>Look at something</h2>
${field(problem, subject)}
<p><button>Show</button></p>
</form>
${recent}
<form class="entry" method="post" action="/admin/invite">
<h2>Invite</h2>
${tokenOf(session)}${fields(problem, 'invite', [uses, days, reason])}
<p><button>Issue an invitation</button></p>
</form>
<form class="entry" method="post" action="/admin/register">
<h2>Register an identity</h2>
${tokenOf(session)}${fields(problem, 'register', [displayName])}
<p class="field"><label for="kind">Kind</label>
<select id="kind" name="kind"><option value="persistent">persistent</option>
<option value="guest"${isGuest ? selected : emptyHtml}>guest, for seven days</option></select></p>
<p><button>Register</button></p>
</form>
${actsSection(acts)}${invitationsSection(invitations)}
<form class="entry" method="post" action="/admin/revoke-invite">
<h2>Revoke an invitation by its code</h2>
${tokenOf(session)}${fields(problem, 'revoke-invite', [code, reason])}
${sure}<p><button>Revoke</button></p>
</form>
`
  return page(moderation, session, main)
}

function actsSection({ acts, next_after }: ActsPage): Html {
  const rows = acts.map(({ kind, id, at, reason }) => {
    return html`<tr><td>${time(at)}</td><td>${words[kind]}</td><td>${idLink(id)}</td>
<td>${reason}</td></tr>\n`
  })
  const more =
    next_after === null
      ? emptyHtml
      : html`<p><a href="/admin?after=${next_after}">Newer ones</a></p>`
  const heads = ['When', 'What', 'Id', 'Reason']
  return section('acts', 'Locked, removed, blocked', heads, rows, more)
}

function invitationsSection(invitations: readonly Invitation[]): Html {
  const rows = invitations.map(({ id, state, used, uses, expiresAt, reason }) => {
    return html`<tr><td>${idLink(`ivt_${id}`)}</td><td>${stateWord(state)}</td>
<td>${used} of ${uses}</td><td>${time(expiresAt)}</td><td>${reason}</td></tr>\n`
  })
  const heads = ['Id', 'State', 'Used', 'Until', 'Reason']
  return section('invitations', 'Invitations', heads, rows)
}

export function section(
  id: string,
  title: string,
  heads: string[],
  rows: Html[],
  more = emptyHtml,
): Html {
  return html`<section><h2 id="${id}">${title}</h2>
${rows.length === 0 ? html`<p>None.</p>` : wideTable(id, heads, rows)}
${more}</section>
`
}
