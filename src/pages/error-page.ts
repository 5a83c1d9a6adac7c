// Errors as pages, where a browser has requested one. For programs they stay JSON (api/errors.ts).

import { type ErrorCode, type ErrorPage, errors } from '../api/errors.ts'
import type { Service } from '../api/route.ts'
import type { Session } from '../forum/sessions.ts'
import { html, nothing } from '../html/html.ts'
import { notFoundPage, pageHeaders, pageType, privateHeaders, wholePage } from './layout.ts'
import { signInContent } from './sign-in.ts'

/** What a browser is shown for these codes; it is asked to come back where that helps. */
const sentences: Partial<Record<ErrorCode, string>> = {
  method_not_allowed: 'This address does not take such a request.',
  starting: 'The forum is starting. This page appears as soon as it is ready.',
  shutting_down: 'The forum is stopping. Try again in a moment.',
  overloaded: 'The forum has too much to do. Try again in a moment.',
  too_large: 'This is too long to be read. Go back to where you wrote it, and shorten it.',
  cross_origin: 'A form can only be sent from a page of this forum.',
  storage_failed: 'The forum cannot use its storage, and is stopping.',
}

/** The errors of a node that answers with this service, if it does yet. */
export const errorPage =
  (service: Service | null, { path, session }: Visit): ErrorPage =>
  (code, detail) => {
    const isShared = session === null && code !== 'token_required'
    return {
      type: pageType,
      headers: isShared ? pageHeaders : privateHeaders,
      body: bodyOf(service, { path, session }, code, detail),
    }
  }

/** The request, as http/visit.ts knows it. */
interface Visit {
  path: string
  session: Session | null
}

function bodyOf(
  service: Service | null,
  { path, session }: Visit,
  code: ErrorCode,
  detail: string | undefined,
): string {
  if (code === 'not_found') return notFoundPage(service, session)
  // Whoever is not let in cannot search, either.
  if (code === 'token_required') return wholePage(null, signInContent(service, { to: path }))
  const { status, message } = errors[code]
  const title = status < 500 ? 'This does not work' : 'One moment'
  const reason = detail ?? message
  const what = status === 400 ? `Something in the address is wrong: ${reason}` : reason
  const refresh = html`<meta http-equiv="refresh" content="2">\n`
  const head = code === 'starting' ? refresh : nothing
  const main = html`<h1>${title}</h1>
<p>${sentences[code] ?? what}</p>
<p><a href="/">The newest threads</a></p>`
  return wholePage(service, { title, head, main: [main] }, session)
}
