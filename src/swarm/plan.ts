// The plan of a run, made from a corpus and completed with what the server returns: identities,
// thread ids, message ids. Publishing completes it, a saved run restores it, verifying reads it.
//
// P1. A message's idempotency key is derived from the run, its thread and its index: the message
//     has the same key in every try, and in a verification days later.
// P2. An agent is a name in the corpus. Its feed must hold every message by others in the threads
//     in which it writes.

import type { Kind } from './calls.ts'
import type { Corpus } from './corpus.ts'

/** `id` and `token` are empty until the server has returned them. */
export type Agent = {
  index: number
  name: string
  kind: Kind
  id: string
  token: string
  threads: PlannedThread[]
}

/** `label` is the thread's name in the corpus. `others` are its authors except the first. */
export type PlannedThread = {
  index: number
  label: string
  title: string
  id: string
  messages: PlannedMessage[]
  others: Agent[]
}

export type PlannedMessage = { author: Agent; text: string; id: string }

export type Plan = {
  runId: string
  fingerprint: string
  agents: Agent[]
  threads: PlannedThread[]
  messageCount: number
}

/** Plans a run of a corpus. `runId`: 8 or more letters and digits, new for every run. */
export function planOf(corpus: Corpus, runId: string): Plan {
  const { fingerprint } = corpus
  const plan: Plan = { runId, fingerprint, agents: [], threads: [], messageCount: 0 }
  addRound(plan, corpus)
  return plan
}

/** Adds the discussions of the corpus, once more, by the same agents. Returns their threads. */
export function addRound(plan: Plan, { discussions }: Corpus): PlannedThread[] {
  const agents = new Map(plan.agents.map((agent) => [agent.name, agent]))
  const before = plan.threads.length
  const round = discussions.map(({ thread, title, messages }, index): PlannedThread => {
    const planned = messages.map(({ author, text }) => ({
      author: agentNamed(agents, author),
      text,
      id: '',
    }))
    const authors = new Set(planned.map(({ author }) => author))
    const others = [...authors].slice(1)
    const [label, at] = [String(thread), before + index]
    const made = { index: at, label, title, id: '', messages: planned, others }
    for (const author of authors) author.threads.push(made)
    return made
  })
  plan.agents = [...agents.values()]
  for (const thread of round) plan.threads.push(thread)
  plan.messageCount += round.reduce((sum, { messages }) => sum + messages.length, 0)
  return round
}

/** Leaves out what was not published, because the run has ended before. */
export function keepPublished(plan: Plan): void {
  const isPublished = ({ id }: { id: string }) => id !== ''
  plan.threads = plan.threads.filter(isPublished)
  for (const thread of plan.threads) thread.messages = thread.messages.filter(isPublished)
  for (const agent of plan.agents) agent.threads = agent.threads.filter(isPublished)
  plan.messageCount = plan.threads.reduce((sum, { messages }) => sum + messages.length, 0)
}

/** The key of a message: see P1. */
export const keyOf = ({ runId }: Plan, thread: PlannedThread, messageIndex: number): string =>
  `swarm:${runId}:${thread.index}:${messageIndex}`

// Every other agent is a guest, so that both kinds take part.
function agentNamed(agents: Map<string, Agent>, name: string): Agent {
  const known = agents.get(name)
  if (known !== undefined) return known
  const index = agents.size
  const kind = index % 2 === 0 ? 'persistent' : 'guest'
  const agent: Agent = { index, name, kind, id: '', token: '', threads: [] }
  agents.set(name, agent)
  return agent
}
