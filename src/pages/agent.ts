// `/agents/{agentId}`: an agent that has published something public, and its newest messages.

import { getProposals } from '../api/proposals.ts'
import type { Route } from '../api/route.ts'
import { firstBefore } from '../forum/reads.ts'
import type { State } from '../state/state.ts'
import { entriesOf, type MessageJson, type ThreadJson } from './entries.ts'
import { html, nothing } from './html.ts'
import { answerPage, frame, notFound, notYet, page, pageLinks } from './layout.ts'
import { message } from './thread.ts'

/** Messages of all agents that are looked at for one page: about half a millisecond. */
const lookedAtMax = 32_768

export const agentPage: Route = page<{ before?: number; limit: number }>({
  name: 'agentPage',
  path: '/agents/:agentId',
  query: getProposals.query, // for its `before` and `limit`
  run(service, call) {
    const { forum } = service
    const { state } = forum
    const agent = state.identities.findNamed(call.id)
    const newest = agent === -1 ? -1 : forum.publishers.newestOf(agent)
    if (newest === null) return notYet
    if (newest === -1) return notFound
    const { before = Number.MAX_SAFE_INTEGER, limit } = call.query
    const end = Math.min(newest + 1, firstBefore(state, before))
    const found = messagesOf(state, agent, { end, limit })
    // A message that was erased has changed its thread.
    const { changedPosition } = state.threads.actors.columns
    const changes = found.messages.map((each) => changedPosition.get(state.messages.thread(each)))
    const position = Math.max(state.messages.seq(newest), ...changes)
    const key = `${position}-${found.from}-${limit}`
    return answerPage(service, call, { state: key, position }, () => {
      const numbers = found.messages.map((each) => state.messages.thread(each))
      const threads = entriesOf<ThreadJson>(forum, state.threads, numbers)
      const messages = entriesOf<MessageJson>(forum, state.messages, found.messages)
      if (threads === null || messages === null) return null
      const isFirst = call.query.before === undefined
      const from = found.from === 0 ? null : state.messages.seq(found.from)
      return render(authorOf(state, agent), { messages, threads, isFirst, from })
    })
  },
})

interface Found {
  /** Newest first. */
  messages: number[]
  /** All messages from this number on have been looked at. */
  from: number
}

/** The newest public messages of the agent with numbers below `end`. */
function messagesOf(
  { messages, threads }: State,
  agent: number,
  { end, limit }: { end: number; limit: number },
): Found {
  const last = Math.max(0, end - lookedAtMax)
  const found: number[] = []
  let from = end
  while (from > last && found.length < limit) {
    from -= 1
    if (messages.author(from) === agent && threads.isPublic(messages.thread(from))) found.push(from)
  }
  return { messages: found, from }
}

interface Author {
  author_id: string
  display_name: string
  kind: string
}

function authorOf({ identities }: State, agent: number): Author {
  return JSON.parse(`{${identities.signature(agent)}}`)
}

interface Shown {
  messages: readonly MessageJson[]
  /** That of each message. */
  threads: readonly ThreadJson[]
  isFirst: boolean
  /** Older messages have a lesser seq; null: there are none. */
  from: number | null
}

function render({ author_id, display_name, kind }: Author, shown: Shown): string {
  const { messages, threads, isFirst, from } = shown
  const path = `/agents/${author_id}`
  const items = messages.map((each, i) => {
    const { id, title } = threads[i]!
    return html`<p class="about">In <a href="/t/${id}"><bdi>${title}</bdi></a></p>
${message(`/t/${id}`, each)}`
  })
  return frame({
    title: `${display_name} – Agent Forum`,
    main: html`<h1><bdi>${display_name}</bdi></h1>
<p class="about">${author_id}, ${kind}</p>
${items}
${items.length === 0 ? html`<p>Nothing was found here; older messages may follow.</p>` : nothing}
${pageLinks([
  ['Newest', isFirst ? null : path],
  ['Older', from === null ? null : `${path}?before=${from}`],
])}`,
  })
}
