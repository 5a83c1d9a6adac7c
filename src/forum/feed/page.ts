// `/feed`: the unread messages of the person who is signed in, and the threads that they follow. A
// button marks the messages on the page as read, by the command of PUT /api/notifications/read.

import { pluralize } from '../../base/text.ts'
import type { Message, Thread } from '../../client/types.ts'
import { keepFound, takeFound } from '../../edge/api/item-page.ts'
import type { Call, Result, Route, Service } from '../../edge/api/route.ts'
import { after as afterSchema, type Schema } from '../../edge/api/schema.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { type EntriesOf, entriesOf } from '../../people/entries.ts'
import { formRoute, redirect, textOf } from '../../people/forms.ts'
import { hidden, problemNote } from '../../people/html/forms.ts'
import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import {
  author,
  type Content,
  makePage,
  needsSignIn,
  page,
  pageLinks,
  views,
} from '../../people/layout.ts'
import { type Links, linksFor } from '../links.ts'
import type { Session } from '../sessions/commands.ts'
import type { State } from '../state.ts'
import { tagLinks } from '../threads/list-page.ts'
import { message } from '../threads/message-page.ts'
import type { Feed } from './queries.ts'

/** The maximum number of messages on a page. */
const pageLength = 50
const followedShown = 20
/** A person who follows more threads than this finds them in the list of all threads. */
const followedLooked = 4096
const mentionsPath = '/feed?only=mentions'
const mentionsName = 'Those that mention you'
const kinds = { All: '/feed', [mentionsName]: mentionsPath }

const { default: _, ...after } = afterSchema

interface FeedQuery {
  /** The seq after which the page begins; by default it is the read mark. */
  after?: number
  only?: 'mentions'
  since?: 'followed'
}

const since: Schema = { type: 'string', enum: ['followed'], 'x-error': 'invalid_query' }
const only: Schema = { type: 'string', enum: ['mentions'], 'x-error': 'invalid_query' }

export const feedPage: Route = page<FeedQuery>({
  name: 'feedPage',
  path: '/feed',
  isOpen: true, // it asks for a sign-in itself
  query: { type: 'object', properties: { after, only, since } },
  run(service, call) {
    const { session, query, connection } = call
    if (session === null) return needsSignIn
    const { forum, commands } = service
    const { identity: caller } = session
    const kept = takeFound<Feed>(call)
    if (kept !== undefined && commands.isCurrent(forum, caller, kept)) {
      return answerOf(service, call, session, kept)
    }
    const { through } = commands.readPlace(forum, { caller })
    const from = commands.pageStart(forum, query.after ?? through)
    const isSinceFollowed = isBeginning(query, through)
    const read = { caller, after: from, limit: pageLength, only: query.only, isSinceFollowed }
    const found = commands.readFeed(forum, read, connection)
    if (!(found instanceof Promise)) return answerOf(service, call, session, found)
    return found.then((feed) => {
      if (isRejection(feed)) return feed
      const outcome = answerOf(service, call, session, feed)
      if (forum.coldReads.isNeeded) keepFound(call, feed)
      return outcome
    })
  },
})

/**
 * Returns whether threads are shown from where the reader began to follow them. They are as long as
 * nothing is marked as read, because older messages are no news to a reader who has just begun.
 */
function isBeginning({ after, since }: FeedQuery, through: number): boolean {
  return since === 'followed' || (after === undefined && through === 0)
}

function answerOf(
  service: Service,
  call: Call<unknown, FeedQuery>,
  session: Session,
  found: Feed,
): Result {
  const { forum, commands } = service
  const { state } = forum
  const feed = commands.contentPage(state, found)
  const place = commands.readPlace(forum, { caller: session.identity })
  const followed = newestFollowed(state, session.identity)
  const { changedPosition } = state.threads.actors.columns
  const ofMessages = feed.messages.map((each) => state.messages.thread(each))
  const changes = [...followed, ...ofMessages].map((thread) => changedPosition.get(thread))
  const position = Math.max(feed.position, place.position, ...changes)
  return makePage(service, call, { position, cached: null }, () => {
    const messages = entriesOf<Message>(forum, state.messages, feed.messages)
    const threads = entriesOf<Thread>(forum, state.threads, ofMessages)
    const lists = entriesOf<Thread>(forum, state.threads, followed)
    if (messages === null || threads === null || lists === null) return null
    const bytes = messages.bytes + threads.bytes + lists.bytes
    const mentions = new Set(feed.mentions.map((each) => state.messages.seq(each)))
    const { after = place.through, only } = call.query
    const tagged = new Map([...feed.tagged].map(([each, tag]) => [state.messages.seq(each), tag]))
    const shown = {
      ...feed,
      mentions,
      tagged,
      through: place.through,
      formToken: session.formToken,
    }
    const isUnread = after <= place.through
    const areMentions = only === 'mentions'
    const isSinceFollowed = isBeginning(call.query, place.through) && !areMentions
    const flags = { isUnread, areMentions, isSinceFollowed }
    const links = linksFor(forum, session.identity)
    const content = render(messages, threads, lists, { ...shown, ...flags, links })
    return { bytes, content, links }
  })
}

/** Returns the threads that the identity follows, except expired ones, the newest news first. */
function newestFollowed({ feeds, threads }: State, identity: number): number[] {
  if (feeds.followed(identity) > followedLooked) return []
  const { newestPosition } = threads.actors.columns
  const byNews = (a: number, b: number) => newestPosition.get(b) - newestPosition.get(a)
  const alive = [...feeds.threadsOf(identity)].filter((thread) => !threads.isExpired(thread))
  return alive.sort(byNews).slice(0, followedShown)
}

interface Shown extends Pick<Feed, 'nextAfter' | 'hasMore'> {
  links: Links
  /** The seqs of messages that mention the reader. */
  mentions: ReadonlySet<number>
  /** The tags that the reader follows, by the seqs of the messages that begin a thread with one. */
  tagged: ReadonlyMap<number, string>
  /** The read mark. */
  through: number
  formToken: string
  isUnread: boolean
  isSinceFollowed: boolean
  /**
   * Whether the page has only messages that mention the reader, and so no button that marks them.
   */
  areMentions: boolean
}

function render(
  messages: Iterable<Message>,
  threads: Iterable<Thread>,
  followed: EntriesOf<Thread>,
  { links, mentions, tagged, nextAfter, hasMore, through, formToken, ...flags }: Shown,
): Content {
  const { isUnread, areMentions, isSinceFollowed } = flags
  function* main(): Generator<Html> {
    yield html`<h1>Feed</h1>
<p class="about">Messages by others in the threads you follow, and those that mention you.</p>
${views('Messages', areMentions ? mentionsName : 'All', kinds)}`
    const path = areMentions ? `${mentionsPath}&` : '/feed?'
    const owners = [...threads]
    if (isSinceFollowed && followed.bytes > 0) yield beginning
    let count = 0
    for (const each of messages) {
      const { id, title } = owners[count]
      const mention = mentions.has(each.seq) ? html` · mentions you` : emptyHtml
      const tag = tagged.get(each.seq)
      const tags = tagLinks(tag === undefined ? [] : [tag])
      const thread = html`<a href="/t/${id}"><bdi>${title}</bdi></a>`
      const about = html`${author(each)} in ${thread}${mention}${tags}`
      yield message(links, `/t/${id}`, each, about)
      count += 1
    }
    const allRead = isSinceFollowed ? 'There is nothing new.' : 'You have read everything.'
    const nothingNew = areMentions ? 'No unread message mentions you.' : allRead
    const items = [...followed].map(threadItem)
    const isNew = items.length === 0 && through === 0 && !areMentions
    const start = 'You follow no thread yet. Begin one, or follow one on its page.'
    const hasEarlier = through > 0 || (isSinceFollowed && !isNew)
    const none = isUnread ? (isNew ? start : nothingNew) : 'There is nothing more.'
    yield count === 0 ? html`<p class="none">${none}</p>\n` : emptyHtml
    if (count > 0 && nextAfter > through && !areMentions)
      yield markButton(formToken, nextAfter, count)
    const more = isSinceFollowed ? '&since=followed' : ''
    const later = hasMore ? `${path}after=${nextAfter}${more}` : null
    yield pageLinks([
      ['Unread', isUnread ? null : path.slice(0, -1)],
      ['Later', later],
      ['From the beginning', isUnread && hasEarlier ? `${path}after=0` : null],
    ])
    if (areMentions) return
    if (items.length === 0) return
    yield html`
<h2>Threads you follow</h2>
<ol class="list">
${items}</ol>`
  }
  return { title: 'Feed', main: main() }
}

const beginning = html`<p class="note">You have marked nothing as read yet. Each thread is shown
from where you began to follow it, and what was there before is left out.</p>
`

function markButton(formToken: string, through: number, count: number): Html {
  return html`<form class="act" method="post" action="/feed">
${hidden('form', formToken)}${hidden('through', `${through}`)}<p><button>Mark ${
    count === 1 ? 'this message' : `these ${count} messages`
  } as read</button></p>
</form>
`
}

function threadItem({ id, title, message_count, visibility }: Thread): Html {
  const isPrivate = visibility === 'private' ? ' · private' : ''
  return html`<li><a class="title" href="/t/${id}"><bdi>${title}</bdi></a>
<p class="about">${pluralize(message_count, 'message')}${isPrivate}</p></li>
`
}

export const markFeed: Route = formRoute({
  name: 'markFeed',
  path: '/feed',
  show: (_service, _call, problem) => ({
    title: 'Feed',
    main: [
      html`<h1>Nothing is marked as read</h1>
${problemNote(problem)}<p><a href="/feed">Your feed</a></p>`,
    ],
  }),
  send({ forum, commands }, { session, body }) {
    const through = Number(textOf(body, 'through'))
    if (!Number.isSafeInteger(through) || through < 0) return { rejected: 'invalid_field' }
    const marked = commands.markRead(forum, { caller: session.identity, through })
    return isRejection(marked) ? marked : redirect('/feed', marked.position)
  },
})
