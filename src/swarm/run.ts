// One run of the swarm, from its options to the exit code: swarm.ts shows the way.

import { randomBytes } from 'node:crypto'
import { open, writeFile } from 'node:fs/promises'
import { readStatus } from './calls.ts'
import { Client } from './client.ts'
import { type Corpus, readCorpus } from './corpus.ts'
import { UsageError } from './failures.ts'
import { AgentFeeds } from './feeds.ts'
import { inLanes } from './lanes.ts'
import { defaultUrl, type Options, origin } from './options.ts'
import { type Plan, planOf } from './plan.ts'
import { groupedCount, type Output, type Progress } from './progress.ts'
import { introduce, type Publishing, publishThread } from './publish.ts'
import { reportOf, summary } from './report.ts'
import { loadRun, saveRun } from './saved.ts'
import { Searches } from './searches.ts'
import { syntheticCorpus } from './synthetic.ts'
import { verify } from './verify.ts'

/** Where a run writes: the report to stdout, progress and warnings to stderr. */
export type Outputs = { stdout: Output; stderr: Output }

/** Resolves to the exit code. Throws an error of failures.ts. */
export async function run(options: Options, outputs: Outputs, progress: Progress): Promise<number> {
  const { corpus, url, plan } = await prepare(options)
  for (const file of [options.save, options.json]) if (file !== null) await mustBeWritable(file)
  progress.say(
    `corpus: ${groupedCount(plan.messageCount, 'message')} in ` +
      `${groupedCount(plan.threads.length, 'thread')} by ` +
      `${groupedCount(plan.agents.length, 'agent')} ` +
      `(${corpus.fingerprint})`,
  )
  const { connections, patienceMs, replayAll } = options
  const client = new Client({ url, connections, patienceMs })
  try {
    const status = await readStatus(client)
    const hasSearches = options.searchPercent > 0
    if (hasSearches && !offersSearch(status)) throw new UsageError(`--search: ${url} has no search`)
    const published = options.verify === null ? await act(client, plan, options, progress) : null
    const inboxes = published?.feeds.inboxes ?? null
    const how = { connections, replayAll, hasSearches, progress }
    const verification = await verify({ client, plan, inboxes, ...how })
    const secondsPerPhase = progress.seconds
    const outcome = { client, status, connections, plan, published, secondsPerPhase, verification }
    const report = reportOf(outcome)
    if (options.json !== null) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
    outputs.stdout.write(summary(report))
    return verification.differences.count === 0 ? 0 : 1
  } finally {
    await client.close()
  }
}

function offersSearch({ capabilities }: Record<string, unknown>): boolean {
  return (capabilities as { search?: unknown } | undefined)?.search === true
}

async function prepare(options: Options): Promise<{ corpus: Corpus; url: string; plan: Plan }> {
  const { source } = options
  const corpus =
    'corpus' in source ? await readCorpus(source.corpus) : syntheticCorpus(source.synthetic)
  if (options.verify === null) {
    const plan = planOf(corpus, randomBytes(8).toString('hex'))
    return { corpus, url: options.url ?? defaultUrl, plan }
  }
  const saved = await loadRun(options.verify, corpus)
  return { corpus, url: options.url ?? origin(options.verify, saved.url), plan: saved.plan }
}

// A report that cannot be written must be noticed before the run, not after it.
async function mustBeWritable(file: string): Promise<void> {
  try {
    await (await open(file, 'a', 0o600)).close()
  } catch (error) {
    throw new UsageError(`${file}: cannot be written: ${(error as Error).message}`)
  }
}

async function act(
  client: Client,
  plan: Plan,
  { connections, patienceMs, save, waitSeconds, searchPercent }: Options,
  progress: Progress,
): Promise<Publishing> {
  const { url } = client
  const answerTimeoutMs = waitSeconds * 1000 + 10_000
  const waiter = new Client({ url, connections: plan.agents.length, patienceMs, answerTimeoutMs })
  const waiting = waitSeconds === 0 ? null : { client: waiter, seconds: waitSeconds }
  const feeds = new AgentFeeds(client, plan.agents, waiting)
  const searches = searchPercent === 0 ? null : new Searches(client, searchPercent)
  const publishing: Publishing = { client, plan, feeds, searches, replayedAnswers: 0 }

  const identities = progress.phase('identities', plan.agents.length)
  await inLanes(connections, plan.agents, async (agent) => {
    await introduce(client, agent)
    identities.tick()
  })
  identities.end()

  const messages = progress.phase('publish', plan.messageCount)
  await inLanes(connections, plan.threads, (thread) =>
    publishThread(publishing, thread, messages.tick),
  )
  messages.end()

  const drained = progress.phase('poll to the end', feeds.inboxes.length)
  await inLanes(connections, feeds.inboxes, async (inbox) => {
    await feeds.drain(inbox)
    drained.tick()
  })
  drained.end()
  await waiter.close()

  if (save !== null) {
    await saveRun(save, client.url, plan)
    progress.say(`saved: ${save}, with the agents' tokens, readable by its owner only`)
  }
  return publishing
}
