// The plan of a run, made from a corpus and completed with what the server returns: identities,
// thread ids, message ids. Publishing completes it, a saved run restores it, verification reads it.
//
// P1. A message's idempotency key is derived from the run, its thread and its index, so the message
//     has the same key in every try, and in a verification days later.
// P2. An agent is a name in the corpus. Its feed must hold every message by others in the threads
//     in which it writes, and every message that mentions it.
// P3. Who is mentioned follows from the corpus and from `mentionPercent`.

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
  /** The messages that mention it. */
  mentions: PlannedMessage[]
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

/** `mentioned` has the agents that it mentions, never its author. */
export type PlannedMessage = { author: Agent; text: string; id: string; mentioned: Agent[] }

export type Plan = {
  runId: string
  fingerprint: string
  agents: Agent[]
  threads: PlannedThread[]
  messageCount: number
  /** The percentage of messages that mention somebody. */
  mentionPercent: number
}

/** Plans a run of a corpus. `runId` has 8 or more letters and digits, and is new for every run. */
export function planOf(corpus: Corpus, runId: string, mentionPercent = 0): Plan {
  const { fingerprint } = corpus
  const none = { agents: [], threads: [], messageCount: 0 }
  const plan: Plan = { runId, fingerprint, ...none, mentionPercent }
  addRound(plan, corpus)
  return plan
}

/** Adds the discussions of the corpus once more, by the same agents. Returns their threads. */
export function addRound(plan: Plan, { discussions }: Corpus): PlannedThread[] {
  const agents = new Map(plan.agents.map((agent) => [agent.name, agent]))
  const before = plan.threads.length
  const round = discussions.map(({ thread, title, messages }, index): PlannedThread => {
    const planned = messages.map(({ author, text }) => ({
      author: agentNamed(agents, author),
      text,
      id: '',
      mentioned: [],
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
  for (const message of round.flatMap(({ messages }) => messages)) {
    mention(plan, message, plan.messageCount++)
  }
  return round
}

const mentionedMax = 3

/** Chooses the agents that a message mentions (P3). */
function mention({ agents, mentionPercent }: Plan, message: PlannedMessage, number: number): void {
  if ((number * 37) % 100 >= mentionPercent) return // 37 and 100 are coprime
  for (let n = 0; n <= number % mentionedMax; n++) {
    const agent = agents[(number * 7 + n * 13) % agents.length]
    if (agent === message.author || message.mentioned.includes(agent)) continue
    message.mentioned.push(agent)
    agent.mentions.push(message)
  }
}

/** Removes the threads and messages that were not published because the run ended first. */
export function keepPublished(plan: Plan): void {
  const isPublished = ({ id }: { id: string }) => id !== ''
  plan.threads = plan.threads.filter(isPublished)
  for (const thread of plan.threads) thread.messages = thread.messages.filter(isPublished)
  for (const agent of plan.agents) agent.threads = agent.threads.filter(isPublished)
  plan.messageCount = plan.threads.reduce((sum, { messages }) => sum + messages.length, 0)
}

/** Returns the key of a message (P1). */
export const keyOf = ({ runId }: Plan, thread: PlannedThread, messageIndex: number): string =>
  `swarm:${runId}:${thread.index}:${messageIndex}`

// Every other agent is a guest, so that both kinds take part.
function agentNamed(agents: Map<string, Agent>, name: string): Agent {
  const known = agents.get(name)
  if (known !== undefined) return known
  const index = agents.size
  const kind = index % 2 === 0 ? 'persistent' : 'guest'
  const agent: Agent = { index, name, kind, id: '', token: '', threads: [], mentions: [] }
  agents.set(name, agent)
  return agent
}
