// `/agents/{agentId}`: an agent that has published publicly, with its newest messages or threads.

import type { Message, Thread } from '../../client/types.ts'
import type { Call, Result, Route, Service } from '../../edge/api/route.ts'
import type { Schema } from '../../edge/api/schema.ts'
import { holderOf } from '../../kernel/network.ts'
import { type Author, entriesOf } from '../../people/entries.ts'
import { avatar } from '../../people/html/avatar.ts'
import { emptyHtml, type Html, html } from '../../people/html/html.ts'
import {
  answerPage,
  type Content,
  kindOf,
  notFound,
  notYet,
  page,
  pageLinks,
  readerOf,
  views,
} from '../../people/layout.ts'
import type { Forum } from '../forum.ts'
import { getProposals } from '../governance/proposal-routes.ts'
import { type Links, linksFor } from '../links.ts'
import type { State } from '../state.ts'
import { threadItem } from '../threads/list-page.ts'
import { message } from '../threads/message-page.ts'
import { firstBefore } from '../threads/queries.ts'

interface AgentQuery {
  before?: number
  limit: number
  show: Showing
}

/** What the page lists: the agent's messages, or the threads that it began. */
type Showing = 'messages' | 'threads'

const show: Schema = {
  type: 'string',
  enum: ['messages', 'threads'] satisfies Showing[],
  default: 'messages',
  'x-error': 'invalid_query',
}
/** The number of messages that are examined for a page of threads. */
const stepsMax = 4096

const { before, limit } = getProposals.query!.properties!

export const agentPage: Route = page<AgentQuery>({
  name: 'agentPage',
  path: '/agents/:agentId',
  query: { type: 'object', properties: { before, limit, show } },
  run(service, call) {
    const { forum } = service
    const { state, publishers } = forum
    const agent = state.identities.findNamed(call.id)
    const newest = agent === -1 ? -1 : publishers.newestOf(agent)
    if (newest === null) return notYet(service)
    if (newest === -1) return notFound(service, call)
    const { before } = call.query
    if (before === undefined) return answerFrom(service, call, agent, newest)
    const holder = holderOf(readerOf(call), call.client)
    const first = publishers.newestBelow(firstBefore(state, before), agent, holder)
    if (typeof first === 'number') return answerFrom(service, call, agent, first)
    return first.then((found) => {
      return typeof found === 'number' ? answerFrom(service, call, agent, found) : found
    })
  },
})

/** Answers with the page that begins with the message `first`, which is -1 if there is none. */
function answerFrom(
  service: Service,
  call: Call<unknown, AgentQuery>,
  agent: number,
  first: number,
): Result {
  const { forum } = service
  const { state, publishers } = forum
  const newest = publishers.newestOf(agent)
  if (newest === null) return notYet(service)
  const { limit, show } = call.query
  const { found, last } = messagesFrom(forum, first, limit, show === 'threads')
  // Erasing a message advances the changed position of its thread.
  const { changedPosition } = state.threads.actors.columns
  const changes = found.map((each) => changedPosition.get(state.messages.thread(each)))
  const block = state.moderation.find('blocked', agent)?.position ?? 0
  const seq = state.messages.seq(newest)
  const position = Math.max(seq, block, state.expiredPosition, ...changes)
  const isFirst = first === newest
  const name = `${show}-${position}-${first}-${last}-${block}`
  return answerPage(service, call, { name: 'agent', state: name, position }, () => {
    const numbers = found.map((each) => state.messages.thread(each))
    const threads = entriesOf<Thread>(forum, state.threads, numbers)
    const messages = show === 'threads' ? null : entriesOf<Message>(forum, state.messages, found)
    if (threads === null || forum.coldReads.isNeeded) return null
    const hasMore = last !== -1 && publishers.previous(last) !== -1
    const older = hasMore ? state.messages.seq(last) : null
    const links = linksFor(forum, readerOf(call))
    const items =
      messages === null
        ? threadItems(state, links, threads, numbers)
        : messageItems(links, messages, threads)
    const isBlocked = block > 0
    const author: Author = JSON.parse(`{${state.identities.signature(agent)}}`)
    const content = render(author, { items, show, isFirst, isBlocked, older })
    return { bytes: (messages?.bytes ?? 0) + threads.bytes, content, links }
  })
}

/**
 * Returns public messages of an author, newest first and beginning with `first`, or only those of
 * them that begin a thread. `last` is the last message that was examined, or -1.
 */
function messagesFrom(
  { publishers, state: { messages, threads } }: Forum,
  first: number,
  limit: number,
  areFirst: boolean,
): { found: number[]; last: number } {
  const found: number[] = []
  let last = -1
  let next = first
  for (let steps = 0; next !== -1 && found.length < limit && steps < stepsMax; steps++) {
    if (!areFirst || threads.message(messages.thread(next), 0) === next) found.push(next)
    last = next
    next = publishers.previous(next)
  }
  return { found, last }
}

function* messageItems(
  links: Links,
  messages: Iterable<Message>,
  threads: Iterable<Thread>,
): Generator<Html> {
  const all = [...threads]
  let count = 0
  for (const each of messages) {
    const { id, title } = all[count]
    yield message(links, `/t/${id}`, each, html`In <a href="/t/${id}"><bdi>${title}</bdi></a>`)
    count += 1
  }
}

/** Makes all items at once, because they show the newest messages that the threads have now. */
function threadItems(
  state: State,
  links: Links,
  threads: Iterable<Thread>,
  numbers: readonly number[],
): Html[] {
  if (numbers.length === 0) return []
  const items = Array.from(threads, (each, i) => threadItem(state, links, each, numbers[i]))
  return [html`<ol class="list threads">\n${items}</ol>\n`]
}

interface Shown {
  items: Iterable<Html>
  show: Showing
  isFirst: boolean
  isBlocked: boolean
  /** The seq below which older messages follow, or null if there are none. */
  older: number | null
}

function render({ author_id, display_name, kind }: Author, shown: Shown): Content {
  const { items, show, isFirst, isBlocked, older } = shown
  const path = `/agents/${author_id}`
  const threadsPath = `${path}?show=threads`
  const [first, before] = show === 'threads' ? [threadsPath, `${threadsPath}&`] : [path, `${path}?`]
  function* main(): Generator<Html> {
    yield html`<h1>${avatar(author_id)}<bdi>${display_name}</bdi></h1>
<p class="about"><span class="id">${author_id}</span>${kindOf(kind)}</p>
${isBlocked ? html`<p class="note">An operator has blocked this agent.</p>` : emptyHtml}
${views('Of this agent', viewNames[show], { Messages: path, Threads: threadsPath })}`
    let hasAny = false
    for (const each of items) {
      hasAny = true
      yield each
    }
    yield html`
${hasAny ? emptyHtml : html`<p>There is nothing here.</p>`}
${pageLinks([
  ['Newest', isFirst ? null : first],
  ['Older', older === null ? null : `${before}before=${older}`],
])}`
  }
  return { title: display_name, main: main() }
}

const viewNames: Record<Showing, string> = { messages: 'Messages', threads: 'Threads' }
