// The HTML of the operators' pages, which are complete without scripts and contain none.

import { type Html, html, nothing, time, typed } from '../html/html.ts'
import type { Invitation } from '../state/invitations.ts'
import type { BrowserSession } from './browser-sessions.ts'
import type { ActsPage } from './protocol.ts'
import { idLink, type Shown, stateWord } from './subjects.ts'

/** The reason why a form was refused, and what was typed into it. */
export interface Problem {
  status: number
  text: string
  sent?: URLSearchParams
}

interface Parts {
  session: BrowserSession
  problem: Problem | null
}

const moderation = 'Moderation'
const toModeration = html`<a href="/admin">Moderation</a> · `

/** Returns the whole document; `session` is null for a visitor without one. */
function page(title: string, session: BrowserSession | null, main: Html): string {
  const signOut =
    session === null
      ? nothing
      : html`<form method="post" action="/admin/sign-out">${tokenOf(session)}
<button>Sign out</button></form>`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex, nofollow">
<title>${title} – Agent Forum</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header>
<h1>${title}</h1>
<nav>${title === moderation ? nothing : toModeration}<a href="/">Dashboard</a></nav>
${signOut}</header>
<main class="desk">
${main}</main>
</body>
</html>
`.text
}

function tokenOf({ formToken }: BrowserSession): Html {
  return html`<input type="hidden" name="form" value="${formToken}">`
}

function note(problem: Problem | null): Html {
  return problem === null ? nothing : html`<p class="notice" role="alert">${problem.text}</p>\n`
}

/** Returns the page for a visitor without a session. */
export function signInPage(problem: Problem | null): string {
  const main = html`${note(problem)}<p>Only the operator of this node may moderate.
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
  const main = html`<form method="post" action="/admin/sign-in">
<input type="hidden" name="code" value="${code}">
<p>This browser can moderate for twelve hours, or until you sign out.</p>
<p><button>Sign in</button></p>
</form>
`
  return page('Sign in', null, main)
}

/** Returns a page with one sentence. */
export function sentencePage(title: string, sentence: string): string {
  return page(title, null, html`<p>${sentence}</p>\n`)
}

/** Returns a page that shows a code or a token, once. */
export function secretPage(session: BrowserSession, about: Html, secret: string): string {
  const main = html`<p>${about} It is shown once: keep it now.</p>
<pre><code>${secret}</code></pre>
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
const sure = html`<p><label class="choice">${box} Yes, do it: it cannot be undone</label></p>
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
  const rows = facts.map(
    ([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>\n`,
  )
  const forms = actions.map(({ command, label, final }) => {
    const warning =
      final === undefined
        ? nothing
        : html`<p>${final}</p>
${sure}`
    return html`<form class="panel" method="post" action="/admin/${command}">
${tokenOf(session)}<input type="hidden" name="id" value="${id}">
${field(problem, { ...reason, of: command })}
${warning}<p><button>${label}</button></p>
</form>
`
  })
  const content =
    text === undefined
      ? nothing
      : html`<pre dir="auto" tabindex="0">${text.slice(0, textMax)}</pre>\n`
  const isLinked = path !== '' && publicUrl !== null
  const link = !isLinked ? nothing : html`<p><a href="${publicUrl}${path}">Its page</a></p>\n`
  const main = html`${note(problem)}<p><code>${id}</code></p>
${link}<table class="facts"><tbody>
${rows}</tbody></table>
${content}${forms}`
  return page(noun, session, main)
}

/** Returns a line to type in. After a problem it contains what was typed. */
function field(problem: Problem | null, { name, label, hint, value = '', more, of }: Field): Html {
  const id = of === undefined ? name : `${of}-${name}`
  const shown = problem?.sent?.get(name) ?? value
  const isTyped = (problem?.sent?.get('command') ?? undefined) === of
  return html`<p class="field"><label for="${id}">${label}</label>
<input id="${id}" name="${name}" value="${typed(isTyped ? shown : value)}"${more ?? nothing}>
${hint === undefined ? nothing : html`<span class="caption">${hint}</span>`}</p>`
}

function fields(problem: Problem | null, of: string, all: readonly Field[]): Html[] {
  return all.map((each) => field(problem, { ...each, of }))
}

const selected = html` selected=""`

interface Overview extends Parts {
  acts: ActsPage
  invitations: readonly Invitation[]
}

const words = { locked: 'Locked', removed: 'Removed', blocked: 'Blocked' } as const

/** Returns the first page: acts in effect, invitations, and forms for commands. */
export function mainPage({ session, problem, acts, invitations }: Overview): string {
  const isGuest = problem?.sent?.get('kind') === 'guest'
  const main = html`${note(problem)}<form class="panel" action="/admin">
<h2>Look at something</h2>
${field(problem, subject)}
<p><button>Show</button></p>
</form>
<form class="panel" method="post" action="/admin/invite">
<h2>Invite</h2>
${tokenOf(session)}${fields(problem, 'invite', [uses, days, reason])}
<p><button>Issue an invitation</button></p>
</form>
<form class="panel" method="post" action="/admin/register">
<h2>Register an identity</h2>
${tokenOf(session)}${fields(problem, 'register', [displayName])}
<p class="field"><label for="kind">Kind</label>
<select id="kind" name="kind"><option value="persistent">persistent</option>
<option value="guest"${isGuest ? selected : nothing}>guest, for seven days</option></select></p>
<p><button>Register</button></p>
</form>
${actsSection(acts)}${invitationsSection(invitations)}
<form class="panel" method="post" action="/admin/revoke-invite">
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
    next_after === null ? nothing : html`<p><a href="/admin?after=${next_after}">Newer ones</a></p>`
  const heads = ['When', 'What', 'Id', 'Reason']
  return section('acts', 'Locked, removed, blocked', heads, rows, more)
}

function invitationsSection(invitations: readonly Invitation[]): Html {
  const rows = invitations.map(({ id, state, used, uses, expiresAt, reason }) => {
    return html`<tr><td>${idLink(`ivt_${id}`)}</td><td>${stateWord(state)}</td>
<td>${used} of ${uses}</td><td>${time(expiresAt)}</td><td>${reason}</td></tr>\n`
  })
  const heads = ['Id', 'State', 'Used', 'Until', 'Reason']
  return section('invitations', 'Invitations', heads, rows, nothing)
}

function section(id: string, title: string, heads: string[], rows: Html[], more: Html): Html {
  const head = heads.map((each) => html`<th scope="col">${each}</th>`)
  const table = html`<div class="scroll" role="group" aria-labelledby="${id}" tabindex="0">
<table class="list"><thead><tr>${head}</tr></thead><tbody>
${rows}</tbody></table>
</div>`
  return html`<section class="panel panel-routes"><h2 id="${id}">${title}</h2>
${rows.length === 0 ? html`<p>None.</p>` : table}
${more}</section>
`
}
