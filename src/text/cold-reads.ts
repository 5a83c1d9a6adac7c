// Requests whose answer needs text that is on disk. Such a request runs, notes the blocks that are
// missing, and its outcome is thrown away. It is parked here until these blocks are in memory, and
// then runs again from the start: access, expiry and keys are decided anew.
//
//   run ──blocks missing──▶ parked ──its caller's turn──▶ loading ──all are here──▶ run again
//                              └──── too many, shutdown, unreadable ────▶ rejected
//
// R1. Requests cannot evict each other's blocks for ever: until it has run again, a request holds
//     the blocks that were missing, and if others are missing then, all that it needs.
// R2. At most `parkedMax` requests are parked, and hold at most `bytesMax` of blocks and bodies. Of
//     both a caller has a share (base/shares.ts); a further request is rejected as `overloaded`.
//     One alone always fits.
// R3. Callers take turns; the anonymous ones count as one. Blocks are loaded for one request at a
//     time, so that in each iteration of the event loop at most about one of them runs again, and
//     requests that need no text from disk keep most of their rate (docs/performance.md).
// R4. Stopping ends every request with `shutting_down`. A request whose caller has hung up ends
//     when its turn comes.
//
// Neighbours: http/handle.ts parks and runs; block-loads.ts loads the blocks.

import assert from 'node:assert/strict'
import { Shares } from '../base/shares.ts'
import { BlockLoads, type Loaded, type TextSource } from './block-loads.ts'
import { blockBytes, type ColdReadsLimits, coldPageBytesMax } from './blocks.ts'

const limitsPreset: ColdReadsLimits = { parkedMax: 1024, bytesMax: 64 << 20 }
/** The limit of rounds in which a request finds other blocks missing, as between checkpoints. */
const roundsMax = 8

/** Why a request cannot run again: a `Rejection` of forum/forum.ts. */
interface Unfinished {
  rejected: 'overloaded' | 'unreadable' | 'shutting_down'
}

/** The caller of a parked request, and the memory of its body. */
interface Parking {
  caller: number
  connection: { readonly isGone: boolean }
  /** Bytes of the request's body, which is kept. */
  bodyBytes: number
}

/** A request that is parked, or runs again. */
export interface ColdRead extends Parking {
  /** The blocks it holds, and their slots. */
  readonly slots: readonly { block: number; slot: number }[]
  /** The number of times it was parked. */
  readonly round: number
}

interface Parked extends ColdRead {
  resume(outcome: ColdRead | Unfinished): void
}

export class ColdReads {
  /** Requests that were rejected because of a limit (R2). */
  refused = 0
  readonly limits: ColdReadsLimits
  readonly #source: TextSource
  readonly #loads: BlockLoads
  /** Waiting requests by caller, in the order of turns. */
  readonly #waiting = new Map<number, Parked[]>()
  /** All requests that are parked. */
  readonly #parked = new Set<Parked>()
  readonly #places: Shares
  /** Bytes of the blocks and bodies that requests hold, including those that run again. */
  readonly #bytes: Shares
  #isLoading = false
  #isStopped = false
  /** The request that runs again now. */
  #running: ColdRead | null = null

  constructor(source: TextSource, limits: ColdReadsLimits = limitsPreset) {
    assert(limits.bytesMax >= coldPageBytesMax, 'R2: one request alone always fits')
    this.#source = source
    this.limits = limits
    this.#places = new Shares(limits.parkedMax)
    this.#bytes = new Shares(limits.bytesMax)
    this.#loads = new BlockLoads(source)
  }

  /** Whether the request that has just run noted missing text, so that its outcome is worthless. */
  get isNeeded(): boolean {
    return this.#source.blocks.isMissing
  }

  /** The number of requests that are parked. */
  get length(): number {
    return this.#parked.size
  }

  /** Bytes of the blocks and bodies that they hold. */
  get bytes(): number {
    return this.#bytes.taken
  }

  /** Blocks that were read from disk. */
  get blocksRead(): number {
    return this.#loads.blocksRead
  }

  /**
   * Parks the request that has just run, until the blocks that it noted are in memory. Calls
   * `resume` once, maybe at once: with the argument of `runAgain`, or with a rejection.
   */
  park(parking: Parking, resume: (outcome: ColdRead | Unfinished) => void): void {
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

  /** Runs a request again, with its blocks in memory. It may be parked once more. */
  runAgain(read: ColdRead, run: () => void): void {
    this.#running = read
    this.#source.blocks.noteShown()
    run()
    this.#source.blocks.takeShown()
    if (this.#running === read) this.#end(read)
    this.#running = null
  }

  /** Rejects all requests, and later ones (R4). */
  stop(): void {
    this.#isStopped = true
    this.#source.disk.close()
    this.#waiting.clear()
    for (const parked of [...this.#parked]) this.#leave(parked, { rejected: 'shutting_down' })
  }

  #reject(parked: Parked): Unfinished | null {
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
      if (isLater) this.#loadNext() // otherwise whoever called this goes on
    })
    isLater = true
  }

  #leave(parked: Parked, outcome: Loaded | Unfinished): void {
    if (!this.#parked.delete(parked)) return // stopped meanwhile
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
