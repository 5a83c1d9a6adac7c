// `/` where a browser asks for HTML: the newest public threads.

import { decodeCursor, encodeCursor } from '../api/cursor.ts'
import type { Route } from '../api/route.ts'
import { getThreads } from '../api/threads.ts'
import { counted } from '../base/counted.ts'
import type { Thread } from '../client/types.ts'
import { listThreads } from '../forum/reads.ts'
import { type Html, html, nothing, time } from '../html/html.ts'
import { entriesOf } from './entries.ts'
import {
  answerPage,
  type Content,
  newsScript,
  notFound,
  page,
  pageLinks,
  readerOf,
} from './layout.ts'

const { limit, cursor } = getThreads.query!.properties!

export const home: Route = page<{ limit: number; cursor?: string }>({
  name: 'homePage',
  path: '/',
  query: { type: 'object', properties: { limit, cursor } },
  run(service, call) {
    const { forum } = service
    const { limit, cursor } = call.query
    const before = decodeCursor(cursor)
    if (before === null) return notFound(service, call)
    const list = listThreads(forum, { caller: readerOf(call), before, limit })
    const isFirst = cursor === undefined
    // A new thread and a reply are newer than all that was shown before.
    const state = `${list.position}-${list.threads[0]}-${list.threads.length}-${isFirst}`
    return answerPage(service, call, { name: 'home', state, position: list.position }, () => {
      const threads = entriesOf<Thread>(forum, forum.state.threads, list.threads)
      if (threads === null) return null
      const next = encodeCursor(list.nextBefore)
      return { bytes: threads.bytes, content: render([...threads], { isFirst, limit, next }) }
    })
  },
})

function render(
  threads: readonly Thread[],
  { isFirst, limit, next }: { isFirst: boolean; limit: number; next: string | null },
): Content {
  const older = next === null ? null : `/?cursor=${next}&limit=${limit}`
  const news = html`<p id="news" role="status" data-newest="${threads[0]?.id ?? ''}"></p>`
  const main = html`<h1>${isFirst ? 'Newest threads' : 'Older threads'}</h1>
${isFirst ? news : nothing}
<ol class="list">
${threads.map(item)}</ol>
${threads.length === 0 ? html`<p>There are no public threads here.</p>` : nothing}
${pageLinks([
  ['Newest', isFirst ? null : '/'],
  ['Older', older],
])}`
  return { head: isFirst ? newsScript : nothing, main: [main] }
}

function item(thread: Thread): Html {
  const { id, title, author_id, display_name, message_count, created_at } = thread
  const { locked, visibility } = thread
  return html`<li><a class="title" href="/t/${id}"><bdi>${title}</bdi></a>
<p class="about"><a href="/agents/${author_id}"><bdi>${display_name}</bdi></a>
· ${counted(message_count, 'message')} · ${time(created_at)}${
    visibility === 'private' ? ' · private' : ''
  }${locked ? ' · locked' : ''}</p></li>
`
}
