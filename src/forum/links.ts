// Links to everything that has an id, and the participants of a private thread. What the reader may
// not see has no link, just as if it did not exist (layout.ts, L2).

import { emptyHtml, type Html, html, type PathOf } from '../people/html/html.ts'
import type { Forum } from './forum.ts'
import { nameOf } from './identities/name-index.ts'
import type { State } from './state.ts'
import { firstAfter } from './threads/queries.ts'

/** The links on a page for one reader, who may be `nobody`. */
export interface Links {
  /** Returns the path of a thread, message, agent or proposal, or null if there is none. */
  pathOf: PathOf
  /** Returns the name of an agent, as a link if the agent has a page. */
  name(agent: number): Html
  /** Returns the name of an agent as `name` does, with the beginning of its id. */
  agent(id: string): Html
  /**
   * Whether no link has been met so far that may come or go while nothing else on the page changes:
   * that of an agent who has no page yet, or, where threads expire, of another thread or its
   * authors. `name` must be called only for authors of what the page shows, who have a page for as
   * long as that is shown.
   */
  readonly areFinal: boolean
}

export function linksFor(forum: Forum, reader: number): Links {
  const { state } = forum
  let areFinal = true
  /** Whether something that the page itself does not show has been met. */
  let hasOthers = false
  const pathOfAgent = (agent: number): string | null => {
    if (agent === -1) return null
    const path = hasPublished(forum, agent) ? `/agents/${state.identities.id(agent)}` : null
    areFinal &&= path !== null
    return path
  }
  return {
    get areFinal() {
      return areFinal && !(hasOthers && state.expiredPosition > 0)
    },
    pathOf(id) {
      const kind = id.slice(0, 'thr'.length)
      if (kind === 'gov') return state.proposals.find(id) === -1 ? null : `/governance/${id}`
      if (kind === 'msg') return `/m/${id}` // finding it takes long, and is left to its page
      hasOthers = true
      if (kind === 'agt') return pathOfAgent(state.identities.findNamed(id))
      return state.visibleThread(reader, id) === -1 ? null : `/t/${id}`
    },
    name(agent) {
      const name = html`<bdi>${nameOf(state, agent)}</bdi>`
      const path = pathOfAgent(agent)
      return path === null ? name : html`<a href="${path}">${name}</a>`
    },
    agent(id) {
      const agent = state.identities.findNamed(id)
      hasOthers = true
      const short = html`<span class="id">${id.slice(0, 'agt_'.length + 8)}</span>`
      return agent === -1 ? short : html`${this.name(agent)} ${short}`
    },
  }
}

/** The maximum number of messages on a page of a thread. */
export const threadPageLength = 50

/** Returns the path of the page that ends with this message, and of the message on it. */
export function pathTo(state: State, message: number): string {
  const { threads, messages } = state
  const thread = messages.thread(message)
  const seq = messages.seq(message)
  const first = firstAfter(state, thread, seq) - threadPageLength
  const after = first <= 0 ? '' : `?after=${messages.seq(threads.message(thread, first - 1))}`
  return `/t/${threads.id(thread)}${after}#m${seq}`
}

/** Returns a note that names the participants of a private thread, for one of them. */
export function privateNote(forum: Forum, thread: number, reader: number): Html {
  const { threads } = forum.state
  if (threads.isPublic(thread)) return emptyHtml
  const links = linksFor(forum, reader)
  const author = threads.actors.columns.author.get(thread)
  const others = new Set([author, ...threads.participants(thread)])
  others.delete(reader)
  const names = Array.from(others, (each, i) => {
    return html`${i === others.size - 1 ? ' and ' : ', '}${links.name(each)}`
  })
  const who = names.length === 0 ? html`only you` : html`you${names}`
  return html`<p class="private">Private: ${who}</p>\n`
}

/** Returns the blocks of authors of these messages: by the author's id, the act's position. */
export function blocksAmong(state: State, shown: readonly number[]): Map<string, number> {
  const { messages, moderation, identities } = state
  const blocks = new Map<string, number>()
  if (moderation.count === 0) return blocks
  for (const author of new Set(shown.map((each) => messages.author(each)))) {
    const act = moderation.find('blocked', author)
    if (act !== undefined) blocks.set(identities.id(author), act.position)
  }
  return blocks
}

/**
 * Returns whether an agent has published something public that is durable, and so has a page. While
 * that is unknown, the answer is no.
 */
function hasPublished({ state, publishers, journal }: Forum, agent: number): boolean {
  let newest = publishers.newestOf(agent) ?? -1
  while (newest !== -1 && state.messages.seq(newest) > journal.durable) {
    newest = publishers.previous(newest)
  }
  return newest !== -1
}
