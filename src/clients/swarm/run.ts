// One run of the swarm, from its options to the exit code. swarm.ts shows the steps.

import { randomBytes } from 'node:crypto'
import { ConfigError } from '../../base/arguments.ts'
import { defaultUrl, originOfNode } from '../../base/values.ts'
import { readStatus } from './calls.ts'
import { Claims } from './claims.ts'
import { Client } from './client.ts'
import { type Corpus, readCorpus } from './corpus.ts'
import { Delivery, mustBeWritable, type Outputs, standardOutput } from './delivery.ts'
import { AgentFeeds } from './feeds.ts'
import { LimitFinder } from './find-limit.ts'
import { inLanes } from './lanes.ts'
import { mergedReport } from './merge.ts'
import { Mix } from './mix.ts'
import { type MergeOptions, type Options, waitSecondsMax } from './options.ts'
import { Pace } from './pace.ts'
import { type PhaseReport, runPhases } from './phases.ts'
import { keepPublished, type Plan, planOf } from './plan.ts'
import { groupedCount, type Progress } from './progress.ts'
import { introduce, type Publishing, publishThreads } from './publish.ts'
import { type Run, reportOf, setUpOf } from './report.ts'
import { loadRun, saveRun } from './saved.ts'
import { readScenario, type Scenario } from './scenario.ts'
import { Searches } from './searches.ts'
import { syntheticCorpus } from './synthetic.ts'
import { type VerifyResult, verify } from './verify.ts'

/** Resolves to the exit code. Throws an error of failures.ts. */
export async function run(
  options: Options,
  version: string,
  outputs: Outputs,
  progress: Progress,
): Promise<number> {
  const prepared = await prepare(options)
  const { corpus, plan } = prepared
  if (options.findLimit !== null && corpus.discussions.every(hasNoReply)) {
    throw new ConfigError('--find-limit: the corpus has no replies')
  }
  const delivery = await Delivery.prepare(options, outputs, progress)
  if (options.save !== null) await mustBeWritable(options.save)
  progress.say(
    `corpus: ${groupedCount(plan.messageCount, 'message')} in ` +
      `${groupedCount(plan.threads.length, 'thread')} by ` +
      `${groupedCount(plan.agents.length, 'agent')} ` +
      `(${corpus.fingerprint})`,
  )
  const measured = await measure(options, outputs, progress, prepared)
  return delivery.deliver(reportOf({ ...measured, setUp: setUpOf(options.flags, version) }))
}

/** Merges the reports of runs that have ended. Resolves to the exit code. */
export async function runMerge(
  options: MergeOptions,
  outputs: Outputs,
  progress: Progress,
): Promise<number> {
  const delivery = await Delivery.prepare(options, outputs, progress)
  return delivery.deliver(await mergedReport(options.merge))
}

const hasNoReply = ({ messages }: Corpus['discussions'][number]) => messages.length === 1

/** Publishes and verifies, until all is done or the user interrupts it. Resolves to the results. */
async function measure(
  options: Options,
  outputs: Outputs,
  progress: Progress,
  { corpus, url, plan, scenario }: Prepared,
): Promise<Omit<Run, 'setUp'>> {
  const { connections, batch, lanes, patienceMs, replayAll, rate } = options
  const { meter } = progress
  if (options.json === standardOutput) {
    meter.watchers.push((each) => outputs.stdout.write(`${JSON.stringify(each)}\n`))
  }
  const client = new Client({ url, connections, patienceMs, batchSize: batch, meter })
  const acting = new Acting(client, plan, options, scenario, progress)
  let isInterrupted = false
  // A second interrupt ends the process, because nothing handles it any more.
  const interrupt = () => {
    isInterrupted = true
    void acting.end()
  }
  process.once('SIGINT', interrupt)
  let status: Record<string, unknown> = {}
  let verification: VerifyResult | null = null
  const isPublishing = options.verify === null
  const hasSearches = acting.publishing.searches !== null
  try {
    meter.start()
    status = await readStatus(client)
    // In a forum for members only, the first agent reads what anybody may read in another one.
    if (offers(status, 'members_only')) client.memberToken = () => plan.agents[0].token
    if (hasSearches && !offers(status, 'search')) {
      const flag = scenario === null ? '--search' : '--scenario'
      throw new ConfigError(`${flag}: ${url} has no search`)
    }
    if (options.claimSeconds > 0 && !offers(status, 'claims')) {
      throw new ConfigError(`--claims: ${url} has no claims`)
    }
    if (batch > batchesOf(status)) {
      throw new ConfigError(`--batch ${batch}: ${url} takes ${batchesOf(status)} at most`)
    }
    if (isPublishing) await acting.publish(corpus)
    const inboxes = isPublishing ? acting.publishing.feeds.inboxes : null
    const grants = acting.claims?.grants ?? null
    const how = { grants, lanes, replayAll, hasSearches, progress }
    verification = await verify({ client, plan, inboxes, ...how })
  } catch (error) {
    if (!isInterrupted) throw error
    progress.stop()
    keepPublished(plan)
  } finally {
    process.removeListener('SIGINT', interrupt)
    meter.stop()
    await acting.end()
  }
  return {
    client,
    status,
    connections,
    batch,
    targetRate: rate,
    plan,
    published: isPublishing ? { ...acting.publishing, claims: acting.claims } : null,
    secondsPerPhase: progress.seconds,
    meter,
    limit: acting.finder?.found ?? null,
    scenario,
    phases: acting.phases,
    verification,
  }
}

function offers({ capabilities }: Record<string, unknown>, capability: string): boolean {
  return (capabilities as Record<string, unknown> | undefined)?.[capability] === true
}

/** Returns how many requests a batch may have: 1 where the forum has none. */
function batchesOf({ capabilities }: Record<string, unknown>): number {
  const { batch } = (capabilities ?? {}) as { batch?: unknown }
  return typeof batch === 'number' ? batch : 1
}

type Prepared = { corpus: Corpus; url: string; plan: Plan; scenario: Scenario | null }

async function prepare(options: Options): Promise<Prepared> {
  const { source } = options
  const corpus =
    'corpus' in source
      ? await readCorpus(source.corpus)
      : syntheticCorpus(source.synthetic, source.shape)
  if (options.verify === null) {
    const plan = planOf(corpus, randomBytes(8).toString('hex'), options)
    const scenario = options.scenario === null ? null : await readScenario(options.scenario)
    return { corpus, url: options.url ?? defaultUrl, plan, scenario }
  }
  const saved = await loadRun(options.verify, corpus)
  const url = options.url ?? originOfNode(saved.url, options.verify)
  return { corpus, url, plan: saved.plan, scenario: null }
}

/** The agents of a run, while they publish and poll. */
class Acting {
  readonly publishing: Publishing
  /** Null: there is no limit to find. */
  readonly finder: LimitFinder | null
  /** Null: there are no tasks, or none yet. */
  claims: Claims | null = null
  readonly phases: PhaseReport[] = []
  readonly #scenario: Scenario | null
  readonly #options: Options
  readonly #progress: Progress
  readonly #waiter: Client

  constructor(
    client: Client,
    plan: Plan,
    options: Options,
    scenario: Scenario | null,
    progress: Progress,
  ) {
    const { patienceMs, waitSeconds, rate, isBurst, searchPercent, findLimit } = options
    const isAll = waitSeconds > 0
    const seconds = isAll ? waitSeconds : waitSecondsMax
    const { url } = client
    const answerTimeoutMs = seconds * 1000 + 10_000
    const connections = plan.agents.length
    this.#waiter = new Client({ url, connections, patienceMs, answerTimeoutMs })
    const hasWaiting = isAll || plan.idle.length > 0
    const waiting = hasWaiting ? { client: this.#waiter, seconds, isAll } : null
    const feeds = new AgentFeeds(client, plan.agents, waiting)
    const { actions, think_ms: thinkMs = 0 } = scenario ?? {}
    const isSearching = searchPercent > 0 || (actions?.search ?? 0) > 0
    const searches = isSearching ? new Searches(client, searchPercent) : null
    const mix = actions === undefined ? null : new Mix(client, feeds, searches, actions)
    const pace = new Pace(rate, { isBurst })
    const parts = { client, plan, feeds, searches, mix, thinkMs, pace }
    this.publishing = { ...parts, replayedAnswers: 0 }
    this.finder = findLimit === null ? null : new LimitFinder({ ...findLimit, rate })
    this.#scenario = scenario
    this.#options = options
    this.#progress = progress
  }

  async publish(corpus: Corpus): Promise<void> {
    const { client, plan, feeds } = this.publishing
    const { lanes, save, invite } = this.#options
    const progress = this.#progress

    const identities = progress.phase('register', plan.agents.length, 'identities')
    await inLanes(lanes, plan.agents, async (agent) => {
      await introduce(client, agent, invite)
      identities.tick()
    })
    identities.end()
    for (const agent of plan.idle) feeds.follow(agent)

    const stage = { publishing: this.publishing, progress, lanes, corpus }
    if (this.finder !== null) await this.finder.run(stage)
    else if (this.#scenario === null) await this.#publishOnce(corpus)
    else await runPhases(stage, this.#scenario.phases, this.phases)
    keepPublished(plan)
    if (this.#options.claimSeconds > 0) await this.#work()

    const drained = progress.phase('poll to the end', feeds.inboxes.length, 'feeds')
    await inLanes(lanes, feeds.inboxes, async (inbox) => {
      await feeds.drain(inbox)
      drained.tick()
    })
    drained.end()
    await this.#waiter.close()

    if (save !== null) {
      await saveRun(save, client.url, plan)
      progress.say(`saved: ${save}, with the agents' tokens, readable by its owner only`)
    }
  }

  /** Publishes the corpus once, or over and over for the duration of the run. */
  async #publishOnce(corpus: Corpus): Promise<void> {
    const { plan, pace } = this.publishing
    const { lanes, durationSeconds } = this.#options
    const repeats = durationSeconds !== null
    const total = repeats ? null : plan.messageCount
    const messages = this.#progress.phase('publish', total, 'messages')
    const timer = repeats ? setTimeout(() => pace.stop(), durationSeconds * 1000) : undefined
    await publishThreads(this.publishing, lanes, repeats ? corpus : null, messages.tick)
    clearTimeout(timer)
    messages.end()
  }

  async #work(): Promise<void> {
    const { claimSeconds, lanes } = this.#options
    const tasks = this.#progress.phase('work', this.publishing.plan.threads.length, 'tasks')
    this.claims = new Claims(this.publishing, claimSeconds, tasks.tick)
    await this.claims.work(lanes)
    tasks.end()
  }

  /** Ends publishing and all requests in flight. */
  async end(): Promise<void> {
    const { client, pace } = this.publishing
    pace.stop()
    await Promise.all([client.close(), this.#waiter.close()])
  }
}
