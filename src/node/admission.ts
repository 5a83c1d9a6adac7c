// Whether writes are let in, as far as the log does not know: is there memory for more, and how
// much waits for the disk already. Reading goes on whatever this says.
//
// W1. Memory is looked at by a timer, never by a request; what it says holds until it looks again.

import { getHeapStatistics } from 'node:v8'
import type { Admission as Asked, Rejection } from '../forum/forum.ts'
import type { Load } from '../http/load.ts'
import { residentMemory } from '../http/open-files.ts'

const lookMs = 250
/** V8 ends the process at its limit, and is slow before that. */
const heapUsedMax = 0.9
/** From then on a log that does not move is worth telling. */
const stallMs = 1000
/** Memory does not come back soon. */
const memoryRetryAfterSeconds = 30

export interface Memory {
  /** NaN while the system does not tell. */
  rss: number
  heapUsed: number
  heapLimit: number
}

interface Watched {
  load: Load
  /** How many answers wait for the log. */
  gate: { readonly length: number }
  journal: { readonly durable: number }
  memoryBytesMax: number
  /** Gives back the memory that can be done without. */
  free(): void
}

export class Admission implements Asked {
  #durable = 0
  #movedMs = 0
  #stalledMs = 0
  readonly #watched: Watched
  readonly #memory: () => Memory

  constructor(watched: Watched, memory = memoryNow) {
    this.#watched = watched
    this.#memory = memory
  }

  /** Looks from now on; returns a function that ends it. */
  start(): () => void {
    const timer = setInterval(() => this.look(performance.now()), lookMs).unref()
    this.look(performance.now())
    return () => clearInterval(timer)
  }

  look(nowMs: number): void {
    const { load, gate, journal, memoryBytesMax, free } = this.#watched
    const { rss, heapUsed, heapLimit } = this.#memory()
    load.isMemoryLow = rss > memoryBytesMax || heapUsed > heapLimit * heapUsedMax
    if (load.isMemoryLow) free()
    if (gate.length === 0 || journal.durable !== this.#durable) this.#movedMs = nowMs
    this.#durable = journal.durable
    this.#stalledMs = nowMs - this.#movedMs
  }

  refusal(): Rejection | null {
    const { load, gate } = this.#watched
    if (load.isMemoryLow) {
      load.refused.memory += 1
      const detail = 'The memory is used up; reading still works.'
      return { rejected: 'overloaded', detail, retryAfter: memoryRetryAfterSeconds }
    }
    if (gate.length < load.limits.waitingMax && load.hasRoom(0)) return null
    load.refused.writes += 1
    return { rejected: 'overloaded' }
  }

  /** What an operator should know, a sentence each. */
  get warnings(): string[] {
    const { load, gate } = this.#watched
    const warnings: string[] = []
    if (load.isMemoryLow) warnings.push('memory: at its limit, writes are refused')
    if (gate.length >= load.limits.waitingMax || !load.hasRoom(0)) {
      warnings.push(`queues: full, ${gate.length} answers wait, writes are refused`)
    }
    if (this.#stalledMs >= stallMs) {
      const seconds = Math.floor(this.#stalledMs / 1000)
      warnings.push(`disk: slow, nothing became durable for ${seconds} s, ${gate.length} wait`)
    }
    return warnings
  }
}

function memoryNow(): Memory {
  const { used_heap_size: heapUsed, heap_size_limit: heapLimit } = getHeapStatistics()
  return { rss: residentMemory(), heapUsed, heapLimit }
}
