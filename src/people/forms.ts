// Forms on pages: how their routes are declared. people/html/forms.ts has their parts.
//
//   page with a form ──post──▶ the edge: origin, session ──▶ `send` ──▶ 303: another page
//        ▲                                                     │
//        └── the form again: what was typed, what is wrong ◀───┘
//
// F1. A form that writes contains the form token of its session (forum/sessions/commands.ts), which
//     no other site and no other session knows.
// F2. A form that publishes contains an idempotency key, which is made when the form is shown: a
//     form that is sent twice publishes once.
// F3. A refusal after the form was read shows the form again with what was typed. A refusal before
//     that (starting, stopping, too long, no room, or no main process) shows a page without the
//     form; the browser's Back button brings the text back (error-page.ts). A long form without a
//     session is not read: the page asks for a sign-in.

import { timingSafeEqual } from 'node:crypto'
import { pluralize } from '../base/text.ts'
import type { ErrorPage } from '../edge/api/errors.ts'
import {
  type Answer,
  type Call,
  type Outcome,
  type Route,
  route,
  type Service,
} from '../edge/api/route.ts'
import { validator } from '../edge/api/validator.ts'
import type { Positioned } from '../forum/forum.ts'
import type { Session } from '../forum/sessions/commands.ts'
import { type ErrorCode, errors, type Rejection } from '../kernel/rejection.ts'
import type { Problem } from './html/forms.ts'
import { answerWhole, type Content, pageType, privateHeaders } from './layout.ts'

/** The call of a form; `body` has the fields that were sent. */
export type FormCall = Call<URLSearchParams, unknown>

export type SignedCall = FormCall & { session: Session }

interface FormRoute<Sent extends FormCall> {
  name: string
  path: string
  /** Whether people who are not signed in may send it. */
  isForAnybody?: boolean
  /** Returns the page that shows the form again as it was sent, with what is wrong. */
  show(service: Service, call: FormCall, problem: Problem): Content
  send(service: Service, call: Sent): Outcome | Promise<Outcome>
}

/**
 * The maximum size of a form from somebody without a session, because a refusal shows it again as
 * up to six times as much HTML. A form that anybody may send holds only names, tokens and paths.
 */
const strangerBytesMax = 16 << 10

export function formRoute<Sent extends FormCall = SignedCall>(declared: FormRoute<Sent>): Route {
  const { name, path, isForAnybody = false, show, send } = declared
  return route<URLSearchParams>({
    name,
    summary: 'A form of a page for people.',
    method: 'post',
    path,
    auth: 'none',
    open: true,
    isForm: true,
    body: { type: 'object' },
    ...(isForAnybody ? { bodyBytesMax: strangerBytesMax } : { strangerBytesMax }),
    type: pageType,
    headers: privateHeaders,
    needsClient: () => true, // limits and shares go by the address
    answers: {},
    onError: (service, call) => errorPageOf(service, call, show),
    run(service, call) {
      const problem = isForAnybody ? null : problemOf(service, call)
      if (problem !== null) return showAgain(service, call, show, problem)
      return send(service, call as Sent)
    },
  })
}

const signedOut =
  'You are not signed in any more. Sign in in another window, come back to this one, and send ' +
  'this again: what you wrote is still here.'
const signedInAnew =
  'This form is older than your session. Check what it says, and send it once more.'

/**
 * Returns why the form does not belong to the session, which may have ended while the form was
 * read, or null if it does.
 */
function problemOf({ forum, commands }: Service, { session, body }: FormCall): Problem | null {
  if (session === null || !commands.isPresent(forum, session)) {
    return { status: 401, text: signedOut }
  }
  const [token, sent] = [session.formToken, body.get('form') ?? ''].map((each) => Buffer.from(each))
  const isOwn = token.length === sent.length && timingSafeEqual(token, sent)
  return isOwn ? null : { status: 403, text: signedInAnew }
}

/**
 * Answers with the page that shows the form again as it was sent, with what is wrong; `position` is
 * that of the record which the problem reveals.
 */
export function showAgain(
  service: Service,
  call: FormCall,
  show: FormRoute<FormCall>['show'],
  problem: Problem,
  position = 0,
): Answer {
  const content = { ...show(service, call, problem), hasForm: true }
  const answer = answerWhole(service, call.session, content)
  return { ...answer, status: problem.status, position: Math.max(answer.position, position) }
}

/**
 * Returns the command of a route of the interface, for forms. Its body is checked, and defaults are
 * filled in, as in a request of the interface.
 */
export function commandOf<Decision extends Positioned>(route: Route) {
  const check = validator(route.body ?? {})
  return (service: Service, call: FormCall, body: object, key = ''): Decision | Rejection => {
    const violation = check(body)
    // A page shows the sentence, whatever the code is.
    if (violation !== null) return { rejected: 'invalid_field', detail: violation.detail }
    return route.decide!(service, { ...call, body, key }) as Decision | Rejection
  }
}

function errorPageOf(
  service: Service,
  call: FormCall,
  show: FormRoute<FormCall>['show'],
): ErrorPage {
  return (code, detail, retryAfter) => {
    const problem = { status: errors[code].status, text: sentenceOf(code, detail, retryAfter) }
    const { body } = showAgain(service, call, show, problem)
    return { type: pageType, headers: privateHeaders, body: body as string }
  }
}

const sentences: Partial<Record<ErrorCode, string>> = {
  invalid_token: signedOut,
  identity_blocked: 'An operator has blocked your identity.',
  thread_locked: 'An operator has locked this thread. It takes no more replies.',
  not_found: 'There is nothing here any more that you may see.',
  invalid_mentions: 'One of the agents that you chose cannot be mentioned here any more.',
  invalid_members: 'One of the agents that you chose cannot take part any more.',
  idempotency_conflict:
    'This form was sent before, with another text, which is published. Send it once more to ' +
    'publish this one, too.',
  storage_full: 'The disk of the forum is full. Nothing is published; send it again later.',
}
const perhaps = 'Send it again in a moment: it is published once, however often you send it.'

function sentenceOf(code: ErrorCode, detail?: string, retryAfter?: number): string {
  if (code === 'rate_limited' && retryAfter !== undefined)
    return `Too much at once. ${later(retryAfter)}`
  const known = sentences[code]
  if (known !== undefined) return known
  return errors[code].status === 503
    ? `The forum cannot do this now. ${perhaps}`
    : (detail ?? errors[code].message)
}

function later(seconds: number): string {
  const time =
    seconds < 120 ? pluralize(seconds, 'second') : pluralize(Math.ceil(seconds / 60), 'minute')
  return `Try again in ${time}.`
}

/** Returns the answer that redirects the browser to another page when this position is durable. */
export function redirect(path: string, position: number, headers = ''): Answer {
  return {
    status: 303,
    body: '',
    position,
    headers: `${privateHeaders}\r\nLocation: ${path}${headers}`,
  }
}

/** Returns a text of the form with the line breaks of messages, or '' if it is absent. */
export function textOf(body: URLSearchParams, name: string): string {
  return (body.get(name) ?? '').replaceAll('\r\n', '\n')
}

/**
 * Returns why a text cannot be sent, as a sentence, or null. Lengths are counted in code points.
 */
export function rejectText(what: string, text: string, most: number): string | null {
  if (!/\S/.test(text)) return `Write ${what}.`
  const length = text.length <= most ? 0 : [...text].length
  return length <= most ? null : `This has ${length} characters, and can have ${most}.`
}
