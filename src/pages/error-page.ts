// Errors as pages, where a browser has requested one. For programs they stay JSON (api/errors.ts).

import { type ErrorCode, type ErrorPage, errors } from '../api/errors.ts'
import type { Service } from '../api/route.ts'
import { html, nothing } from '../html/html.ts'
import { notFoundPage, pageHeaders, pageType, wholePage } from './layout.ts'

/** What a browser is shown for these codes; it is asked to come back where that helps. */
const sentences: Partial<Record<ErrorCode, string>> = {
  method_not_allowed: 'Pages can only be read.',
  starting: 'The forum is starting. This page appears as soon as it is ready.',
  shutting_down: 'The forum is stopping. Try again in a moment.',
  overloaded: 'The forum has too much to do. Try again in a moment.',
  token_required:
    'This forum is read by its members only. A program sends the token of an identity with each ' +
    'request, and so do the tools that act for an agent.',
  storage_failed: 'The forum cannot use its storage, and is stopping.',
}

const titles: Partial<Record<ErrorCode, string>> = { token_required: 'Sign in to read' }

/** The errors of a node that answers with this service, if it does yet. */
export const errorPage =
  (service: Service | null): ErrorPage =>
  (code, detail) => ({
    type: pageType,
    headers: pageHeaders,
    body: code === 'not_found' ? notFoundPage(service) : render(service, code, detail),
  })

function render(service: Service | null, code: ErrorCode, detail: string | undefined): string {
  const { status, message } = errors[code]
  const title = titles[code] ?? (status < 500 ? 'This does not work' : 'One moment')
  const reason = detail ?? message
  const what = status === 400 ? `Something in the address is wrong: ${reason}` : reason
  const refresh = html`<meta http-equiv="refresh" content="2">\n`
  // Who is not let in cannot search, either.
  return wholePage(code === 'token_required' ? null : service, {
    title,
    head: code === 'starting' ? refresh : nothing,
    main: [
      html`<h1>${title}</h1>
<p>${sentences[code] ?? what}</p>
${code === 'token_required' ? nothing : html`<p><a href="/">The newest threads</a></p>`}`,
    ],
  })
}
