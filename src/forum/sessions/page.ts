// `/sign-in`: signing in with the token of an identity, or by registering one where that is open;
// and the button that signs out. A cookie holds the session (edge/api/session-cookie.ts).
//
//   /sign-in ──post /register──▶ 303 with the session ──▶ /registered: the token, for a minute
//
// A page that was answered to a form would be sent, and the form with it, again by a reload.

import type { Answer, Route, Service } from '../../edge/api/route.ts'
import type { Schema } from '../../edge/api/schema.ts'
import { cookieLine } from '../../edge/api/session-cookie.ts'
import { errors, isRejection } from '../../kernel/rejection.ts'
import {
  commandOf,
  type FormCall,
  formRoute,
  redirect,
  rejectText,
  showAgain,
  textOf,
} from '../../people/forms.ts'
import { field, hidden, type Problem, problemNote } from '../../people/html/forms.ts'
import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import { answerWhole, type Content, needsSignIn, page } from '../../people/layout.ts'
import type { CreatedIdentity } from '../identities/commands.ts'
import { postIdentity } from '../identities/routes.ts'

const properties = postIdentity.body!.properties!
const createIdentity = commandOf<CreatedIdentity>(postIdentity)
const [nameMax, inviteMax] = [properties.display_name.maxLength!, properties.invite.maxLength!]

interface SignIn {
  /** The path of the page that is shown afterwards. */
  to: string
  problem?: Problem | null
  /** What was typed, except for a token. */
  name?: string
  invite?: string
}

const pathMax = 500

/** Returns the path if it is one of this service, and otherwise that of the feed. */
function ownPath(path: string): string {
  if (path.length > pathMax) return '/feed'
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : '/feed'
}

const toQuery: Schema = {
  type: 'object',
  properties: { to: { type: 'string', maxLength: pathMax, default: '/feed' } },
}

export const signInPage: Route = page<{ to: string }>({
  name: 'signInPage',
  path: '/sign-in',
  isOpen: true,
  query: toQuery,
  run(service, { session, query }) {
    if (session !== null) return redirect(ownPath(query.to), 0)
    return answerWhole(service, session, signInContent(service, { to: query.to }))
  },
})

/** Returns the form that registers an identity, or a note if registration is closed. */
function registration({ access }: Service, { to, problem = null, name, invite }: SignIn): Html {
  if (access.registration === 'closed') {
    return html`<p>The operator of this forum registers its members and gives them tokens.</p>`
  }
  const ofName = html` autocomplete="nickname" required="" maxlength="${nameMax}"`
  const ofInvite = html` autocomplete="off" required="" maxlength="${inviteMax}"`
  const isInvited = access.registration === 'invited'
  return html`<h2>Register</h2>
<form class="entry" method="post" action="/register">
${hidden('to', ownPath(to))}${field({ ...displayName, value: name ?? '', problem, more: ofName })}${
  isInvited ? field({ ...invitation, value: invite ?? '', problem, more: ofInvite }) : emptyHtml
}
<p><button>Register</button></p>
</form>`
}

/** Returns the content that asks people to sign in or to register. */
export function signInContent(service: Service | null, signIn: SignIn): Content {
  const { to, problem = null } = signIn
  const ofToken = html` type="password" autocomplete="current-password" required="" maxlength="200"`
  const back = hidden('to', ownPath(to))
  const main = html`<h1>Sign in</h1>
${problemNote(problem)}
<form class="entry" method="post" action="/sign-in">
${back}${field({ ...token, value: '', problem, more: ofToken })}
<p><button>Sign in</button></p>
</form>
${service === null ? emptyHtml : registration(service, signIn)}`
  return { title: 'Sign in', hasForm: true, main: [main] }
}

const token = {
  name: 'token',
  label: 'Token',
  hint: 'It begins with aic_, and was shown when your identity was registered.',
}
const displayName = {
  name: 'display_name',
  label: 'Name',
  hint: 'Everybody sees it beside what you write. Names are not unique.',
}
const invitation = {
  name: 'invite',
  label: 'Invitation',
  hint: 'It begins with inv_. The operator of this forum gives it to those who may register.',
}
const wrongToken =
  'No identity has this token now: it is mistyped, or was replaced, or has expired.'

function showSignIn(service: Service, { body }: FormCall, problem: Problem): Content {
  const [to, name, invite] = ['to', 'display_name', 'invite'].map((each) => textOf(body, each))
  return signInContent(service, { to, problem, name, invite })
}

export const signIn: Route = formRoute<FormCall>({
  name: 'signIn',
  path: '/sign-in',
  isForAnybody: true,
  show: showSignIn,
  send(service, call) {
    const { forum, commands } = service
    const token = textOf(call.body, 'token').trim()
    const signIn = { token, address: call.client, epoch: service.epoch }
    const sealed = commands.beginSession(forum, signIn)
    if (typeof sealed === 'string') {
      const { rotatedPosition } = forum.state.identities // a session has a token's number
      return redirect(
        ownPath(textOf(call.body, 'to')),
        rotatedPosition,
        cookieLine(service, sealed),
      )
    }
    const { rejected, position = 0 } = sealed
    if (rejected !== 'invalid_token') return sealed
    const problem = { status: 403, field: 'token', text: wrongToken }
    return showAgain(service, call, showSignIn, problem, position)
  },
})

export const register: Route = formRoute<FormCall>({
  name: 'register',
  path: '/register',
  isForAnybody: true,
  show: showSignIn,
  send(service, call) {
    const name = textOf(call.body, 'display_name')
    const text = rejectText('a name', name, nameMax)
    if (text !== null) {
      return showAgain(service, call, showSignIn, { status: 400, field: 'display_name', text })
    }
    const invite = textOf(call.body, 'invite').trim().slice(0, inviteMax)
    const body = { kind: 'persistent', display_name: name, ...(invite !== '' && { invite }) }
    const made = createIdentity(service, call, body)
    if (!isRejection(made)) return welcome(service, made, call)
    const { rejected, position = 0 } = made
    if (rejected !== 'invite_required' && rejected !== 'invalid_invite') return made
    const isMissing = rejected === 'invite_required'
    const wrong = isMissing ? 'Type the invitation.' : errors.invalid_invite.message
    const problem = { status: 403, field: 'invite', text: wrong }
    return showAgain(service, call, showSignIn, problem, position)
  },
})

const places: Record<string, string> = {
  '/feed': 'Go on to your feed',
  '/new': 'Begin a thread',
  '/': 'The newest threads',
}

/** Returns the text of a link to this path. */
function placeOf(path: string): string {
  if (path.startsWith('/t/')) return 'Back to the thread'
  return places[path] ?? 'Back to the page from which you came'
}

/** Signs the person in who has registered, and redirects to the page that shows the token. */
function welcome(service: Service, created: CreatedIdentity, { body }: FormCall): Answer {
  const { forum, commands } = service
  const { token, position } = created
  const sealed = commands.sealSession(forum, { token, number: 0, epoch: service.epoch })
  const to = encodeURIComponent(ownPath(textOf(body, 'to')))
  return redirect(`/registered?to=${to}`, position, cookieLine(service, sealed))
}

export const registeredPage: Route = page<{ to: string }>({
  name: 'registeredPage',
  path: '/registered',
  isOpen: true, // it asks for a sign-in itself
  query: toQuery,
  run(service, { session, query }) {
    if (session === null) return needsSignIn
    const { newToken, identity } = session
    const { displayName } = service.commands.profileOf(service.forum, identity)
    const to = ownPath(query.to)
    const shown = html`<p>This is the token of <bdi>${displayName}</bdi>. It is shown here for a
minute. Keep it where you keep passwords: with it you sign in again, and so can anybody else who has
it.</p>
<p class="token"><code>${newToken}</code></p>`
    const over = html`<p>The token of <bdi>${displayName}</bdi> was shown here for a minute after
the registration. Whoever has lost it can ask the operator of this forum for another.</p>`
    const main = html`<h1>You are registered</h1>
${newToken === '' ? over : shown}
<p><a href="${to}">${placeOf(to)}</a></p>`
    return answerWhole(service, session, { title: 'Registered', main: [main] })
  },
})

/**
 * Returns the content for a visitor without a session, or whose button is older than the session.
 */
function showSignOut(_: Service, { session }: FormCall): Content {
  const button =
    session === null
      ? html`<p>You are signed out already. <a href="/">The newest threads</a></p>`
      : html`<form class="entry" method="post" action="/sign-out">
${hidden('form', session.formToken)}<p>All your sessions end, on this device and on others.</p>
<p><button>Sign out</button></p>
</form>`
  return { title: 'Sign out', main: [html`<h1>Sign out</h1>\n${button}`] }
}

export const signOut: Route = formRoute({
  name: 'signOut',
  path: '/sign-out',
  show: showSignOut,
  send(service, { session }) {
    const ended = service.commands.signOut(service.forum, session)
    return isRejection(ended) ? ended : redirect('/', ended.position, cookieLine(service, null))
  },
})
