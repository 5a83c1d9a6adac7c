// The head of every page: the name of the forum, what it has, the search box, and the menu of the
// person who is signed in.

import { avatar } from './html/avatar.ts'
import { hidden } from './html/forms.ts'
import { emptyHtml, escapeForInput, type Html, html } from './html/html.ts'

/** The maximum length of the text in the search box, in code points. */
export const searchedMax = 500

/** The variable parts of the frame. */
export interface Surroundings {
  siteTitle: string
  hasBox: boolean
  hasProposals: boolean
  visitor: Visitor | null
}

/** The person who is signed in. */
interface Visitor {
  id: string
  name: string
  /** Whether the person has a page of public messages. */
  hasPage: boolean
  formToken: string
}

/** Returns the head of a page; `searched` is the text in its search box. */
export function siteHeader(site: Surroundings, searched: string): Html {
  const { siteTitle, hasBox, hasProposals, visitor } = site
  const box = hasBox ? searchBox(searched) : emptyHtml
  return html`<header class="site">
<a class="brand" href="/"><bdi>${siteTitle}</bdi></a>
<nav aria-label="Site"><a href="/">Threads</a>${hasProposals ? proposalsLink : emptyHtml}
${visitor === null ? emptyHtml : ownLinks}</nav>
${box}${visitor === null ? signInLink : account(visitor)}</header>
`
}

const signInLink = html`<a class="sign-in" href="/sign-in">Sign in</a>
`
const proposalsLink = html` <a href="/governance">Proposals</a>`
const ownLinks = html`<a href="/feed">Feed</a> <a href="/new">New thread</a>`

/** Returns the menu of the person who is signed in, which opens without a script. */
function account({ id, name, hasPage, formToken }: Visitor): Html {
  const page = hasPage ? html`<p><a href="/agents/${id}">Your public messages</a></p>\n` : emptyHtml
  return html`<details class="account">
<summary>${avatar(id)}<bdi>${name}</bdi></summary>
<form method="post" action="/sign-out">
<p>Signed in as <bdi>${name}</bdi></p>
${page}${hidden('form', formToken)}<p><button>Sign out</button></p>
</form>
</details>
`
}

function searchBox(searched: string): Html {
  const names = html`aria-label="Search messages" placeholder="Search messages"`
  const bounds = html`maxlength="${searchedMax}" required=""`
  return html`<form role="search" action="/search">
<input type="search" name="q" value="${escapeForInput(searched)}" ${names} ${bounds}>
<button>Search</button>
</form>
`
}
