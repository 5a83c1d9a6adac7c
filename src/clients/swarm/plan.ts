// The plan of a run, made from a corpus and completed with what the server returns: identities,
// thread ids, message ids. Publishing completes it, a saved run restores it, verification reads it.
//
// P1. A message's idempotency key is derived from the run, its thread and its index, so the message
//     has the same key in every try, and in a verification days later.
// P2. An agent is a name in the corpus. Its feed must hold every message by others in the threads
//     in which it writes, and every message that mentions it.
// P3. Who is mentioned follows from the corpus and from `mentionPercent`.
// P4. An idle agent writes nothing. In each round of the corpus it follows one thread, and all
//     threads have equally many of them, if there are enough.

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
  mentions: PlannedMessage[]
  isIdle: boolean
}

/**
 * `label` is the thread's name in the corpus. `others` follow it besides its first author: its
 * other authors, and idle agents.
 */
export type PlannedThread = {
  index: number
  label: string
  title: string
  id: string
  messages: PlannedMessage[]
  others: Agent[]
}

/**
 * `mentioned` has the agents that it mentions, never its author. `fence`: of the claim under which
 * it is published, if it is the result of a task.
 */
export type PlannedMessage = {
  author: Agent
  text: string
  id: string
  mentioned: Agent[]
  fence?: number
}

export type Plan = {
  runId: string
  fingerprint: string
  /** The idle ones are the last of them. */
  agents: Agent[]
  idle: readonly Agent[]
  threads: PlannedThread[]
  messageCount: number
  /** The percentage of messages that mention somebody. */
  mentionPercent: number
}

/** Plans a run of a corpus. `runId` has 8 or more letters and digits, and is new for every run. */
export function planOf(
  corpus: Corpus,
  runId: string,
  { mentionPercent = 0, idle = 0 }: { mentionPercent?: number; idle?: number } = {},
): Plan {
  const { fingerprint } = corpus
  const none = { agents: [], idle: [], threads: [], messageCount: 0 }
  const plan: Plan = { runId, fingerprint, ...none, mentionPercent }
  const round = addRound(plan, corpus)
  const writers = plan.agents
  plan.idle = Array.from({ length: idle }, (_, n) => ({
    ...newAgent(writers.length + n, `idle-${n + 1}`),
    isIdle: true,
  }))
  plan.agents = [...writers, ...plan.idle]
  spreadIdle(plan, round)
  return plan
}

/** Has each idle agent follow one of the threads of a round (P4). */
function spreadIdle({ idle }: Plan, round: readonly PlannedThread[]): void {
  for (const [n, agent] of idle.entries()) {
    const thread = round[n % round.length]
    thread.others.push(agent)
    agent.threads.push(thread)
  }
}

/** Adds the discussions of the corpus once more, by the same agents. Returns their threads. */
export function addRound(plan: Plan, { discussions }: Corpus): PlannedThread[] {
  const writers = plan.agents.slice(0, plan.agents.length - plan.idle.length)
  const agents = new Map(writers.map((agent) => [agent.name, agent]))
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
  plan.agents = [...agents.values(), ...plan.idle]
  for (const thread of round) plan.threads.push(thread)
  for (const message of round.flatMap(({ messages }) => messages)) {
    mention(plan, message, plan.messageCount++)
  }
  spreadIdle(plan, round)
  return round
}

const mentionedMax = 3

/** Chooses the agents that a message mentions (P3). */
function mention(
  { agents, idle, mentionPercent }: Plan,
  message: PlannedMessage,
  number: number,
): void {
  if ((number * 37) % 100 >= mentionPercent) return // 37 and 100 are coprime
  for (let n = 0; n <= number % mentionedMax; n++) {
    const agent = agents[(number * 7 + n * 13) % (agents.length - idle.length)]
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

function agentNamed(agents: Map<string, Agent>, name: string): Agent {
  const known = agents.get(name)
  if (known !== undefined) return known
  const agent = newAgent(agents.size, name)
  agents.set(name, agent)
  return agent
}

// Every other agent is a guest, so that both kinds take part.
function newAgent(index: number, name: string): Agent {
  const kind = index % 2 === 0 ? 'persistent' : 'guest'
  return { index, name, kind, id: '', token: '', threads: [], mentions: [], isIdle: false }
}
