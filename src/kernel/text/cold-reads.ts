// Parks requests whose answer needs text that is on disk. When such a request runs, it notes the
// blocks that are missing, and its outcome is discarded. It is parked here until these blocks are
// in memory, and then runs again from the start, so that access, expiry and keys are decided anew.
//
//   run ──blocks missing──▶ parked ──its caller's turn──▶ loading ──all are here──▶ run again
//                              └──── too many, shutdown, unreadable ────▶ rejected
//
// R1. Requests cannot evict each other's blocks forever. A request holds the blocks that it missed
//     until it has run again; if it then misses others, it holds all blocks that it needs.
// R2. At most `parkedMax` requests are parked, and they hold at most `bytesMax` of blocks and
//     bodies. Each caller has a share of both limits (base/shares.ts). A request beyond a limit is
//     rejected as `overloaded`. A request that is alone always fits.
// R3. Callers take turns; all anonymous callers count as one, and the operators as another. Blocks
//     are loaded for one request at a time, so that about one parked request at most runs again in
//     each event-loop iteration, and requests that need no text from disk keep most of their rate
//     (docs/performance.md).
// R4. `stop` ends every request with `shutting_down`. A request whose caller has hung up ends when
//     its turn comes.
//
// Neighbours: edge/http/running-request.ts parks requests and runs them; block-loads.ts loads the
// blocks.

import assert from 'node:assert/strict'
import { type Holder, Shares } from '../../base/shares.ts'
import { BlockLoads, type Loaded, type TextSource } from './block-loads.ts'
import { blockBytes, type ColdReadsLimits, coldPageBytesMax } from './blocks.ts'

const limitsPreset: ColdReadsLimits = { parkedMax: 1024, bytesMax: 64 << 20 }
/**
 * The maximum number of times that one request is parked, each time for other missing blocks, as
 * can happen between checkpoints.
 */
const roundsMax = 8

/** Why a request cannot run again, as a `Rejection` of kernel/rejection.ts. */
interface ReadRejection {
  rejected: 'overloaded' | 'unreadable' | 'shutting_down'
}

/** The caller of a parked request, and the size of its body. */
interface Parking {
  caller: Holder
  connection: { readonly isGone: boolean }
  /** The size in bytes of the request's body, which stays in memory. */
  bodyBytes: number
}

/** A request that is parked or running again. */
export interface ColdRead extends Parking {
  /** The blocks that the request holds, and their slots. */
  readonly slots: readonly { block: number; slot: number }[]
  /** The number of times the request has been parked. */
  readonly round: number
}

interface Parked extends ColdRead {
  resume(outcome: ColdRead | ReadRejection): void
}

export class ColdReads {
  /** The number of requests that were rejected because of a limit (R2). */
  refused = 0
  readonly limits: ColdReadsLimits
  readonly #source: TextSource
  readonly #loads: BlockLoads
  /** Waiting requests by caller, with the callers in the order of their turns. */
  readonly #waiting = new Map<Holder, Parked[]>()
  readonly #parked = new Set<Parked>()
  readonly #places: Shares
  /** The bytes of blocks and bodies that requests hold, including those that are running again. */
  readonly #bytes: Shares
  #isLoading = false
  #isStopped = false
  /** The request that is running again, or null. */
  #running: ColdRead | null = null

  constructor(source: TextSource, limits: ColdReadsLimits = limitsPreset) {
    assert(limits.bytesMax >= coldPageBytesMax, 'R2: one request alone always fits')
    this.#source = source
    this.limits = limits
    this.#places = new Shares(limits.parkedMax)
    this.#bytes = new Shares(limits.bytesMax)
    this.#loads = new BlockLoads(source)
  }

  /** Whether the request that has just run noted missing text: its outcome must be discarded. */
  get isNeeded(): boolean {
    return this.#source.blocks.isMissing
  }

  get length(): number {
    return this.#parked.size
  }

  /** The bytes of blocks and bodies that requests hold. */
  get bytes(): number {
    return this.#bytes.taken
  }

  get blocksRead(): number {
    return this.#loads.blocksRead
  }

  /**
   * Parks the request that has just run, until the blocks that it noted are in memory. Calls
   * `resume` once, possibly before returning, with the argument for `runAgain` or with a rejection.
   */
  park(parking: Parking, resume: (outcome: ColdRead | ReadRejection) => void): void {
    const { blocks } = this.#source
    const before = this.#running
    const noted = [...blocks.takeShown(), ...blocks.takeMissing()]
    const slots = noted.map((block) => ({ block, slot: blocks.hold(block) }))
    if (before !== null) this.#end(before)
    this.#running = null
    const { caller, connection, bodyBytes } = parking
    const round = (before?.round ?? 0) + 1
    const parked = { caller, connection, bodyBytes, slots, round, resume }
    const rejection = this.#reject(parked)
    this.#bytes.take(caller, bytesOf(parked))
    if (rejection !== null) {
      this.#end(parked)
      return resume(rejection)
    }
    this.#parked.add(parked)
    this.#places.take(caller)
    const waiting = this.#waiting.get(caller)
    if (waiting === undefined) this.#waiting.set(caller, [parked])
    else waiting.push(parked)
    this.#loadNext()
  }

  /** Runs a request again, with its blocks in memory. The request may be parked once more. */
  runAgain(read: ColdRead, run: () => void): void {
    this.#running = read
    this.#source.blocks.noteShown()
    run()
    this.#source.blocks.takeShown()
    if (this.#running === read) this.#end(read)
    this.#running = null
  }

  /** Rejects all parked requests, and any that are parked later (R4). */
  stop(): void {
    this.#isStopped = true
    this.#waiting.clear()
    for (const parked of [...this.#parked]) this.#leave(parked, { rejected: 'shutting_down' })
    this.#source.disk.close()
  }

  #reject(parked: Parked): ReadRejection | null {
    if (this.#isStopped) return { rejected: 'shutting_down' }
    const { caller, round } = parked
    const isAlone = this.#parked.size === 0
    const hasRoom = isAlone || this.#bytes.mayTake(caller, bytesOf(parked))
    if (hasRoom && this.#places.mayTake(caller) && round <= roundsMax) return null
    this.refused += 1
    return { rejected: 'overloaded' }
  }

  #loadNext(): void {
    while (!this.#isLoading && this.#waiting.size > 0) {
      const [[caller, waiting]] = this.#waiting
      const parked = waiting.shift()!
      this.#waiting.delete(caller)
      if (waiting.length > 0) this.#waiting.set(caller, waiting) // behind the other callers
      if (parked.connection.isGone) this.#leave(parked, { rejected: 'overloaded' })
      else this.#load(parked)
    }
  }

  #load(parked: Parked): void {
    this.#isLoading = true
    let isLater = false
    this.#loads.load(parked.slots, (outcome) => {
      this.#leave(parked, outcome)
      this.#isLoading = false
      if (isLater) this.#loadNext() // otherwise the loop of the caller continues
    })
    isLater = true
  }

  #leave(parked: Parked, outcome: Loaded | ReadRejection): void {
    if (!this.#parked.delete(parked)) return // `stop` has ended it
    const { caller, resume } = parked
    this.#places.giveBack(caller)
    if (outcome === 'loaded') return resume(parked)
    this.#end(parked)
    if (typeof outcome === 'object') resume(outcome)
    else resume({ rejected: outcome === 'damaged' ? 'unreadable' : 'overloaded' })
  }

  /** Releases the blocks and bytes that a request holds. */
  #end(read: ColdRead): void {
    for (const { slot } of read.slots) this.#source.blocks.release(slot)
    this.#bytes.giveBack(read.caller, bytesOf(read))
  }
}

function bytesOf({ slots, bodyBytes }: ColdRead): number {
  return slots.length * blockBytes + bodyBytes
}
