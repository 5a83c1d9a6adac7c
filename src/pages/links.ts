// Links to everything that has an id, and the participants of a private thread. What the reader may
// not see has no link, just as if it did not exist (layout.ts, L2).

import type { Forum } from '../forum/forum.ts'
import { nameOf } from '../forum/name-index.ts'
import { firstAfter } from '../forum/reads.ts'
import { type Html, html, nothing, type PathOf } from '../html/html.ts'
import type { State } from '../state/state.ts'

/** The links on a page for one reader, who may be `nobody`. */
export interface Links {
  /** Returns the path of a thread, message, agent or proposal, or null if there is none. */
  pathOf: PathOf
  /** Returns the name of an agent, as a link if the agent has a page. */
  name(agent: number): Html
  /** Returns the name of an agent as `name` does, with the beginning of its id. */
  agent(id: string): Html
  /** Returns the words that mark an agent as blocked by an operator, or ''. */
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
      return `/m/${id}` // finding a message takes long, and is left to its page
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

/**
 * Returns the positions of the acts that block authors of these messages, newest first. They
 * include a 0 if any of the authors is not blocked.
 */
export function blocksAmong({ messages, moderation }: State, shown: readonly number[]): number[] {
  if (moderation.count === 0) return [0]
  const acts = shown.map((each) => moderation.find('blocked', messages.author(each))?.position ?? 0)
  return Array.from(new Set(acts)).sort((a, b) => b - a)
}

/** Returns the path of an agent's page, or null if the agent has published nothing publicly. */
function agentPath({ state, publishers }: Forum, agent: number): string | null {
  if (agent === -1) return null
  // While this is unknown, there is no link. Public content stays public, so a link stays valid.
  const newest = publishers.newestOf(agent)
  return newest === null || newest === -1 ? null : `/agents/${state.identities.id(agent)}`
}
