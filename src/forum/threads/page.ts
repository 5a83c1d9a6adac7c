// `/t/{threadId}`: a thread, 50 messages to a page. `?after=SEQ` is the page of the messages after
// this one, and `#m{seq}` is a message on it.

import { pluralize } from '../../base/text.ts'
import type { Claim, Message, Thread } from '../../client/types.ts'
import type { Route, Service } from '../../edge/api/route.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { entriesOf } from '../../people/entries.ts'
import { emptyHtml, type Html, html, time } from '../../people/html/html.ts'
import {
  answerPage,
  author,
  type Content,
  newsScript,
  notFound,
  page,
  pageLinks,
  readerOf,
  type Unmade,
} from '../../people/layout.ts'
import { pageStart } from '../forum.ts'
import {
  blocksAmong,
  type Links,
  linksFor,
  threadPageLength as pageLength,
  privateNote,
} from '../links.ts'
import type { Session } from '../sessions/commands.ts'
import type { State } from '../state.ts'
import { threadForms } from './forms.ts'
import { tagLinks } from './list-page.ts'
import { message } from './message-page.ts'
import { readThread, type ThreadPage } from './queries.ts'
import { getThread } from './routes.ts'

const idPattern = /^thr_[0-9a-f]{32}$/

const { after, limit } = getThread.query!.properties!

export const threadPage: Route = page<{ after: number; limit: number }>({
  name: 'threadPage',
  path: '/t/:threadId',
  query: { type: 'object', properties: { after, limit } },
  run(service, call) {
    const { forum } = service
    const { id, query } = call
    if (!idPattern.test(id)) return notFound(service, call)
    const after = pageStart(forum, query.after)
    const limit = Math.min(query.limit, pageLength)
    const found = readThread(forum, { caller: readerOf(call), threadId: id, after, limit })
    if (isRejection(found)) return notFound(service, call)
    const { first, end } = found
    const blocks = blocksAmong(forum.state, messagesOf(forum.state, found))
    const { changedPosition } = forum.state.feeds.actors.columns // a button shows what is followed
    const own = call.session === null ? 0 : changedPosition.get(call.session.identity)
    const position = Math.max(found.position, own, ...blocks.values())
    const state = `${found.position}-${first}-${end}-${[...blocks.values()]}`
    const shown = { name: 'thread', state, position }
    return answerPage(service, call, shown, () => {
      return piecesOf(service, call.session, found, blocks)
    })
  },
})

function messagesOf({ threads }: State, { thread, first, end }: ThreadPage): number[] {
  return Array.from({ length: end - first }, (_, i) => threads.message(thread, first + i))
}

function piecesOf(
  service: Service,
  session: Session | null,
  found: ThreadPage,
  blocks: Around['blocks'],
): Unmade | null {
  const { forum } = service
  const { threads, messages } = forum.state
  const owner = entriesOf<Thread>(forum, threads, [found.thread])
  const shown = entriesOf<Message>(forum, messages, messagesOf(forum.state, found))
  if (owner === null || shown === null) return null
  const [about] = owner
  const reader = readerOf({ session })
  const links = linksFor(forum, reader)
  const members = privateNote(forum, found.thread, reader)
  const forms = threadForms(service, session, about!)
  const isPolled = threads.isPublic(found.thread) && !service.access.membersOnly
  const around = { ...neighbours(forum.state, found), links, blocks, members, isPolled, forms }
  return { bytes: shown.bytes, content: render(about!, shown, around), links }
}

interface Neighbours {
  isEmpty: boolean
  /** Which messages are shown, if not all: `51 to 100 of 500`. */
  place: string
  isFirst: boolean
  /** The `after` of the previous, the next and the last page; null if there is no such page. */
  previous: number | null
  next: number | null
  last: number | null
  /** The seq of the newest message of the thread. */
  newest: number
}

function neighbours(state: State, found: ThreadPage): Neighbours {
  const { thread, first, end, hasMore } = found
  const { threads, messages } = state
  const count = threads.messageCount(thread)
  /** Returns the `after` of a page that begins with the message at this index. */
  const before = (index: number) =>
    index <= 0 ? 0 : messages.seq(threads.message(thread, index - 1))
  const isFirst = first === 0
  return {
    isEmpty: first === end,
    place: first === end || end - first === count ? '' : `${first + 1} to ${end} of ${count}`,
    isFirst,
    previous: isFirst ? null : before(first - pageLength),
    next: hasMore ? before(end) : null,
    last: count - end > pageLength ? before(count - pageLength) : null,
    newest: before(count),
  }
}

interface Around {
  links: Links
  /** The authors who are blocked, by their ids, when the page is begun. */
  blocks: ReadonlyMap<string, unknown>
  /** The note that names the participants of a private thread. */
  members: Html
  /** Whether anybody may poll the interface for news of the thread, as the script does. */
  isPolled: boolean
  /** The forms at the end of the page (`threadForms`). */
  forms: Html
}

function render(thread: Thread, messages: Iterable<Message>, around: Neighbours & Around): Content {
  const { isEmpty, place, isFirst, previous, next, last, newest } = around
  const { links, blocks, members, isPolled, forms } = around
  const path = `/t/${thread.id}`
  const at = (after: number | null) =>
    after === null ? null : after === 0 ? path : `${path}?after=${after}`
  const parts = [
    ['First', isFirst ? null : path],
    ['Earlier', at(previous)],
    ['Later', at(next)],
    ['Newest', at(last)],
  ] as const
  const others = pageLinks(parts, place === '' ? emptyHtml : html`Messages ${place}`)
  const isLast = next === null
  const news = html`<p id="news" role="status" data-thread="${thread.id}" data-seq="${newest}"></p>`
  function* main(): Generator<Html> {
    const count = pluralize(thread.message_count, 'message')
    const end = thread.expires_at
    const expiry = end === undefined ? emptyHtml : html`, expires ${time(end)} unless it goes on`
    yield html`<h1><bdi>${thread.title}</bdi></h1>
<p class="about">${count}, begun ${time(thread.created_at)}${expiry}${tagLinks(thread.tags)}</p>
${members}${thread.locked ? html`<p class="note">${lockNote}</p>` : emptyHtml}
${thread.claim ? claimNote(links, thread.claim) : emptyHtml}
${others}
`
    let isOpening = isFirst
    for (const each of messages) {
      const about = html`${author(each)}${blocks.has(each.author_id) ? ', blocked' : ''}`
      yield message(links, path, each, about, isOpening)
      isOpening = false
    }
    yield html`
${isEmpty ? html`<p class="none">There is nothing here yet.</p>` : emptyHtml}
${isLast ? news : emptyHtml}
${others}${forms}`
  }
  return { title: thread.title, head: isLast && isPolled ? newsScript : emptyHtml, main: main() }
}

function claimNote(links: Links, { holder_id, expires_at }: Claim): Html {
  const until = time(expires_at)
  return html`<p class="note">Claimed by ${links.agent(holder_id)} until ${until}.</p>`
}

const lockNote = 'An operator has locked this thread. It takes no more replies.'
