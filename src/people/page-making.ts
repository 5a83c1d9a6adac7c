// Makes pages for people. The authors of the texts determine how long that takes: some pages take a
// thousand times as long as others. So they are made in steps, a few in each event-loop iteration,
// with rests for other requests (edge/http/heavy-work.ts).
//
//   add ──▶ waits ──its caller's turn──▶ a step ──▶ waits … ──the last step──▶ made
//      └──────────── too many, shutdown ────────────▶ rejected
//
// M1. Callers take turns after each step; the pages of one caller are made one after the other. A
//     caller is a network (kernel/network.ts), whether or not somebody is signed in.
// M2. A slice of steps takes about `sliceMs`, or as long as a single step.
// M3. At most `pagesMax` pages wait or are being made, with about `bytesMax` of text. Of both
//     limits a caller has a share (base/shares.ts); a further page is rejected as `overloaded`.
// M4. A page whose caller has hung up ends when its turn comes. Stopping ends all pages with
//     `shutting_down`.

import { Queue } from '../base/queue.ts'
import { Shares } from '../base/shares.ts'
import { networkOf } from '../kernel/network.ts'
import type { JobRejection } from '../kernel/sliced-work.ts'

const sliceMs = 1
const pagesMax = 512
const bytesMax = 32 << 20

export interface Making {
  /** The size of the texts in bytes; they are held until the page is made. */
  bytes: number
  /** Each step makes a part; the last one returns the page, or null if it must not be shown. */
  steps: Iterator<void, MadePage | null>
}

/** What is known of the answer once the page is made. */
export interface MadePage {
  body: Uint8Array
  /** The entity tag, if the page always looks like this. */
  etag?: string
}

interface Request {
  /** The caller's address. */
  client: string
  connection: { readonly isGone: boolean }
}

interface Job extends Request, Making {
  resume(outcome: MadePage | null | JobRejection): void
}

export class PageMaking {
  /** Pages that were rejected because there were too many (M3). */
  refused = 0
  /** Called when there is work for `doSlice` again. */
  onWork: () => void = () => {}
  /** Pages by network, in the order of turns. */
  readonly #callers = new Map<string, Queue<Job>>()
  readonly #pages = new Shares(pagesMax)
  readonly #bytes = new Shares(bytesMax)
  #isStopped = false

  /** The number of pages that wait or are being made. */
  get length(): number {
    return this.#pages.taken
  }

  /** Returns why no page of this caller can be added now, or null if one can. */
  refuse(client: string): JobRejection | null {
    if (this.#isStopped) return { rejected: 'shutting_down' }
    const network = networkOf(client)
    // The size of its texts is not known yet, so one page may exceed the share of bytes.
    if (this.#pages.mayTake(network) && this.#bytes.mayTake(network)) return null
    this.refused += 1
    return { rejected: 'overloaded' }
  }

  /** Queues a page that `refuse` has admitted. Calls `resume` once. */
  add({ client, connection }: Request, { bytes, steps }: Making, resume: Job['resume']): void {
    const network = networkOf(client)
    const jobs = this.#callers.get(network) ?? new Queue<Job>()
    this.#callers.set(network, jobs)
    jobs.push({ client, connection, bytes, steps, resume })
    this.#pages.take(network)
    this.#bytes.take(network, bytes)
    if (this.length === 1) this.onWork()
  }

  /** Does a slice of the work; returns whether any is left. `now` returns milliseconds. */
  doSlice(now: () => number): boolean {
    const end = now() + sliceMs
    while (this.length > 0) {
      this.#doStep()
      if (now() > end) break
    }
    return this.length > 0
  }

  /** Rejects all pages, and later ones (M4). */
  stop(): void {
    this.#isStopped = true
    const stopped: Job[] = []
    for (const [network, jobs] of this.#callers) {
      while (jobs.length > 0) stopped.push(this.#take(network, jobs))
    }
    this.#callers.clear()
    for (const { resume } of stopped) resume({ rejected: 'shutting_down' })
  }

  #doStep(): void {
    const [[network, jobs]] = this.#callers
    const job = jobs.first
    const { done, value } = job.connection.isGone
      ? { done: true as const, value: { rejected: 'overloaded' as const } }
      : job.steps.next()
    this.#callers.delete(network)
    if (done) this.#take(network, jobs)
    if (jobs.length > 0) this.#callers.set(network, jobs) // behind the others
    if (done) job.resume(value)
  }

  /** Removes the caller's first page, and gives its share back. */
  #take(network: string, jobs: Queue<Job>): Job {
    const job = jobs.shift()
    this.#pages.giveBack(network)
    this.#bytes.giveBack(network, job.bytes)
    return job
  }
}
