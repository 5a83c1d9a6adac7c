// Question:   how fast do a thousand workers get their tasks by claims, and is each task done, and
//             by one of them at a time, while workers, the node and the leader are killed?
// Compares:   the forum (claim, reply with the fence, release), also as two nodes on three
//             nats-servers with --cluster, and a table of PostgreSQL (UPDATE … RETURNING over
//             FOR UPDATE SKIP LOCKED, and an UPDATE that compares the fence).
// Fixed:      10,000 tasks, 1,000 workers, claims of a second, 64 connections; everything is synced
//             before it is answered; servers on core 0; the sides alternately, in reverse order
//             every other round, each on new data.
// Reports:    claims a second, and p50 and p99 of a claim, without kills; then, while every
//             twentieth worker dies with its claim and the server is killed twice: the seconds, the
//             tasks without a result or with several, the fences that two workers had, and the
//             claims of a task that overlap, by the clock of the side and by that of this process.
// Leaves out: networks. Finding tasks: workers of the forum choose one of a list that they share,
//             so that some are refused (409), and the statement of PostgreSQL finds one itself.
//             Results in PostgreSQL are a column, and not messages that others are told of.
// Smoke:      test/bench/claims.test.ts (npm run test:deep). Run it: node dist/bench/claims.js

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Claimed,
  claimSeconds,
  clusterDesk,
  type Desk,
  type DeskSize,
  forumDesk,
  postgresDesk,
} from './desks.ts'
import { flagsOf } from './flags.ts'
import { postgres } from './peers/postgres.ts'
import { workDirectory } from './process.ts'

const { tasks, workers, connections, rounds, kills, cluster } = flagsOf({
  tasks: 10_000,
  workers: 1_000,
  connections: 64,
  rounds: 3,
  kills: 2,
  cluster: false,
})
const size: DeskSize = { tasks, workers, connections }
/** One of so many claims is of a worker that dies. */
const claimsPerDeath = 20
/** Pauses of a worker without a task. */
const lookAgainMs = 50
/** By so much, clocks may disagree about the length of a claim. */
const clocksMs = 10

/** A claim that was granted; `from` and `to` by the clock of this process, for certain. */
interface Held extends Claimed {
  worker: number
  from: number
  to: number
  hasEnded: boolean
}

class Run {
  readonly latency = createHistogram()
  readonly held: Held[] = []
  refused = 0
  deaths = 0
  seconds = 0
  readonly #done = new Set<number>()
  readonly #desk: Desk
  readonly #isHarsh: boolean

  constructor(desk: Desk, isHarsh: boolean) {
    this.#desk = desk
    this.#isHarsh = isHarsh
  }

  async toTheEnd(): Promise<void> {
    const begun = performance.now()
    const killing = this.#isHarsh ? this.#kill() : null
    await Promise.all(Array.from({ length: workers }, (_, worker) => this.#work(worker)))
    this.seconds = (performance.now() - begun) / 1000
    await killing
  }

  /** Kills the server when so many parts of the tasks are done. */
  async #kill(): Promise<void> {
    for (let n = 1; n <= kills; n++) {
      while (this.#done.size < (tasks * n) / (kills + 1)) await sleep(5)
      await this.#desk.kill()
    }
  }

  async #work(worker: number): Promise<void> {
    while (this.#done.size < tasks) {
      const sentAt = performance.now()
      const claimed = await this.#desk.claim(worker)
      const from = performance.now()
      if (claimed === null) {
        this.refused += 1
        await sleep(Math.random() * lookAgainMs)
        continue
      }
      this.latency.record(Math.max(1, Math.round((from - sentAt) * 1000)))
      const to = sentAt + claimSeconds * 1000 - clocksMs
      const held = { ...claimed, worker, from, to, hasEnded: false }
      if (this.held.push(held) % claimsPerDeath === 0 && this.#isHarsh) {
        // Its successor, who has the same name, begins when the claim is over.
        this.deaths += 1
        await sleep(claimSeconds * 1000 + clocksMs)
        continue
      }
      const askedAt = performance.now()
      if (await this.#desk.finish(worker, claimed)) this.#done.add(claimed.task)
      held.to = Math.min(held.to, askedAt)
      held.hasEnded = true
    }
  }

  /** The fences that two workers had, and the claims of a task that overlap the one before. */
  faults(): { fences: number; overlaps: number } {
    const holders = new Map<number, string>()
    let fences = 0
    for (const { fence, worker, task } of this.held) {
      const holder = `${worker} of ${task}`
      if ((holders.get(fence) ?? holder) !== holder) fences += 1
      holders.set(fence, holder)
    }
    const inOrder = this.held.toSorted((a, b) => a.task - b.task || a.fence - b.fence)
    let overlaps = 0
    for (const [n, { task, until, to, hasEnded, worker }] of inOrder.entries()) {
      const next = inOrder[n + 1]
      if (next === undefined || next.task !== task || next.worker === worker) continue
      const begins = next.until - claimSeconds * 1000
      if (next.from < to || (!hasEnded && begins < until)) overlaps += 1
    }
    return { fences, overlaps }
  }
}

type Kind = (dir: string) => Promise<Desk>

const parent = workDirectory()
let runs = 0

async function measure(kind: Kind, isHarsh: boolean): Promise<void> {
  const dir = join(parent, `run-${runs++}`)
  mkdirSync(dir)
  const desk = await kind(dir)
  try {
    const run = new Run(desk, isHarsh)
    await run.toTheEnd()
    const { held, latency, seconds, refused, deaths } = run
    const [p50, p99] = [50, 99].map((percent) => (latency.percentile(percent) / 1000).toFixed(1))
    const how = isHarsh ? `${kills} kills, ${deaths} workers dead` : 'no kills'
    const rate = `${Math.round(held.length / seconds)} claims/s, p50 ${p50} ms, p99 ${p99} ms`
    const results = await desk.results()
    const [none, several] = [results.filter((n) => n === 0), results.filter((n) => n > 1)]
    const { fences, overlaps } = run.faults()
    console.log(
      `${desk.name}, ${how}: ${rate}, ` +
        `${refused} refused, ${seconds.toFixed(1)} s; ${none.length} tasks not done, ` +
        `${several.length} done twice, ${fences} fences of two, ${overlaps} overlaps`,
    )
    if (none.length + several.length + fences + overlaps > 0) process.exitCode = 1
  } finally {
    await desk.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

const ends: (() => unknown)[] = []
const owner = {
  teardown: (end: () => unknown) => ends.push(end),
  passing: () => true,
  comment: () => {},
}
const kinds: Kind[] = [(dir) => forumDesk(dir, size)]
if (cluster) kinds.push((dir) => clusterDesk(dir, size, owner as never))
const missing = postgres.missing()
if (missing === null) kinds.push((dir) => postgresDesk(dir, size))
else console.log(`postgres: skipped, without ${missing}`)

for (let round = 0; round < rounds; round++) {
  const order = round % 2 === 0 ? kinds : kinds.toReversed()
  for (const isHarsh of [false, true]) {
    for (const kind of order) {
      await measure(kind, isHarsh)
      for (const end of ends.splice(0).reverse()) await end()
    }
  }
}
