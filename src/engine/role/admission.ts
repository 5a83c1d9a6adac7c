// The admission of writes, apart from the health of the log: it depends on the memory in use, and
// on how much already waits for the disk. Reads are answered in any case.
//
// W1. Memory is measured by a timer, never by a request; each result holds until the next one.

import { getHeapStatistics } from 'node:v8'
import { residentMemory } from '../../base/process.ts'
import type { Load } from '../../edge/http/load.ts'
import type { Admission as AdmissionRule } from '../../forum/forum.ts'
import type { Rejection } from '../../kernel/rejection.ts'

const measureEveryMs = 250
/**
 * The share of V8's heap limit that may be used. V8 terminates the process at its limit, and is
 * slow before that.
 */
const heapUsedMax = 0.9
/** A log that makes no progress for this long is reported. */
const stallMs = 1000
/** The time after which callers may retry, since memory is not freed soon. */
const memoryRetryAfterSeconds = 30

export interface Memory {
  /** Resident memory, in bytes like the others; NaN if it is unknown. */
  rss: number
  heapUsed: number
  heapLimit: number
}

interface Watched {
  load: Load
  /** The answers that wait for the log. */
  gate: { readonly length: number }
  journal: { readonly durable: number }
  memoryBytesMax: number
  /** Frees the memory of caches, which can be spared. */
  free(): void
}

export class NodeAdmission implements AdmissionRule {
  #durable = 0
  #movedMs = 0
  #stalledMs = 0
  readonly #watched: Watched
  readonly #memory: () => Memory

  constructor(watched: Watched, memory = memoryNow) {
    this.#watched = watched
    this.#memory = memory
  }

  /** Starts the timer; returns a function that stops it. */
  start(): () => void {
    const timer = setInterval(() => this.measure(performance.now()), measureEveryMs).unref()
    this.measure(performance.now())
    return () => clearInterval(timer)
  }

  /** Measures memory and the progress of the log; `nowMs` is a time of performance.now(). */
  measure(nowMs: number): void {
    const { load, gate, journal, memoryBytesMax, free } = this.#watched
    const { rss, heapUsed, heapLimit } = this.#memory()
    const wasLow = load.isMemoryLow
    load.isMemoryLow = rss > memoryBytesMax || heapUsed > heapLimit * heapUsedMax
    // Once each time: if it does not suffice, the caches are small beside what fills the memory.
    if (load.isMemoryLow && !wasLow) free()
    if (gate.length === 0 || journal.durable !== this.#durable) this.#movedMs = nowMs
    this.#durable = journal.durable
    this.#stalledMs = nowMs - this.#movedMs
  }

  /** Returns why a write must be refused now, or null. */
  refusal(): Rejection | null {
    const { load, gate } = this.#watched
    if (load.isMemoryLow) {
      load.refused.memory += 1
      const detail = 'The memory is used up; reading still works.'
      return { rejected: 'overloaded', detail, retryAfter: memoryRetryAfterSeconds }
    }
    if (gate.length < load.limits.writesMax && load.hasRoom(0)) return null
    load.refused.writes += 1
    return { rejected: 'overloaded' }
  }

  get warnings(): string[] {
    const { load, gate } = this.#watched
    const warnings: string[] = []
    if (load.isMemoryLow) warnings.push('memory: at its limit, writes are refused')
    if (gate.length >= load.limits.writesMax || !load.hasRoom(0)) {
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
