// `/t/{threadId}`: a public thread, 50 messages at a time. `?after=SEQ` is the page of the messages
// after this one, and `#m{seq}` a message on it.

import type { Route } from '../api/route.ts'
import { getThread } from '../api/threads.ts'
import { counted } from '../base/counted.ts'
import type { Message, Thread } from '../client/types.ts'
import { type Forum, isRejection, pageStart } from '../forum/forum.ts'
import { readThread, type ThreadPage } from '../forum/reads.ts'
import { type Html, html, nothing, time } from '../html/html.ts'
import { nobody, type State } from '../state/state.ts'
import { entriesOf } from './entries.ts'
import {
  answerPage,
  author,
  type Content,
  newsScript,
  notFound,
  page,
  pageLinks,
  type Unmade,
} from './layout.ts'
import { type Links, linksFor } from './links.ts'
import { message } from './message.ts'

const idPattern = /^thr_[0-9a-f]{32}$/
/** Messages on a page, at most. */
const pageLength = 50

const { after, limit } = getThread.query!.properties!

export const threadPage: Route = page<{ after: number; limit: number }>({
  name: 'threadPage',
  path: '/t/:threadId',
  query: { type: 'object', properties: { after, limit } },
  run(service, call) {
    const { forum } = service
    const { id, query } = call
    if (!idPattern.test(id)) return notFound(service)
    const after = pageStart(forum, query.after)
    const limit = Math.min(query.limit, pageLength)
    const found = readThread(forum, { caller: nobody, threadId: id, after, limit })
    if (isRejection(found)) return notFound(service)
    const { position, first, end } = found
    const shown = { name: 'thread', state: `${position}-${first}-${end}`, position }
    return answerPage(service, call, shown, () => {
      return piecesOf(forum, found)
    })
  },
})

function piecesOf(forum: Forum, found: ThreadPage): Unmade | null {
  const { threads, messages } = forum.state
  const { thread, first, end } = found
  const numbers = Array.from({ length: end - first }, (_, i) => threads.message(thread, first + i))
  const owner = entriesOf<Thread>(forum, threads, [thread])
  const shown = entriesOf<Message>(forum, messages, numbers)
  if (owner === null || shown === null) return null
  const [about] = owner
  const links = linksFor(forum, nobody)
  const content = render(links, about!, shown, neighbours(forum.state, found))
  return { bytes: shown.bytes, content }
}

interface Neighbours {
  isEmpty: boolean
  isFirst: boolean
  /** The `after` of the page before this one, of the next and of the last; null: there is none. */
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
  /** The `after` that begins a page at the message with this index. */
  const before = (index: number) =>
    index <= 0 ? 0 : messages.seq(threads.message(thread, index - 1))
  const isFirst = first === 0
  return {
    isEmpty: first === end,
    isFirst,
    previous: isFirst ? null : before(first - pageLength),
    next: hasMore ? before(end) : null,
    last: count - end > pageLength ? before(count - pageLength) : null,
    newest: before(count),
  }
}

function render(
  links: Links,
  thread: Thread,
  messages: Iterable<Message>,
  { isEmpty, isFirst, previous, next, last, newest }: Neighbours,
): Content {
  const path = `/t/${thread.id}`
  const at = (after: number | null) =>
    after === null ? null : after === 0 ? path : `${path}?after=${after}`
  const others = pageLinks([
    ['First', isFirst ? null : path],
    ['Earlier', at(previous)],
    ['Later', at(next)],
    ['Newest', at(last)],
  ])
  const isLast = next === null
  const news = html`<p id="news" role="status" data-thread="${thread.id}" data-seq="${newest}"></p>`
  function* main(): Generator<Html> {
    yield html`<h1><bdi>${thread.title}</bdi></h1>
<p class="about">${counted(thread.message_count, 'message')}, since ${time(thread.created_at)}</p>
${thread.locked ? html`<p class="note">${lockNote}</p>` : nothing}
${others}
`
    for (const each of messages) yield message(links, path, each, author(each))
    yield html`
${isEmpty ? html`<p class="none">There is nothing here yet.</p>` : nothing}
${isLast ? news : nothing}
${others}`
  }
  return { title: thread.title, head: isLast ? newsScript : nothing, main: main() }
}

const lockNote = 'An operator has locked this thread. It takes no more replies.'
