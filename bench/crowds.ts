// Question:   how many agents can wait for news at a node, and what do they cost it?
// Compares:   agents that wait by batches of 1,000 polls, and over connections of their own:
//             replies while 0, 1,000, 10,000 and 50,000 of them wait and are not woken; how long a
//             message takes to 128, 1,000 and 10,000 that follow its thread; and 10,000 connections
//             that come back at once after the node was killed and has started again.
// Fixed:      the node on core 0, --durability always, replies of 300 bytes over 64 connections,
//             each sent when the one before is answered.
// Reports:    replies a second with p50 and p99, resident memory of the node for each agent that
//             waits; p50 and p99 of wakes, from before the message is sent to when this process has
//             read the agent's answer; the time from when the node is ready to each agent's answer.
// Leaves out: networks; the work of this process, which has all agents, and is part of each time.
//             More agents than the node lets wait, or than there are descriptors, are skipped.
// Smoke:      test/bench/crowds.test.ts. Run it: node dist/bench/crowds.js --part replies

import { join } from 'node:path'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFilesMax } from '../src/base/process.ts'
import { freePort } from '../test/free-port.ts'
import { Caller } from './caller.ts'
import { flagsOf } from './flags.ts'
import { residentBytes, workDirectory } from './process.ts'
import { type Forum, startForum } from './sides.ts'
import {
  Connection,
  type Crowd,
  type OnNews,
  type Waiter,
  waitAlone,
  waitInBatches,
} from './waiting-crowd.ts'

const flags = flagsOf({
  part: ['replies', 'wakes', 'return'],
  way: ['batches', 'connections'],
  waiting: [0, 1000, 10_000, 50_000],
  woken: [128, 1000, 10_000],
  returning: 10_000,
  seconds: 5,
  rounds: 10,
})
const { part: parts, way: ways, waiting, woken, returning, seconds, rounds } = flags

const content = 'x'.repeat(300)
const [writers, busyThreads, quietThreads] = [64, 20, 100]
const writing = 64
/** What this process needs besides the connections of agents. */
const descriptorsSpare = 500
/** The default of `--waiting-max`. */
const waitingPreset = 50_000
const patienceMs = 60_000

const crowds: Record<string, typeof waitAlone> = {
  batches: waitInBatches,
  connections: waitAlone,
}

const dir = workDirectory()

/** A node, what is needed to load it, and agents that follow nothing yet. */
class Stage {
  readonly forum: Forum
  readonly caller: Caller

  private constructor(forum: Forum) {
    this.forum = forum
    this.caller = new Caller(forum.url, writing)
  }

  static async open(name: string, flags: readonly string[] = []): Promise<Stage> {
    return new Stage(await startForum(join(dir, name), ['--quotas', 'open', ...flags]))
  }

  async close(): Promise<void> {
    await this.caller.close()
    await this.forum.stop()
  }

  openThreads(count: number, token: string): Promise<string[]> {
    return this.caller.openThreads(new Array<string>(count).fill('A thread'), content, token)
  }

  /** Has new agents follow the threads evenly. */
  async agents(count: number, threads: readonly string[]): Promise<Waiter[]> {
    const tokens = await this.caller.register(count)
    await this.caller.batch(
      tokens.map((token, n) => {
        const path = `/api/threads/${threads[n % threads.length]}/subscribe`
        return { method: 'POST', path, token }
      }),
    )
    const after = await this.#metric('agent_forum_journal_position')
    return tokens.map((token) => ({ token, after }))
  }

  async reply(threadId: string, token: string): Promise<void> {
    const path = `/api/threads/${threadId}/replies`
    const key = this.caller.newKey()
    await this.caller.send({ method: 'POST', path, token, key, body: { content } })
  }

  /** Resolves when exactly so many polls wait. Throws if the node lets fewer wait. */
  async untilWaiting(count: number): Promise<void> {
    const begun = performance.now()
    for (;;) {
      const now = await this.#metric('agent_forum_waiting')
      if (now === count) return
      if (performance.now() - begun > patienceMs) throw new Error(`${now} of ${count} agents wait`)
      await sleep(50)
    }
  }

  /** Asks twice, because the connection that the first request uses may be closed as idle. */
  async #metric(name: string): Promise<number> {
    const read = () => this.forum.metrics()
    return (await read().catch(read)).get(name)!
  }
}

/** Returns why so many agents cannot wait in this way, or null. */
function obstacle(count: number, way: string): string | null {
  const connectionsMax = Math.floor((openFilesMax() * 7) / 8)
  const waitingMax = way === 'batches' ? waitingPreset : Math.floor((connectionsMax * 7) / 8)
  if (count > waitingMax) {
    return `the node lets ${waitingMax} wait in this way, with a \`ulimit -n\` of ${openFilesMax()}`
  }
  const own = openFilesMax() - descriptorsSpare
  return way === 'connections' && count > own ? `this process can open ${own} connections` : null
}

/** Runs `measure` while the agents wait, unless they cannot. */
async function whileWaiting(
  stage: Stage,
  way: string,
  agents: readonly Waiter[],
  onNews: OnNews,
  measure: () => Promise<string>,
): Promise<string> {
  const crowd: Crowd = crowds[way](stage.forum.url, agents, onNews)
  await stage.untilWaiting(agents.length)
  const found = await measure()
  await crowd.stop()
  await stage.untilWaiting(0)
  return found
}

async function measureReplies(stage: Stage, threads: string[], tokens: string[]): Promise<string> {
  const latency = createHistogram()
  const begun = performance.now()
  let sent = 0
  const lane = async (n: number) => {
    while (performance.now() - begun < seconds * 1000) {
      const at = performance.now()
      await stage.reply(threads[sent++ % threads.length], tokens[n])
      latency.record(Math.max(1, Math.round((performance.now() - at) * 1000)))
    }
  }
  await Promise.all(Array.from({ length: writing }, (_, n) => lane(n)))
  const rate = latency.count / ((performance.now() - begun) / 1000)
  return `${Math.round(rate)} replies/s, ${percentilesOf(latency)}`
}

function percentilesOf(latency: ReturnType<typeof createHistogram>): string {
  const [p50, p99] = [50, 99].map((percent) => (latency.percentile(percent) / 1000).toFixed(1))
  return `p50 ${p50} ms, p99 ${p99} ms`
}

async function replies(): Promise<void> {
  const stage = await Stage.open('replies')
  const tokens = await stage.caller.register(writers)
  const busy = await stage.openThreads(busyThreads, tokens[0])
  const quiet = await stage.openThreads(quietThreads, tokens[0])
  await measureReplies(stage, busy, tokens) // the first one is not reported
  const agents: Waiter[] = []
  for (const count of waiting) {
    for (const way of count === 0 ? ['batches'] : ways) {
      const why = obstacle(count, way)
      const what = count === 0 ? 'no agent waits' : `${count} wait by ${way}`
      if (why !== null) {
        console.log(`${what}: skipped, ${why}`)
        continue
      }
      agents.push(...(await stage.agents(Math.max(0, count - agents.length), quiet)))
      const before = residentBytes(stage.forum.pid)
      const found = await whileWaiting(stage, way, agents.slice(0, count), neverWoken, async () => {
        const each = (residentBytes(stage.forum.pid) - before) / Math.max(1, count)
        const memory = count === 0 ? '' : `, ${(each / 1024).toFixed(1)} KiB each`
        return `${await measureReplies(stage, busy, tokens)}${memory}`
      })
      console.log(`${what}: ${found}`)
    }
  }
  await stage.close()
}

function neverWoken(): void {
  throw new Error('an agent was woken by a thread that it does not follow')
}

async function wakes(): Promise<void> {
  const stage = await Stage.open('wakes')
  const [writer] = await stage.caller.register(1)
  for (const count of woken) {
    for (const way of ways) {
      const why = obstacle(count, way)
      if (why !== null) {
        console.log(`${count} woken by ${way}: skipped, ${why}`)
        continue
      }
      const [thread] = await stage.openThreads(1, writer)
      const agents = await stage.agents(count, [thread])
      const latency = createHistogram()
      let [sentAt, seen] = [0, 0]
      const onNews: OnNews = (_, now) => {
        seen += 1
        latency.record(Math.max(1, Math.round((now - sentAt) * 1000)))
      }
      const found = await whileWaiting(stage, way, agents, onNews, async () => {
        for (let round = 0; round <= rounds; round++) {
          if (round === 1) latency.reset() // the first one is not reported
          seen = 0
          sentAt = performance.now()
          await stage.reply(thread, writer)
          while (seen < count) {
            if (performance.now() - sentAt > patienceMs)
              throw new Error(`${seen} of ${count} woken`)
            await sleep(1)
          }
          await stage.untilWaiting(count)
        }
        return percentilesOf(latency)
      })
      console.log(`${count} woken by ${way}: ${found}`)
    }
  }
  await stage.close()
}

/** Polls until there is news. Resolves to the time. */
async function timeOfNews(connection: Connection): Promise<number> {
  for (;;) {
    const page = await connection.poll(50)
    if (page === null || page.notifications.length > 0) return performance.now()
  }
}

/** Kills the node while agents wait over their own connections, and lets them come back. */
async function comeBack(): Promise<void> {
  const why = obstacle(returning, 'connections')
  if (why !== null) return console.log(`${returning} come back: skipped, ${why}`)
  const port = ['--port', `${await freePort()}`]
  const stage = await Stage.open('return', port)
  const [writer] = await stage.caller.register(1)
  const threads = await stage.openThreads(quietThreads, writer)
  const agents = await stage.agents(returning, threads)
  const connections = agents.map((agent, n) => new Connection(stage.forum.url, n, agent))
  const answers = connections.map(timeOfNews)
  await stage.untilWaiting(returning)
  await stage.forum.stop('SIGKILL')
  // Each poll that was lost is sent again until it is answered, now without having to wait.
  for (const agent of agents) agent.after = 0
  const killedAt = performance.now()
  const forum = await startForum(join(dir, 'return'), ['--quotas', 'open', ...port])
  const readyAt = performance.now()
  const latency = createHistogram()
  const begun = (readyAt - killedAt) / 1000
  for (const at of await Promise.all(answers)) {
    latency.record(Math.max(1, Math.round((at - readyAt) * 1000)))
  }
  const all = (latency.max / 1000).toFixed(0)
  console.log(
    `${returning} come back: the node is ready after ${begun.toFixed(1)} s; ` +
      `${percentilesOf(latency)} from then, all in ${all} ms`,
  )
  for (const connection of connections) connection.close()
  await forum.stop()
}

if (parts.includes('replies')) await replies()
if (parts.includes('wakes')) await wakes()
if (parts.includes('return')) await comeBack()
