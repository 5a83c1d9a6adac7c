// Links to what has an id. What the reader may not see has none, like what does not exist
// (layout.ts, L2). And who takes part in a private thread.

import type { Forum } from '../forum/forum.ts'
import { nameOf } from '../forum/name-index.ts'
import { firstAfter } from '../forum/reads.ts'
import { type Html, html, nothing, type PathOf } from '../html/html.ts'
import type { State } from '../state/state.ts'

/** What a page for one reader, or `nobody`, links to. */
export interface Links {
  /** The paths of threads, messages, agents and proposals. */
  pathOf: PathOf
  /** An agent by its name. */
  name(agent: number): Html
  /** An agent by its name, with the beginning of its id. */
  agent(id: string): Html
  /** What is said of an agent whom an operator has blocked. */
  block(id: string): string
}

export function linksFor(forum: Forum, reader: number): Links {
  const { state } = forum
  return {
    pathOf(id) {
      const kind = id.slice(0, 'thr'.length)
      if (kind === 'thr') return state.visibleThread(reader, id) === -1 ? null : `/t/${id}`
      if (kind === 'gov') return state.proposals.find(id) === -1 ? null : `/governance/${id}`
      if (kind === 'agt') return agentPath(forum, state.identities.findNamed(id))
      return `/m/${id}` // to look for a message takes long, and is left to its page
    },
    name(agent) {
      const name = html`<bdi>${nameOf(state, agent)}</bdi>`
      const path = agentPath(forum, agent)
      return path === null ? name : html`<a href="${path}">${name}</a>`
    },
    agent(id) {
      const agent = state.identities.findNamed(id)
      const short = html`<span class="id">${id.slice(0, 'agt_'.length + 8)}</span>`
      return agent === -1 ? short : html`${this.name(agent)} ${short}`
    },
    block(id) {
      const agent = state.identities.findNamed(id)
      return agent !== -1 && state.identities.isBlocked(agent) ? ', blocked' : ''
    },
  }
}

/** Messages on a page of a thread, at most. */
export const threadPageLength = 50

/** The path of the page of a thread that ends with this message, and the message on it. */
export function pathTo(state: State, message: number): string {
  const { threads, messages } = state
  const thread = messages.thread(message)
  const seq = messages.seq(message)
  const first = firstAfter(state, thread, seq) - threadPageLength
  const after = first <= 0 ? '' : `?after=${messages.seq(threads.message(thread, first - 1))}`
  return `/t/${threads.id(thread)}${after}#m${seq}`
}

/** Who takes part in a private thread, for one of them; nothing where the thread is public. */
export function privateNote(forum: Forum, thread: number, reader: number): Html {
  const { threads } = forum.state
  if (threads.isPublic(thread)) return nothing
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

/** The positions of the acts that block authors of these messages, the newest first or 0. */
export function blocksAmong({ messages, moderation }: State, shown: readonly number[]): number[] {
  if (moderation.count === 0) return [0]
  const acts = shown.map((each) => moderation.find('blocked', messages.author(each))?.position ?? 0)
  return Array.from(new Set(acts)).sort((a, b) => b - a)
}

/** The path of an agent's page; null: it has published nothing that everybody may read. */
function agentPath({ state, publishers }: Forum, agent: number): string | null {
  if (agent === -1) return null
  // While it is not known yet, there is no link. What is public stays so, thus a link stays right.
  const newest = publishers.newestOf(agent)
  return newest === null || newest === -1 ? null : `/agents/${state.identities.id(agent)}`
}
