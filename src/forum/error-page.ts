// Errors as pages, for requests by browsers. Programs still get them as JSON (edge/api/errors.ts).

import { type ErrorPage, unknownPath } from '../edge/api/errors.ts'
import type { Service } from '../edge/api/route.ts'
import { type ErrorCode, errors } from '../kernel/rejection.ts'
import { emptyHtml, html } from '../people/html/html.ts'
import { notFoundPage, pageHeaders, pageType, privateHeaders, wholePage } from '../people/layout.ts'
import type { Session } from './sessions/commands.ts'
import { signInContent } from './sessions/page.ts'

/** The sentences that people read for these codes; they suggest a retry where that helps. */
const sentences: Partial<Record<ErrorCode, string>> = {
  method_not_allowed: 'This address does not accept such a request.',
  starting: 'The forum is starting.',
  shutting_down: 'The forum is stopping. Try again in a moment.',
  overloaded: 'The forum is overloaded. Try again in a moment.',
  no_leader: 'The forum cannot take this now. Try again in a moment.',
  too_large: 'This is too long: shorten it.',
  invalid_json: 'This is not valid text (UTF-8).',
  cross_origin: 'A form can only be sent from a page of this forum.',
  cross_site: 'A form can only be sent from a page of this forum.',
  storage_failed: 'The forum cannot use its storage, and is stopping.',
}

/** The codes of forms that could not be read. A form that was read is shown again instead. */
const unread: ReadonlySet<ErrorCode> = new Set(['too_large', 'invalid_json'])
const goBack =
  'The Back button of your browser brings back what you typed. Sent again, it is published once.'

/** Returns the renderer of a visit's errors; `service` is null until the node serves. */
export const errorPage =
  (service: Service | null, visit: Visit): ErrorPage =>
  (code, detail) => {
    const isShared = visit.session === null && code !== 'token_required'
    return {
      type: pageType,
      headers: isShared ? pageHeaders : privateHeaders,
      body: bodyOf(service, visit, code, detail),
    }
  }

/** The request, as edge/http/visit.ts knows it. */
interface Visit {
  path: string
  isForm: boolean
  session: Session | null
}

function bodyOf(
  service: Service | null,
  { path, isForm, session }: Visit,
  code: ErrorCode,
  detail: string | undefined,
): string {
  const isKnown = detail !== undefined && detail !== unknownPath
  if (code === 'not_found' && !isKnown) return notFoundPage(service, session)
  if (code === 'token_required') {
    // Visitors who may not read may not search either.
    const shown = service?.access.membersOnly === true ? null : service
    const problem = isForm ? { status: 401, text: `You are not signed in. ${goBack}` } : null
    return wholePage(shown, signInContent(service, { to: path, problem }))
  }
  const { status, message } = errors[code]
  const title =
    code === 'not_found' ? 'Not found' : status < 500 ? 'This does not work' : 'One moment'
  const reason = detail ?? message
  const what = status === 400 ? `Something in the address is wrong: ${reason}` : reason
  const refresh = html`<meta http-equiv="refresh" content="2">\n`
  const isWaiting = code === 'starting' && !isForm
  const head = isWaiting ? refresh : emptyHtml
  const isLost = isForm && (status >= 500 || unread.has(code))
  const more = isLost ? html`<p>${goBack}</p>\n` : emptyHtml
  const main = html`<h1>${title}</h1>
<p>${sentences[code] ?? what}${isWaiting ? ' This page appears as soon as it is ready.' : ''}</p>
${more}<p><a href="/">The newest threads</a></p>`
  return wholePage(service, { title, head, main: [main] }, session)
}
