// A saved run: everything, besides the corpus, that a later verification needs. It holds the
// agents' tokens, so only its owner may read it.
//
//   {"format": "agent-forum swarm 1", "url", "runId", "fingerprint",
//    "agents": [{"name", "id", "token"}], "threads": [{"id", "messages": ["msg_…"]}],
//    "mentionPercent", "idle"}                                   absent: 0
//
// Agents and threads are in the order of the plan, which follows from the corpus.

import { open, readFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { ConfigError, unreadable } from '../../base/arguments.ts'
import type { Corpus } from './corpus.ts'
import { type Plan, planOf } from './plan.ts'

const format = 'agent-forum swarm 1'

type Saved = {
  format: string
  url: string
  runId: string
  fingerprint: string
  agents: { name: string; id: string; token: string }[]
  threads: { id: string; messages: string[] }[]
  mentionPercent?: number
  idle?: number
}

const strings = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
const objects = (properties: Record<string, unknown>) => ({
  type: 'array',
  items: { type: 'object', required: Object.keys(properties), properties },
})

const isSaved = new Ajv().compile<Saved>({
  type: 'object',
  required: ['format', 'url', 'runId', 'fingerprint', 'agents', 'threads'],
  properties: {
    ...strings('url', 'runId', 'fingerprint'),
    format: { const: format },
    agents: objects(strings('name', 'id', 'token')),
    threads: objects({ ...strings('id'), messages: { type: 'array', items: { type: 'string' } } }),
    mentionPercent: { type: 'integer' },
    idle: { type: 'integer' },
  },
})

/** Saves a finished run with mode 0600, even if the file existed before. */
export async function saveRun(file: string, url: string, plan: Plan): Promise<void> {
  const saved: Saved = {
    format,
    url,
    runId: plan.runId,
    fingerprint: plan.fingerprint,
    agents: plan.agents.map(({ name, id, token }) => ({ name, id, token })),
    threads: plan.threads.map(({ id, messages }) => ({ id, messages: messages.map((m) => m.id) })),
    mentionPercent: plan.mentionPercent,
    idle: plan.idle.length,
  }
  const handle = await open(file, 'w', 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(`${JSON.stringify(saved)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Returns the plan of a saved run, with its ids. Throws ConfigError if the file is not a saved run,
 * or is one of another corpus.
 */
export async function loadRun(file: string, corpus: Corpus): Promise<{ url: string; plan: Plan }> {
  const saved = await readSaved(file)
  if (saved.fingerprint !== corpus.fingerprint) {
    throw new ConfigError(`${file}: is a run of another corpus (${saved.fingerprint})`)
  }
  const plan = planOf(corpus, saved.runId, saved)
  const fits =
    plan.agents.length === saved.agents.length &&
    plan.threads.length === saved.threads.length &&
    plan.threads.every(({ messages }, i) => messages.length === saved.threads[i].messages.length)
  if (!fits) throw new ConfigError(`${file}: does not hold every agent, thread and message`)

  for (const agent of plan.agents) {
    agent.id = saved.agents[agent.index].id
    agent.token = saved.agents[agent.index].token
  }
  for (const thread of plan.threads) {
    thread.id = saved.threads[thread.index].id
    for (const [i, message] of thread.messages.entries()) {
      message.id = saved.threads[thread.index].messages[i]
    }
  }
  return { url: saved.url, plan }
}

async function readSaved(file: string): Promise<Saved> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new ConfigError(unreadable(file, error))
  }
  if (!isSaved(value)) throw new ConfigError(`${file}: is not a run saved by --save`)
  return value
}
