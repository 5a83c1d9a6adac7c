// Question:   how fast are pages whose text is on disk, and what do they cost the polls beside
//             them?
// Compares:   pages of 50 messages, each message in another block, read in sequence and by 64
//             clients; polls by 64 other clients alone, beside one reader of such pages, and beside
//             64.
// Fixed:      400,000 messages in 4,000 threads, text memory of 16 MiB, so that about one block in
//             fifty is in memory; no page is in the page cache; the server on two cores, because it
//             reads in a thread, and the load on one of them; medians of rounds.
// Reports:    latencies and pages/s; blocks read and processor time per page; polls/s and their
//             ratio to those alone; the share of the event loop's processor time that polls keep
//             beside pages; the longest delay of the event loop; the targets.
// Leaves out: the disk: the system has most of the files in its page cache. A third core: both load
//             generators and the thread that reads share one, so the ratio of polls/s is too low
//             where the loop is not busy; the share of its processor time shows what pages leave.
// Smoke:      test/bench/cold.test.ts (npm run test:deep). Run it: node dist/bench/cold.js

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { median } from './compare.ts'
import { flagsOf } from './flags.ts'
import type { Seen, Send } from './generator.ts'
import { bestGenerator, generators } from './load.ts'
import { type Population, populate } from './population.ts'
import { cpuSeconds, has, mainThreadSeconds, workDirectory } from './process.ts'
import { type Request, ringOf } from './ring.ts'
import { scenarioNamed } from './scenarios.ts'
import { type Forum, startForum } from './sides.ts'
import { longestOf, stallsFromNow } from './stalls.ts'

const {
  threads,
  messages,
  seconds,
  rounds,
  'text-memory-mb': textMemoryMb,
} = flagsOf({ threads: 4000, messages: 400_000, seconds: 5, rounds: 3, 'text-memory-mb': 16 })
const clients = 64
const blocksRead = 'agent_forum_text_reads_total'
const size = { identities: 1_000, threads, messages, contentBytes: 300 }

/** Returns pages of about 50 messages of scattered threads, which earlier runs have not cached. */
function coldPages({ scattered }: Population, nth: number): Request[] {
  const limit = 48 + (nth % 5)
  return scattered.map((id) => {
    const path = `/api/threads/${id}?after=0&limit=${limit}`
    return { method: 'GET', route: 'GET /api/threads/:id', path }
  })
}

interface Measured {
  cold: Seen | null
  hot: Seen | null
  stallMs: number
  blocks: number
  /** The processor time of the server, including its threads. */
  cpuMs: number
  /** The part of it that the event loop used. */
  loopMs: number
  /** What the node refused, by its metrics, which explains the errors. */
  refused: string[]
}

/** The numbers of connections that read cold pages and that poll, at the same time. */
interface Load {
  name: string
  cold: number
  hot: number
}

const loads: Load[] = [
  { name: 'pages one after the other', cold: 1, hot: 0 },
  { name: `pages by ${clients} clients`, cold: clients, hot: 0 },
  { name: 'polls alone', cold: 0, hot: clients },
  { name: 'polls beside 1 reader', cold: 1, hot: clients },
  { name: `polls beside ${clients} readers`, cold: clients, hot: clients },
]

let rings = 0

async function measure(
  dir: string,
  forum: Forum,
  population: Population,
  poll: Send,
  { cold, hot }: Load,
): Promise<Measured> {
  const pages = ringOf(coldPages(population, rings++))
  const read = generators[bestGenerator](dir, `cold-${rings}`, pages)
  const filling = { prefix: '', position: 0 }
  const stalls = await stallsFromNow(forum)
  const before = await forum.metrics()
  const cpuBefore = cpuSeconds(forum.pid)
  const loopBefore = mainThreadSeconds(forum.pid)
  const [coldSeen, hotSeen] = await Promise.all([
    cold === 0 ? null : read({ url: forum.url, connections: cold, seconds }, filling),
    hot === 0 ? null : poll({ url: forum.url, connections: hot, seconds }, filling),
  ])
  const cpuMs = (cpuSeconds(forum.pid) - cpuBefore) * 1e3
  const loopMs = (mainThreadSeconds(forum.pid) - loopBefore) * 1e3
  const after = await forum.metrics()
  const blocks = after.get(blocksRead)! - before.get(blocksRead)!
  const stallMs = longestOf(await stalls())
  const refused = [...after].flatMap(([name, count]) => {
    const more = count - (before.get(name) ?? 0)
    return name.startsWith('agent_forum_refusals_total') && more > 0 ? [`${name} ${more}`] : []
  })
  return { cold: coldSeen, hot: hotSeen, stallMs, blocks, cpuMs, loopMs, refused }
}

/** Lets the process, and the threads that it will start, use all cores. */
function useAllCores(pid: number): void {
  if (has('taskset')) execFileSync('taskset', ['-acp', '0-1023', `${pid}`], { stdio: 'ignore' })
}

function report(found: Map<Load, Measured[]>): void {
  const say = (line: string) => process.stdout.write(`${line}\n`)
  const alone = loads.find(({ cold, hot }) => cold === 0 && hot > 0)!
  for (const [{ name }, measured] of found) {
    const of = (pick: (one: Measured, round: number) => number) => median(measured.map(pick))
    const parts = [`longest delay ${of(({ stallMs }) => stallMs).toFixed(1)} ms`]
    if (measured[0].hot !== null) {
      const ratio = of(({ hot }, round) => hot!.requests / found.get(alone)![round].hot!.requests)
      const perSecond = Math.round(of(({ hot }) => hot!.requests / hot!.seconds))
      parts.unshift(`${perSecond} polls/s, ${ratio.toFixed(2)} of those alone`)
      const share = of(({ hot, loopMs }, round) => {
        const without = found.get(alone)![round]
        return (hot!.requests / loopMs) * (without.loopMs / without.hot!.requests)
      })
      parts.push(`polls have ${share.toFixed(2)} of the loop's processor time`)
    }
    if (measured[0].cold !== null) {
      const ms = (p: '50' | '99') => of(({ cold }) => cold!.latencyMs[p]).toFixed(2)
      const perSecond = Math.round(of(({ cold }) => cold!.requests / cold!.seconds))
      const blocks = of(({ blocks, cold }) => blocks / cold!.requests).toFixed(1)
      parts.unshift(`${perSecond} pages/s, p50 ${ms('50')} ms, p99 ${ms('99')} ms`)
      parts.push(`${blocks} blocks read for a page`)
      if (measured[0].hot === null) {
        const cpuMs = of(({ cpuMs, cold }) => cpuMs / cold!.requests).toFixed(2)
        parts.push(`${cpuMs} ms of processor time for a page`)
      }
    }
    const errors = measured.reduce((sum, { cold, hot }) => {
      return sum + (cold?.errors ?? 0) + (hot?.errors ?? 0)
    }, 0)
    const why = measured.flatMap(({ refused }) => refused)
    if (errors > 0) parts.push(`${errors} errors ${why.join(', ')}`)
    say(`${name}: ${parts.join(', ')}`)
  }
  say('targets: p50 5 ms alone, 1,000 pages/s by 64, polls 0.85, longest delay 15 ms')
}

const dir = workDirectory()
const data = join(dir, 'data')
const population = await populate(data, size)
const flags = ['--text-memory-mb', `${textMemoryMb}`, '--scrub-hours', '0']
const forum = await startForum(data, flags)
useAllCores(forum.pid)
const polls = scenarioNamed('feed-empty').ring(population)
const poll = generators[bestGenerator](dir, 'polls', polls)
const found = new Map(loads.map((load) => [load, [] as Measured[]]))
for (let round = 0; round < rounds; round++) {
  for (const load of round % 2 === 0 ? loads : loads.toReversed()) {
    found.get(load)!.push(await measure(dir, forum, population, poll, load))
  }
}
report(found)
await forum.stop()
