// Question:   how fast is the search index built, how large is it, how fast are searches, and what
//             do both cost the callers beside them?
// Compares:   an index built alone, and beside writes and polls at full load; searches of each
//             kind; replies beside an index that is being built, and beside one that is stopped;
//             polls and replies beside eight searching clients, and without.
// Fixed:      messages of a corpus (--corpus), or made-up ones with words as frequent as those of a
//             language; the node on two cores, because it reads and syncs in threads; the load, and
//             the index where it is measured, on one of them; sides alternately, medians of rounds.
// Reports:    messages/s and processor time of the index, bytes on disk, memory; p50 and p99 of
//             searches in sequence, and by eight clients; the first ones after a start, when the
//             files are not in the page cache; ratios of rates, p99 and the share of the event
//             loop's processor time that callers keep; the lag of the index, and how soon it has
//             caught up.
// Leaves out: a third core: the loads, the index and the threads of the node share what is left, so
//             ratios of rates are too low where it is busy; the share of processor time is not.
// Smoke:      test/bench/search.test.ts (npm run test:deep).
//             Run it: node dist/bench/search.js --messages 1000000

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchPage } from '../src/client/types.ts'
import { childrenOf } from '../test/faults/process-memory.ts'
import { median } from './compare.ts'
import { flagsOf } from './flags.ts'
import type { Seen } from './generator.ts'
import { bestGenerator, generators } from './load.ts'
import { type Population, populate } from './population.ts'
import { has, mainThreadSeconds, workDirectory } from './process.ts'
import { ringOf } from './ring.ts'
import { scenarioNamed } from './scenarios.ts'
import { type Kinds, kindsOf, narrowed } from './search-kinds.ts'
import { type Forum, sender, startForum } from './sides.ts'
import { textsOf } from './texts.ts'

const {
  messages,
  seconds,
  rounds,
  corpus,
  data: kept,
  only: parts,
} = flagsOf({
  messages: 1_000_000,
  seconds: 5,
  rounds: 3,
  corpus: '',
  /** A directory that is kept and reused. */
  data: '',
  /** The parts to measure. */
  only: ['build', 'searches', 'cold', 'callers', 'load'],
})
const loadCore = 1
const searchers = 8
const connections = 64
const say = (line: string) => process.stdout.write(`${line}\n`)
const perSecond = (seen: Seen) => seen.requests / seen.seconds
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`
const rounded = (number: number) => Math.round(number).toLocaleString('en')

const dir = workDirectory()
const place = kept || dir
const data = join(place, 'data')
const textOf = await textsOf(corpus)
const population = await populated()
const kinds = kindsOf(textOf, messages)

async function populated(): Promise<Population> {
  const file = join(place, 'population.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Population
  const of = (part: number) => Math.max(20, Math.floor(messages / part))
  const size = { identities: of(100), threads: of(20), messages, contentBytes: 300 }
  const made = await populate(data, size, () => {}, textOf)
  writeFileSync(file, JSON.stringify(made))
  return made
}

async function start(...flags: string[]): Promise<Forum> {
  const forum = await startForum(data, ['--scrub-hours', '0', ...flags])
  useCore(forum.pid, '0-1023') // the threads that read text and sync
  return forum
}

function useCore(pid: number, cores: string): void {
  if (has('taskset')) execFileSync('taskset', ['-acp', cores, `${pid}`], { stdio: 'ignore' })
}

/** Returns the process of the index when it exists, pinned to the core of the loads. */
async function indexOf({ pid }: Forum): Promise<number> {
  for (;;) {
    const [index] = childrenOf(pid)
    if (index !== undefined) {
      useCore(index, `${loadCore}`)
      return index
    }
    await sleep(5)
  }
}

async function read(forum: Forum): Promise<Record<'found' | 'bytes' | 'memory' | 'cpu', number>> {
  const metrics = await forum.metrics()
  const of = (name: string) => metrics.get(`agent_forum_search_${name}`) ?? 0
  return {
    found: of('messages'),
    bytes: of('bytes'),
    memory: of('resident_memory_bytes'),
    cpu: of('cpu_seconds_total'),
  }
}

/** Waits until all messages are found. Returns their number, and the peak of the memory. */
async function complete(forum: Forum): Promise<{ count: number; memory: number }> {
  const { count } = await statusOf(forum)
  for (let memory = 0; ; await sleep(50)) {
    const now = await read(forum)
    memory = Math.max(memory, now.memory)
    if (now.found >= count) return { count, memory }
  }
}

async function statusOf(forum: Forum): Promise<{ count: number }> {
  const metrics = await forum.metrics()
  return { count: metrics.get('agent_forum_messages')! }
}

async function build(): Promise<void> {
  rmSync(join(data, 'search'), { recursive: true, force: true })
  const forum = await start()
  await indexOf(forum)
  const begun = performance.now()
  const { count, memory } = await complete(forum)
  const taken = (performance.now() - begun) / 1000
  const { cpu } = await read(forum)
  await forum.stop() // so that all of it is in files
  const files = readdirSync(join(data, 'search'))
  const bytes = files.reduce((sum, name) => sum + sizeOf(join(data, 'search', name)), 0)
  const each = (sum: number) => (sum / count).toFixed(0)
  say(
    `index of ${rounded(count)} messages, alone: ${taken.toFixed(1)} s, ` +
      `${rounded(count / taken)}/s, ${each(cpu * 1e6)} us of processor time each; ` +
      `${files.length} files, ${mib(bytes)}, ${each(bytes)} bytes each of ` +
      `${each(population.renderedBytes)} of text; at most ${mib(memory)} of memory`,
  )
}

const sizeOf = (file: string) => readFileSync(file).length

async function search(url: string, path: string): Promise<{ page: SearchPage; ms: number }> {
  const begun = performance.now()
  const response = await fetch(url + path)
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${text}`)
  return { page: JSON.parse(text) as SearchPage, ms: performance.now() - begun }
}

const percentile = (times: number[], part: number) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))]

/** Returns all kinds, including searches limited to authors and threads. */
async function allKinds({ url }: Forum): Promise<Kinds> {
  const found: SearchPage['results'] = []
  for (const path of kinds['two words']) found.push(...(await search(url, path)).page.results)
  const word = decodeURIComponent(kinds['common word'][0].split('q=')[1])
  return { ...kinds, ...narrowed(found.slice(0, 200), word) }
}

async function searches(): Promise<void> {
  const forum = await start()
  await indexOf(forum)
  await complete(forum)
  const all = await allKinds(forum)
  for (const [kind, paths] of Object.entries(all)) {
    const times: number[] = []
    let [hits, short] = [0, 0]
    for (let i = 0; i < rounds * 100; i++) {
      const { page, ms } = await search(forum.url, paths[i % paths.length])
      times.push(ms)
      hits += page.results.length
      if (page.has_more && page.results.length < 20) short += 1
    }
    const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
    const more = short === 0 ? '' : `, ${((100 * short) / times.length).toFixed(0)} % short pages`
    say(
      `  ${kind}: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ` +
        `${(hits / times.length).toFixed(1)} hits${more}`,
    )
  }
  const seen = await sendSearches(forum, all)
  const { 50: p50, 99: p99 } = seen.latencyMs
  say(
    `  ${searchers} clients, all kinds: ${rounded(perSecond(seen))} searches/s, ` +
      `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${seen.errors} errors`,
  )
  await forum.stop()
}

function sendSearches({ url }: Forum, all: Kinds): Promise<Seen> {
  const paths = Object.values(all).flatMap((each) => each.slice(0, 20))
  const mixed = paths.map((_, i) => paths[(i * 7919) % paths.length])
  const ring = ringOf(mixed.map((path) => ({ method: 'GET', route: 'search', path })))
  const send = generators[bestGenerator](dir, 'searches', ring)
  return send({ url, connections: searchers, seconds }, { prefix: '', position: 0 })
}

/** Measures the first searches after a start, when neither files nor code are in memory. */
async function cold(): Promise<void> {
  for (const name of readdirSync(join(data, 'search'))) {
    const file = join(data, 'search', name)
    execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
  }
  const begun = performance.now()
  const forum = await start()
  const served = performance.now() - begun
  const first: string[] = []
  for (const [kind, paths] of Object.entries(kinds)) {
    first.push(`${kind} ${(await search(forum.url, paths[0])).ms.toFixed(0)} ms`)
  }
  const { memory } = await complete(forum)
  const all = performance.now() - begun
  say(
    `cold: served after ${served.toFixed(0)} ms, all found after ${all.toFixed(0)} ms; first ` +
      `searches: ${first.join(', ')}; ${mib(memory)} of memory`,
  )
  await forum.stop()
}

interface Beside {
  seen: Seen
  loopMs: number
}

/** Reports what callers keep beside some other work, as a fraction of what they have without it. */
async function ratios(name: string, side: (isBeside: boolean) => Promise<Beside>): Promise<void> {
  const found: { with: Beside; without: Beside }[] = []
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [false, true] : [true, false]
    const sides = new Map<boolean, Beside>()
    for (const isBeside of order) sides.set(isBeside, await side(isBeside))
    found.push({ with: sides.get(true)!, without: sides.get(false)! })
  }
  const of = (pick: (round: (typeof found)[number]) => number) => median(found.map(pick))
  const rate = of((round) => perSecond(round.with.seen) / perSecond(round.without.seen))
  const perRequest = ({ seen, loopMs }: Beside) => loopMs / seen.requests
  const share = of((round) => perRequest(round.without) / perRequest(round.with))
  const p99 = (isBeside: 'with' | 'without') =>
    of((round) => round[isBeside].seen.latencyMs['99']).toFixed(1)
  const errors = found.reduce((sum, round) => {
    return sum + round.with.seen.errors + round.without.seen.errors
  }, 0)
  const perSecondWith = rounded(of((round) => perSecond(round.with.seen)))
  say(
    `${name}: ${perSecondWith}/s, ${rate.toFixed(2)} of those without, ` +
      `${share.toFixed(2)} of the loop's processor time; ` +
      `p99 ${p99('with')} ms, without ${p99('without')}; ${errors} errors`,
  )
}

/** Returns a function that loads the node with a scenario, and measures its event loop's time. */
async function loadOf(forum: Forum, name: string): Promise<() => Promise<Beside>> {
  const side = (await sender(dir, scenarioNamed(name), population, forum))(name, forum)
  return async () => {
    const before = mainThreadSeconds(forum.pid)
    const seen = await side.load({ connections, seconds }, 0)
    return { seen, loopMs: (mainThreadSeconds(forum.pid) - before) * 1000 }
  }
}

async function callers(): Promise<void> {
  const forum = await start()
  const index = await indexOf(forum)
  await complete(forum)
  const all = await allKinds(forum)
  for (const name of ['feed-empty', 'reply']) {
    const load = await loadOf(forum, name)
    await load() // V8 compiles
    await ratios(`${name}, beside ${searchers} searching clients`, async (isBeside) => {
      if (!isBeside) await complete(forum)
      const [beside] = await Promise.all([load(), isBeside ? sendSearches(forum, all) : null])
      return beside
    })
  }
  const load = await loadOf(forum, 'reply')
  process.once('exit', () => wake(index)) // a stopped index would outlive its node
  await ratios('reply, beside the index of these replies', async (isBeside) => {
    if (!isBeside) process.kill(index, 'SIGSTOP')
    const beside = await load()
    wake(index)
    return beside
  })
  await forum.stop()
}

function wake(index: number): void {
  try {
    process.kill(index, 'SIGCONT')
  } catch {
    // It has ended.
  }
}

/** Builds the index anew beside writes and polls at full load. */
async function load(): Promise<void> {
  rmSync(join(data, 'search'), { recursive: true, force: true })
  const forum = await start()
  await indexOf(forum)
  const mixed = await loadOf(forum, 'mixed')
  const before = await read(forum)
  const { seen } = await mixed()
  const after = await read(forum)
  const { count } = await statusOf(forum)
  const begun = performance.now()
  const { count: last } = await complete(forum)
  const caughtUp = (performance.now() - begun) / 1000
  say(
    `index beside the swarm, ${rounded(perSecond(seen))} requests/s: ` +
      `${rounded((after.found - before.found) / seen.seconds)} messages/s with ` +
      `${((after.cpu - before.cpu) / seen.seconds).toFixed(2)} of a core; ` +
      `${rounded(count - after.found)} behind at its end, ` +
      `caught up ${caughtUp.toFixed(1)} s later with ${rounded(last)}`,
  )
  await forum.stop()
}

for (const [name, part] of Object.entries({ build, searches, cold, callers, load })) {
  if (parts.includes(name)) await part()
}
