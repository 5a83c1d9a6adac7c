// Makes pages for people. What that takes is up to those who wrote the texts: some pages take a
// thousand times as long as others. So they are made in steps, a few in each event-loop iteration,
// with rests for other requests (http/tick.ts).
//
//   add ──▶ waits ──its caller's turn──▶ a step ──▶ waits … ──the last step──▶ made
//      └──────────── too many, shutdown ────────────▶ rejected
//
// M1. Callers take turns by steps; the pages of one caller are made one after the other. Nobody
//     shows a token here, so a caller is a network (network.ts).
// M2. A slice of steps takes about `sliceMs`, or one step.
// M3. At most `pagesMax` wait or are made, with texts of about `bytesMax`, and half of that for one
//     caller; a further one is rejected as `overloaded`.
// M4. A page whose caller has hung up ends when its turn comes. Stopping ends all of them with
//     `shutting_down`.

import { Queue } from '../base/queue.ts'
import { networkOf } from './network.ts'

const sliceMs = 1
const pagesMax = 512
const bytesMax = 32 << 20

export interface Making {
  /** Bytes of the texts, which are held until the page is made. */
  bytes: number
  /** Each step makes a part; the last one returns the page, or null if it must not be shown. */
  steps: Iterator<void, Uint8Array | null>
}

/** Who waits for a page. */
interface Reader {
  /** The address. */
  client: string
  connection: { readonly isGone: boolean }
}

/** Why a page is not made: a `Rejection` of forum.ts. */
export interface Unmade {
  rejected: 'overloaded' | 'shutting_down'
}

interface Job extends Reader, Making {
  resume(outcome: Uint8Array | null | Unmade): void
}

interface Caller {
  jobs: Queue<Job>
  bytes: number
}

export class PageMaking {
  /** Pages that were rejected because there were too many (M3). */
  refused = 0
  /** Called when there is work again, which `doSlice` does. */
  onWork: () => void = () => {}
  /** By network, in the order of turns. */
  readonly #callers = new Map<string, Caller>()
  #length = 0
  #bytes = 0
  #isStopped = false

  /** The number of pages that wait or are made. */
  get length(): number {
    return this.#length
  }

  /** Why no page of this caller can be added now, or null. */
  refuse(client: string): Unmade | null {
    if (this.#isStopped) return { rejected: 'shutting_down' }
    const caller = this.#callers.get(networkOf(client))
    const isFull = this.#length >= pagesMax || this.#bytes >= bytesMax
    const isOver =
      caller !== undefined && (caller.jobs.length >= pagesMax / 2 || caller.bytes >= bytesMax / 2)
    if (!isFull && !isOver) return null
    this.refused += 1
    return { rejected: 'overloaded' }
  }

  /** Has a page made that `refuse` has let in. Calls `resume` once. */
  add({ client, connection }: Reader, { bytes, steps }: Making, resume: Job['resume']): void {
    const network = networkOf(client)
    const caller = this.#callers.get(network) ?? { jobs: new Queue<Job>(), bytes: 0 }
    this.#callers.set(network, caller)
    caller.jobs.push({ client, connection, bytes, steps, resume })
    caller.bytes += bytes
    this.#bytes += bytes
    this.#length += 1
    if (this.#length === 1) this.onWork()
  }

  /** Does a slice of the work; `now` tells the time in milliseconds. False: nothing is left. */
  doSlice(now: () => number): boolean {
    const end = now() + sliceMs
    while (this.#length > 0) {
      this.#doStep()
      if (now() > end) break
    }
    return this.#length > 0
  }

  /** Rejects all pages, and later ones (M4). */
  stop(): void {
    this.#isStopped = true
    const jobs: Job[] = []
    for (const caller of this.#callers.values()) {
      while (caller.jobs.length > 0) jobs.push(caller.jobs.shift())
    }
    this.#callers.clear()
    this.#length = this.#bytes = 0
    for (const { resume } of jobs) resume({ rejected: 'shutting_down' })
  }

  #doStep(): void {
    const [[network, caller]] = this.#callers
    const job = caller.jobs.first
    const { done, value } = job.connection.isGone
      ? { done: true as const, value: { rejected: 'overloaded' as const } }
      : job.steps.next()
    this.#callers.delete(network)
    if (done) {
      caller.jobs.shift()
      caller.bytes -= job.bytes
      this.#bytes -= job.bytes
      this.#length -= 1
    }
    if (caller.jobs.length > 0) this.#callers.set(network, caller) // behind the others
    if (done) job.resume(value)
  }
}
