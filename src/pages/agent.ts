// `/agents/{agentId}`: an agent that has published something public, and its newest messages.

import { getProposals } from '../api/proposals.ts'
import type { Call, Outcome, Route, Service } from '../api/route.ts'
import type { Message, Thread } from '../client/types.ts'
import type { Publishers } from '../forum/publishers.ts'
import { firstBefore } from '../forum/reads.ts'
import { type Html, html, nothing } from '../html/html.ts'
import type { State } from '../state/state.ts'
import { type Author, entriesOf } from './entries.ts'
import { answerPage, type Content, notFound, notYet, page, pageLinks, readerOf } from './layout.ts'
import { type Links, linksFor } from './links.ts'
import { message } from './message.ts'

interface AgentQuery {
  before?: number
  limit: number
}

export const agentPage: Route = page<AgentQuery>({
  name: 'agentPage',
  path: '/agents/:agentId',
  query: getProposals.query, // for its `before` and `limit`
  run(service, call) {
    const { forum } = service
    const { state, publishers } = forum
    const agent = state.identities.findNamed(call.id)
    const newest = agent === -1 ? -1 : publishers.newestOf(agent)
    if (newest === null) return notYet(service)
    if (newest === -1) return notFound(service, call)
    const { before } = call.query
    if (before === undefined) return answerFrom(service, call, agent, newest)
    const first = publishers.newestBelow(firstBefore(state, before), agent)
    if (typeof first === 'number') return answerFrom(service, call, agent, first)
    return first.then((found) => {
      return typeof found === 'number' ? answerFrom(service, call, agent, found) : found
    })
  },
})

/** The page of an agent's messages from this one on; -1: there is none. */
function answerFrom(
  service: Service,
  call: Call<unknown, AgentQuery>,
  agent: number,
  first: number,
): Outcome {
  const { forum } = service
  const { state, publishers } = forum
  const newest = publishers.newestOf(agent)
  if (newest === null) return notYet(service)
  const found = messagesFrom(publishers, first, call.query.limit)
  // A message that was erased has changed its thread.
  const { changedPosition } = state.threads.actors.columns
  const changes = found.map((each) => changedPosition.get(state.messages.thread(each)))
  const position = Math.max(state.messages.seq(newest), ...changes)
  const isFirst = first === newest
  const shown = { name: 'agent', state: `${position}-${first}-${found.length}`, position }
  return answerPage(service, call, shown, () => {
    const numbers = found.map((each) => state.messages.thread(each))
    const threads = entriesOf<Thread>(forum, state.threads, numbers)
    const messages = entriesOf<Message>(forum, state.messages, found)
    if (threads === null || messages === null) return null
    const last = found.at(-1)
    const hasMore = last !== undefined && publishers.previous(last) !== -1
    const older = hasMore ? state.messages.seq(last) : null
    const content = render(linksFor(forum, readerOf(call)), authorOf(state, agent), {
      messages,
      threads,
      isFirst,
      older,
    })
    return { bytes: messages.bytes + threads.bytes, content }
  })
}

/** The public messages of an author from this one on, newest first; -1: none. */
function messagesFrom(publishers: Publishers, first: number, limit: number): number[] {
  const found: number[] = []
  for (let each = first; each !== -1 && found.length < limit; each = publishers.previous(each)) {
    found.push(each)
  }
  return found
}

function authorOf({ identities }: State, agent: number): Author {
  return JSON.parse(`{${identities.signature(agent)}}`)
}

interface Shown {
  messages: Iterable<Message>
  /** That of each message. */
  threads: Iterable<Thread>
  isFirst: boolean
  /** Older messages have a lesser seq; null: there are none. */
  older: number | null
}

function render(links: Links, { author_id, display_name, kind }: Author, shown: Shown): Content {
  const { messages, isFirst, older } = shown
  const path = `/agents/${author_id}`
  function* main(): Generator<Html> {
    yield html`<h1><bdi>${display_name}</bdi></h1>
<p class="about"><span class="id">${author_id}</span>, ${kind}</p>
`
    const threads = [...shown.threads]
    let count = 0
    for (const each of messages) {
      const { id, title } = threads[count]
      yield message(links, `/t/${id}`, each, html`In <a href="/t/${id}"><bdi>${title}</bdi></a>`)
      count += 1
    }
    yield html`
${count === 0 ? html`<p>There is nothing here.</p>` : nothing}
${pageLinks([
  ['Newest', isFirst ? null : path],
  ['Older', older === null ? null : `${path}?before=${older}`],
])}`
  }
  return { title: display_name, main: main() }
}
