// The forms that write: for a new thread, for a reply, and for following a thread. They run the
// commands of the interface through its routes, so the same is checked and refused.

import type { Thread } from '../../client/types.ts'
import type { Answer, Outcome, Route, Service } from '../../edge/api/route.ts'
import { nobody } from '../../kernel/network.ts'
import { isRejection } from '../../kernel/rejection.ts'
import {
  commandOf,
  type FormCall,
  formRoute,
  redirect,
  rejectText,
  type SignedCall,
  showAgain,
  textOf,
} from '../../people/forms.ts'
import { field, hidden, type Problem, problemNote } from '../../people/html/forms.ts'
import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import { markdown } from '../../people/html/markdown.ts'
import { answerWhole, type Content, needsSignIn, page } from '../../people/layout.ts'
import { deleteSubscribe, postSubscribe } from '../feed/subscription-routes.ts'
import { linksFor, pathTo, privateNote } from '../links.ts'
import type { Session } from '../sessions/commands.ts'
import {
  choices,
  chosenIn,
  chosenMax,
  doubtOf,
  findIn,
  isShownAgain,
  labelProblem,
  type NamedIdentities,
  namedIn,
  offeredIn,
  tagsField,
  tagsIn,
  typeField,
  typeIn,
} from './choices.ts'
import type { Publication } from './commands.ts'
import { postReply, postThread } from './routes.ts'

const { title: titleSchema, content: contentSchema } = postThread.body!.properties!
const [titleMax, contentMax] = [titleSchema.maxLength!, contentSchema.maxLength!]
const createThread = commandOf<Publication>(postThread)
const createReply = commandOf<Publication>(postReply)
const keyPattern = /^page-[0-9a-f]{32}$/
const idPattern = /^thr_[0-9a-f]{32}$/
const blank = new URLSearchParams()

/** A form as it is being filled in: what was typed, and what is wrong with it. */
interface Draft {
  body: URLSearchParams
  problem: Problem | null
  /** The identities that were found, or null if none were searched for. */
  found: readonly number[] | null
  /** The names in the text that mention nobody, separated by spaces, if the form says so. */
  doubtful?: string
  /** Whether the message is shown as it will look. */
  isPreview?: boolean
}

/**
 * Returns the hidden fields of a form that publishes. After a conflict, the form gets a new key.
 */
function hiddenOf(
  { forum }: Service,
  session: Session | null,
  { body, problem, doubtful = '' }: Draft,
): Html {
  const sent = textOf(body, 'key')
  const isUsable = keyPattern.test(sent) && problem?.status !== 409
  const key = isUsable ? sent : `page-${forum.stamps.bytes(16).toString('hex')}`
  const unseen = html`${hidden('form', session?.formToken ?? '')}${hidden('key', key)}`
  return doubtful === '' ? unseen : html`${unseen}${hidden('doubtful', doubtful)}`
}

/** Returns why a form that publishes cannot be sent on, or null. */
function problemOf(body: URLSearchParams, hasTitle: boolean): Problem | null {
  const wrong = (text: string, field?: string) => ({ status: 400, text, ...(field && { field }) })
  if (!keyPattern.test(textOf(body, 'key'))) return wrong('Check this, and send it once more.')
  const title = hasTitle ? rejectText('a title', textOf(body, 'title'), titleMax) : null
  if (title !== null) return wrong(title, 'title')
  if (hasTitle && !['public', 'private'].includes(textOf(body, 'visibility')))
    return wrong('Choose who can read it.')
  const content = rejectContent(body)
  if (content !== null) return content
  const label = labelProblem(body)
  if (label !== null) return label
  return chosenIn(body).length <= chosenMax ? null : tooMany
}

function rejectContent(body: URLSearchParams): Problem | null {
  const text = rejectText('a message', textOf(body, 'content'), contentMax)
  return text === null ? null : { status: 400, text, field: 'content' }
}

interface Form {
  hasTitle: boolean
  show: (draft: Draft) => Content
  /** Whether the identity may be mentioned, because it may see the thread. */
  maySee: (identity: number) => boolean
  /** Publishes the text with these mentions. */
  send: (mentionIds: string[]) => Outcome
}

/**
 * Sends a form on, or shows it again because of a problem or with the names that were found. The
 * outcome of `send` is returned as it is, not as a promise: text that it notes as missing must be
 * its request's own (edge/http/running-request.ts), and other requests run before a promise
 * resolves.
 */
function publish(service: Service, call: SignedCall, form: Form): Outcome | Promise<Outcome> {
  const { body, session } = call
  const { show, hasTitle } = form
  if (isShownAgain(body)) {
    const isPreview = body.get('do') === 'preview'
    return findIn(service, call, session.identity).then((names) => {
      if (isRejection(names)) return names
      const { found, position } = names
      const problem = isPreview ? rejectContent(body) : null
      const draft = { body, problem, found, isPreview: isPreview && problem === null }
      return { ...answerWhole(service, session, show(draft)), position }
    })
  }
  const problem = problemOf(body, hasTitle)
  const again = (wrong: Problem, more: Partial<Draft> = {}) =>
    showAgain(
      service,
      call,
      (_, __, shown) => show({ body, problem: shown, found: null, ...more }),
      wrong,
    )
  if (problem !== null) return again(problem)
  const named = namedIn(service, call, form.maySee)
  if (named instanceof Promise) return named.then(() => again(namesWereRead))
  if (isRejection(named)) return named
  const doubt = doubtOf(body, named)
  if (doubt !== null) return { ...again(doubt, inDoubt(named)), position: named.position }
  const ids = [...new Set([...chosenIn(body), ...named.ids])]
  return ids.length > chosenMax ? again(tooMany) : form.send(ids)
}

const tooMany = { status: 400, text: `Choose ${chosenMax} at most.`, field: 'to' }

/** Said when a text with names was sent before all names were indexed, soon after a start. */
const namesWereRead = {
  status: 503,
  text: 'The names of all agents had yet to be read. Publish it once more.',
  field: 'content',
}

function inDoubt({ doubtful }: NamedIdentities): Partial<Draft> {
  return {
    found: doubtful.flatMap(({ candidates }) => candidates),
    doubtful: doubtful.map(({ name }) => name).join(' '),
  }
}

/** Redirects to the page that ends with the published message. */
function pageOf({ forum }: Service, { message, position }: Publication): Answer {
  return redirect(pathTo(forum.state, message), position)
}

const hint = `Markdown is formatted. At most ${contentMax} characters. @name mentions somebody.`

/**
 * Returns the field for the message, with the button that shows it as it will look. It is the first
 * button of the form, and so that of the Enter key, which must not publish.
 */
function messageField(
  { forum }: Service,
  session: Session | null,
  { label, rows }: { label: string; rows: number },
  { body, problem, isPreview }: Draft,
): Html {
  const value = textOf(body, 'content')
  const shown = { name: 'content', label, value, problem, rows, hint, more: html` required=""` }
  const { pathOf } = linksFor(forum, session?.identity ?? nobody)
  const preview = () => html`<section class="preview" aria-label="Preview">
<div class="content">${markdown(value, pathOf)}</div></section>
`
  return html`${isPreview ? preview() : emptyHtml}${field(shown)}
<p class="buttons"><button name="do" value="preview" formnovalidate="">Preview</button></p>
`
}

/** Returns the button at the end of a form, below everything that is published. */
function publishButton(label: string): Html {
  return html`<p class="buttons"><button name="do" value="publish">${label}</button></p>
`
}

// A new thread.

export const newThreadPage: Route = page({
  name: 'newThreadPage',
  path: '/new',
  isOpen: true, // it asks for a sign-in itself
  query: undefined,
  run(service, { session }) {
    if (session === null) return needsSignIn
    const draft = { body: blank, problem: null, found: null }
    return answerWhole(service, session, threadContent(service, session, draft))
  },
})

function threadContent(service: Service, session: Session | null, draft: Draft): Content {
  const { body, problem } = draft
  const more = html` required="" autocomplete="off"`
  const title = { name: 'title', label: 'Title', value: textOf(body, 'title'), problem, more }
  const visibility = body.get('visibility') ?? 'public'
  const who = (value: string, label: string) => {
    const checked = value === visibility ? html` checked=""` : emptyHtml
    return html`<label><input type="radio" name="visibility" value="${value}"${checked}>
${label}</label>
`
  }
  const legend = 'Mention, or bring into a private thread'
  const isSignedIn = session !== null
  const { state } = service.forum
  const message = messageField(service, session, { label: 'Message', rows: 10 }, draft)
  const labels = html`${tagsField(body, problem)}${typeField(body, problem)}`
  const main = html`<h1>New thread</h1>
${problemNote(problem)}<form class="entry" method="post" action="/new">
${hiddenOf(service, session, draft)}${field(title)}${message}${labels}<fieldset>
<legend>Who can read it</legend>
<p class="choices">${who('public', 'Everybody')}${who(
    'private',
    'Only you and those you choose below',
  )}</p>
</fieldset>
${choices(state, { ...draft, isSignedIn, legend, offered: [] })}${publishButton('Publish')}</form>`
  return { title: 'New thread', main: [main] }
}

export const newThread: Route = formRoute({
  name: 'newThread',
  path: '/new',
  show: (service, { session, body }, problem) =>
    threadContent(service, session, { body, problem, found: null }),
  send(service, call) {
    const show = (draft: Draft) => threadContent(service, call.session, draft)
    const { body } = call
    const isPrivate = body.get('visibility') === 'private'
    const ids = chosenIn(body)
    const { identities } = service.forum.state
    const maySee = (identity: number) => !isPrivate || ids.includes(identities.id(identity))
    const send = (mentionIds: string[]) => {
      const thread = {
        title: textOf(body, 'title'),
        content: textOf(body, 'content'),
        visibility: isPrivate ? 'private' : 'public',
        participant_ids: isPrivate ? ids : [],
        mention_ids: mentionIds,
        tags: tagsIn(body),
        type: typeIn(body),
      }
      const key = textOf(body, 'key')
      const made = createThread(service, call, thread, key)
      return isRejection(made) ? made : pageOf(service, made)
    }
    return publish(service, call, { hasTitle: true, show, maySee, send })
  },
})

// Replying and following.

/** Returns the forms at the end of a thread's page, or a link to the sign-in. */
export function threadForms(
  service: Service,
  session: Session | null,
  { id, title }: Pick<Thread, 'id' | 'title'>,
): Html {
  const { state } = service.forum
  const thread = session === null ? -1 : state.visibleThread(session.identity, id)
  if (session === null || thread === -1) {
    return html`<p class="about"><a href="/sign-in?to=/t/${id}">Sign in to reply</a></p>\n`
  }
  const isFollowed = state.subscriptions.isSubscribed(session.identity, thread)
  const [act, label] = isFollowed ? ['unfollow', 'Stop following'] : ['follow', 'Follow']
  const button = html`<button name="do" value="${act}">${label} this thread</button>`
  const body = new URLSearchParams({ thread: title })
  const draft = { body, problem: null, found: null }
  return html`<form class="act" method="post" action="/t/${id}">
${hidden('form', session.formToken)}<p>${button}</p>
</form>
${
  state.threads.mayReply(thread)
    ? html`<h2 id="reply">Reply</h2>\n${replyForm(service, session, id, draft)}`
    : emptyHtml
}`
}

/**
 * Returns the title of the thread, which the form contains, so that a refusal can show it again
 * without reading the thread.
 */
function titleIn(body: URLSearchParams): string {
  return textOf(body, 'thread').slice(0, 2 * titleMax)
}

function replyForm(service: Service, session: Session | null, id: string, draft: Draft): Html {
  const { state } = service.forum
  const reader = session?.identity ?? -1
  const isSought = session !== null && idPattern.test(id)
  const thread = isSought ? state.visibleThread(reader, id) : -1
  const offered = thread === -1 ? [] : offeredIn(service.forum, thread, reader)
  const isSignedIn = session !== null
  const members = thread === -1 ? emptyHtml : privateNote(service.forum, thread, reader)
  const notes = html`${members}${problemNote(draft.problem)}`
  const unseen = html`${hiddenOf(service, session, draft)}${hidden('thread', titleIn(draft.body))}`
  const mention = choices(state, { ...draft, isSignedIn, legend: 'Mention', offered })
  const type = typeField(draft.body, draft.problem)
  return html`${notes}<form class="entry" method="post" action="/t/${id}">
${unseen}${messageField(service, session, { label: 'Your reply', rows: 6 }, draft)}${type}${mention}
${publishButton('Publish reply')}</form>
`
}

function replyContent(
  service: Service,
  session: Session | null,
  id: string,
  draft: Draft,
): Content {
  const title = titleIn(draft.body)
  const place = title === '' ? html`this thread` : html`<bdi>${title}</bdi>`
  const main = html`<h1>Reply</h1>
<p class="about">In <a href="/t/${id}">${place}</a></p>
${replyForm(service, session, id, draft)}`
  return { title: 'Reply', main: [main] }
}

const following = { follow: commandOf(postSubscribe), unfollow: commandOf(deleteSubscribe) }

export const threadForm: Route = formRoute({
  name: 'threadForm',
  path: '/t/:threadId',
  show: (service, { session, body, id }: FormCall, problem) =>
    replyContent(service, session, id, { body, problem, found: null }),
  send(service, call) {
    const { body, id, session } = call
    if (!idPattern.test(id)) return { rejected: 'not_found' }
    const act = body.get('do')
    if (act === 'follow' || act === 'unfollow') {
      const done = following[act](service, call, {})
      return isRejection(done) ? done : redirect(`/t/${id}`, done.position)
    }
    const show = (draft: Draft) => replyContent(service, session, id, draft)
    const { state } = service.forum
    const thread = state.visibleThread(session.identity, id)
    if (thread === -1) return { rejected: 'not_found' }
    const maySee = (identity: number) => state.maySee(identity, thread)
    const send = (mentionIds: string[]) => {
      const said = { content: textOf(body, 'content'), type: typeIn(body) }
      const reply = { ...said, mention_ids: mentionIds }
      const key = textOf(body, 'key')
      const made = createReply(service, call, reply, key)
      return isRejection(made) ? made : pageOf(service, made)
    }
    return publish(service, call, { hasTitle: false, show, maySee, send })
  },
})
