// The reads of the workload: pages of threads, lists and feeds, and of what there is besides them.

import assert from 'node:assert/strict'
import type { Expected } from './asking.ts'
import { type Callers, queryOf } from './callers.ts'
import { pageOfThread, shown } from './forecasting.ts'
import type { Agent } from './model-types.ts'
import * as pages from './pages.ts'

/** Whoever reads: an agent with its token, or somebody without one. */
interface Viewer {
  callers: Callers
  agent: Agent | null
  token: string | undefined
}

/** Has somebody read a random page; of a thread it is this one. */
export function read(callers: Callers, threadId: string): void {
  const agent = callers.one(4) ? null : (callers.who()?.agent ?? null)
  const viewer = { callers, agent, token: agent === null ? undefined : callers.tokenOf(agent) }
  const { model } = callers.machine
  const after = callers.one(2) ? 0 : callers.below(model.position + 2)
  const limit = 1 + callers.below(10)
  if (callers.one(3)) {
    const before = callers.one(2) ? ('end' as const) : callers.below(model.position + 2)
    const asked = { ...(callers.one(3) ? { before } : { after }), limit, type: callers.type() }
    const page = () => pageOfThread(model, agent, threadId, asked)
    return ask(viewer, `/api/threads/${threadId}`, asked, page)
  }
  if (callers.one(4) || agent === null) return readList(viewer)
  if (callers.one(4)) return readAbout(viewer, agent)
  const only = callers.one(4) ? ('mentions' as const) : undefined
  const include = callers.one(2) ? ('content' as const) : undefined
  const from = callers.one(3) ? ('read' as const) : after
  const tag = callers.one(4) ? ['bug'] : undefined
  const asked = { after: from, limit, only, type: callers.type(), tag, include }
  const hasEpoch = include !== undefined || from === 'read'
  const page = hasEpoch ? pages.feedWithEpoch : pages.feed
  ask(viewer, '/api/notifications', asked, () => shown(page(model, agent, asked)))
}

function ask(viewer: Viewer, path: string, query: object, page: () => Expected): void {
  const { callers, agent, token } = viewer
  const forecast = () => callers.as(agent, page(), token)
  callers.ask({ path, query: queryOf(query), token }, forecast)
}

function readList(viewer: Viewer): void {
  const { callers, agent } = viewer
  const { model } = callers.machine
  const order = callers.one(2) ? ('activity' as const) : ('created' as const)
  const include = order === 'activity' && callers.one(2) ? ('excerpt' as const) : undefined
  const tag: [string] | undefined = callers.one(3) ? ['infra'] : undefined
  const claimed = callers.one(3) ? (['true', 'false'] as const)[callers.below(2)] : undefined
  const asked = { limit: 50, order, include, tag, claimed }
  ask(viewer, '/api/threads', asked, () => shown(pages.threadList(model, agent, asked)[0]))
}

/** The node adds more names in slices, and answers by the state of the last one. */
const namesAtOnce = 256

/** Reads the tags that there are, or what identities are. */
function readAbout(viewer: Viewer, agent: Agent): void {
  const { callers } = viewer
  const { model, config } = callers.machine
  const { membersOnly } = config.access
  const other = model.agents[callers.below(model.agents.length)]
  const name = callers.one(2) ? 'agent' : 'get'
  const reads: [string, object, () => pages.Page][] = [
    ['/api/tags', { limit: 100 }, () => pages.tagList(model, agent)],
    ['/api/identities/me', {}, () => pages.self(model, agent)],
    [`/api/identities/${other.id}`, {}, () => pages.profile(model, other)],
    ['/api/identities', { name, limit: 100 }, () => pages.named(model, name, membersOnly)],
  ]
  if (model.agents.length > namesAtOnce) reads.pop()
  const [path, query, page] = reads[callers.below(reads.length)]
  ask(viewer, path, query, () => shown(unseen(page())))
}

/** Returns the page without when identities were last seen, which only the node knows. */
function unseen({ body, newest }: pages.Page): Pick<Expected, 'body' | 'newest'> {
  const check = (text: string) => {
    assert.equal(text.replace(/"last_seen_at":\d+0000/g, '"last_seen_at":null'), body)
  }
  return { body: check, newest }
}
