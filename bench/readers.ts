// Question:   how far do readers (`serve --readers N`) scale a node, by what they cost and save?
// Compares:   the same load on a node without readers, with one, and with four; alternately, and
//             over few and over many connections, which make small and large batches.
// Fixed:      all processes of the node on core 0 and the load on core 1, messages of 300 bytes,
//             --durability always, the same population, and 30,000 replies before anything is
//             measured; medians of rounds.
// Reports:    processor time of the main process for a reply, of a reader for a record that it
//             applies, and for a reply that it passes on; the replies in a batch; processor time of
//             one process for a page and for an empty poll, alone and as a reader; the age of
//             durable positions at readers; their memory; and, computed from these, what 8 and 32
//             cores give, for four shares of writes.
// Leaves out: rates, because on two cores all processes share one; how the memory bandwidth and the
//             caches of many cores affect each other.
// Smoke:      test/bench/readers.test.ts (npm run test:deep). Run it: node dist/bench/readers.js

import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, type Side } from './compare.ts'
import { flagsOf } from './flags.ts'
import { type Population, populate } from './population.ts'
import { workDirectory } from './process.ts'
import { scenarioNamed } from './scenarios.ts'
import { type Forum, readersServe, sender, startForum } from './sides.ts'

const {
  messages,
  seconds,
  rounds,
  connections: connectionsCompared,
} = flagsOf({ messages: 60_000, seconds: 5, rounds: 3, connections: [64, 512] })
const counts = [0, 1, 4]
/**
 * The number of replies before anything is measured. During these, V8 compiles in each process,
 * which is most of what four readers do in their first seconds.
 */
const warmUpReplies = 30_000
/** More than the interval between reports of a reader, so that all that it has counted arrives. */
const settleMs = 700
const size = { identities: 1_000, threads: 200, messages, contentBytes: 300 }
const loads = ['reply', 'page', 'feed-empty'] as const
type Load = (typeof loads)[number]

/** The processor time of a request, in microseconds. */
interface Cost {
  main: number
  /** The time of all readers together. */
  readers: number
  /** The number of requests that one sync of the log covers, if they write. */
  batch: number
}

interface Measured {
  /** The costs of each round, by the number of connections. */
  costs: Map<number, Record<Load, Cost[]>>
  /** The ages of positions while replies came, as counts by bucket of the metric. */
  staleness: Map<string, number>
  readerBytes: number
  mainBytes: number
}

const dir = workDirectory()
const populated = join(dir, 'population')

async function startWith(readers: number, data: string): Promise<Forum> {
  const forum = await startForum(data, ['--readers', `${readers}`, '--quotas', 'open'])
  await readersServe(forum, readers)
  return forum
}

async function senderOf(forum: Forum, load: Load, population: Population): Promise<Side> {
  return (await sender(dir, scenarioNamed(load), population, forum))(load, forum)
}

async function warmUp(forum: Forum, population: Population): Promise<void> {
  const send = await senderOf(forum, 'reply', population)
  for (let replies = 0; replies < warmUpReplies; ) {
    replies += (await send.load({ connections: connectionsCompared[0], seconds }, 0)).requests
  }
  await costOf(forum, 'page', connectionsCompared[0], population)
}

async function costOf(
  forum: Forum,
  load: Load,
  connections: number,
  population: Population,
): Promise<Cost> {
  const send = await senderOf(forum, load, population)
  const before = await forum.metrics()
  const { requests } = await send.load({ connections, seconds }, 0)
  await sleep(settleMs)
  const after = await forum.metrics()
  const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  return {
    main: (grown('process_cpu_seconds_total') * 1e6) / requests,
    readers: (grown('agent_forum_reader_cpu_seconds_total') * 1e6) / requests,
    batch: requests / grown('agent_forum_journal_sync_duration_seconds_count'),
  }
}

async function measure(readers: number, population: Population, into: Measured) {
  const data = join(dir, 'data')
  cpSync(populated, data, { recursive: true })
  const forum = await startWith(readers, data)
  try {
    if (rounds > 1) await warmUp(forum, population)
    for (const connections of connectionsCompared) {
      const costs = into.costs.get(connections)!
      for (const load of loads) {
        costs[load].push(await costOf(forum, load, connections, population))
      }
    }
    const metrics = await forum.metrics()
    for (const [name, value] of metrics) {
      const bound = /^agent_forum_reader_staleness_seconds_bucket\{le="(.*)"\}$/.exec(name)?.[1]
      if (bound !== undefined) into.staleness.set(bound, (into.staleness.get(bound) ?? 0) + value)
    }
    into.mainBytes = metrics.get('process_resident_memory_bytes')!
    into.readerBytes = metrics.get('agent_forum_reader_resident_memory_bytes{reader="1"}') ?? 0
  } finally {
    await forum.stop()
    rmSync(data, { recursive: true })
  }
}

/** Returns the upper bound in ms of the bucket below which this fraction of the positions lies. */
function staleAt({ staleness }: Measured, part: number): string {
  const all = staleness.get('+Inf') ?? 0
  for (const [bound, count] of staleness) {
    if (count >= all * part) return bound === '+Inf' ? 'more' : `${Number(bound) * 1000} ms`
  }
  return 'more'
}

const us = (value: number) => value.toFixed(1).padStart(7)
const middle = (costs: readonly Cost[], of: keyof Cost) => median(costs.map((cost) => cost[of]))

/** Microseconds: a write in the main process; in a reader a record, a write passed on, a read. */
interface Constants {
  write: number
  applied: number
  passedOn: number
  read: number
}

/** Returns the replies and reads per second if this fraction of the requests are replies. */
function rateOf(cores: number, part: number, costs: Constants): number {
  const { write, applied, passedOn, read } = costs
  // Beside the core of the main process, one is for syncs, wakeups and checkpoints.
  const readers = cores - 2
  const byMain = 1e6 / (part * write)
  const byReaders = 1e6 / (part * applied + (part * passedOn + (1 - part) * read) / readers)
  return Math.min(byMain, byReaders)
}

async function main(): Promise<void> {
  const population = await populate(populated, size)
  const found = counts.map((): Measured => {
    const noCosts = () => ({ reply: [], page: [], 'feed-empty': [] })
    const costs = new Map(connectionsCompared.map((connections) => [connections, noCosts()]))
    return { costs, staleness: new Map(), readerBytes: 0, mainBytes: 0 }
  })
  for (let round = 0; round < rounds; round++) {
    const order = [...counts.keys()]
    if (round % 2 === 1) order.reverse()
    for (const i of order) await measure(counts[i], population, found[i])
  }
  for (const connections of connectionsCompared) {
    console.log(`\n${connections} connections: processor time for a request, in microseconds`)
    report(found.map(({ costs }) => costs.get(connections)!) as Costs)
  }
  reportProcesses(found)
}

/** The costs of a node without readers, with one, and with four. */
type Costs = [none: Record<Load, Cost[]>, one: Record<Load, Cost[]>, four: Record<Load, Cost[]>]

function report(found: Costs): void {
  for (const load of loads) {
    for (const [i, costs] of found.entries()) {
      const [main, readers] = [middle(costs[load], 'main'), middle(costs[load], 'readers')]
      const who = `${load}, ${counts[i]} readers`.padEnd(24)
      const batch =
        load === 'reply' ? `   replies in a batch ${us(middle(costs[load], 'batch'))}` : ''
      console.log(`${who} main process ${us(main)}   readers together ${us(readers)}${batch}`)
    }
  }
  const [none, one, four] = found
  // With one reader a reply costs a + p; with four readers 4 a + p.
  const applied = (middle(four.reply, 'readers') - middle(one.reply, 'readers')) / 3
  const passedOn = middle(one.reply, 'readers') - applied
  const alone = middle(none.reply, 'main')
  const atMain = middle(four.reply, 'main')
  const ofAlone = (value: number) => `${us(value)}, ${(value / alone).toFixed(2)} of a reply alone`
  console.log(`a record applied by a reader: ${ofAlone(applied)}`)
  console.log(`a reply passed on by a reader: ${ofAlone(passedOn)}`)
  for (const [i, { reply }] of found.entries()) {
    console.log(`a reply, main process, ${counts[i]} readers: ${ofAlone(middle(reply, 'main'))}`)
  }
  for (const load of ['page', 'feed-empty'] as const) {
    const ratio = middle(one[load], 'readers') / middle(none[load], 'main')
    console.log(`${load} at a reader: ${ratio.toFixed(2)} of the same alone (target 1)`)
  }
  const [write, read] = [atMain, middle(one.page, 'readers')]
  const page = middle(none.page, 'main')
  reportRates({ reply: alone, page }, { write, applied, passedOn, read })
}

function reportProcesses(found: readonly Measured[]): void {
  for (const [i, each] of found.entries()) {
    if (counts[i] === 0) continue
    const ages = `p50 at most ${staleAt(each, 0.5)}, p99 at most ${staleAt(each, 0.99)}`
    console.log(`age of positions at ${counts[i]} readers: ${ages}`)
  }
  const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  const [, { readerBytes, mainBytes }] = found
  const memory = `reader ${mb(readerBytes)}, main process ${mb(mainBytes)}`
  console.log(`memory with ${messages} messages: ${memory}`)
}

/** Reports what more cores give, by the formula of docs/performance.md, beside a single process. */
function reportRates(alone: { reply: number; page: number }, costs: Constants): void {
  const perSecond = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`
  for (const part of [0.01, 0.1, 0.3, 1]) {
    const one = 1e6 / (part * alone.reply + (1 - part) * alone.page)
    const more = [8, 32].map((cores) => `${cores} cores ${perSecond(rateOf(cores, part, costs))}`)
    const rates = [`one process ${perSecond(one)}`, ...more].join(', ')
    console.log(`${part * 100} % replies, the rest pages, computed: ${rates}`)
  }
}

await main()
