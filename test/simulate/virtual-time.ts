// Time, randomness and the event loop of a simulated process. What Node and the system do by
// themselves happens here only on request. `leave` restores the real ones.
//
//   immediates   run by `turn`, in their order
//   timers       run by `advance` when they are due; a long advance is like a machine that slept,
//                so a timer that is due several times runs once
//   clocks       Date.now is `wallMs`, which may step; performance.now only increases
//   randomness   node:crypto and Math.random draw from the seed
//
// Between `enter` and `leave` only microtasks run: the process is a function of its seed.

import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { freeMemory, keepMemory, recycleMemory } from './recycled-memory.ts'

interface Timer {
  at: number
  everyMs: number | null
  run: () => void
  unref(): Timer
  ref(): Timer
}

const real = {
  crypto: { randomBytes: crypto.randomBytes, randomFillSync: crypto.randomFillSync },
  timers: { setTimeout: timers.setTimeout, setImmediate: timers.setImmediate },
  date: { now: Date.now },
  math: { random: Math.random },
  performance: { now: performance.now },
  global: { setImmediate, setTimeout, setInterval, clearImmediate, clearTimeout, clearInterval },
}

/** Resolves when no microtask is left, because the `nextTick` queue runs after them. */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

export class VirtualTime {
  /** The time of the wall clock. */
  wallMs: number
  readonly #random: () => number
  #elapsedMs = 0
  #immediates: (() => void)[] = []
  readonly #timers = new Set<Timer>()

  constructor(random: () => number, wallMs: number) {
    this.#random = random
    this.wallMs = wallMs
  }

  /** From now on the process runs in this time. */
  enter(): void {
    const fill = (bytes: Uint8Array) => this.#fill(bytes)
    const later = (run: () => void, ms = 0) => this.#add(run, ms, null)
    Object.assign(crypto, {
      randomBytes: (count: number) => fill(Buffer.alloc(count)),
      randomFillSync: fill,
    })
    Object.assign(timers, {
      setTimeout: (ms: number) => new Promise<void>((resolve) => later(resolve, ms)),
      setImmediate: () => new Promise<void>((resolve) => this.#immediates.push(resolve)),
    })
    Object.assign(Date, { now: () => this.wallMs })
    Object.assign(Math, { random: this.#random })
    Object.assign(performance, { now: () => this.#elapsedMs })
    const clear = (timer: Timer) => this.#timers.delete(timer)
    Object.assign(globalThis, {
      setImmediate: (run: () => void) => this.#immediates.push(run),
      setTimeout: later,
      setInterval: (run: () => void, ms: number) => this.#add(run, ms, ms),
      clearTimeout: clear,
      clearInterval: clear,
    })
    syncBuiltinESMExports()
    recycleMemory()
  }

  leave(): void {
    this.forget()
    keepMemory()
    Object.assign(crypto, real.crypto)
    Object.assign(timers, real.timers)
    Object.assign(Date, real.date)
    Object.assign(Math, real.math)
    Object.assign(performance, real.performance)
    Object.assign(globalThis, real.global)
    syncBuiltinESMExports()
  }

  /** The value of performance.now. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  /** Whether an immediate waits for the next iteration. */
  get isBusy(): boolean {
    return this.#immediates.length > 0
  }

  /** Runs one iteration of the event loop. */
  async turn(): Promise<void> {
    for (const run of this.#immediates.splice(0)) {
      run()
      await settled()
    }
  }

  /** Advances all clocks by `ms`, and runs the timers that are due. */
  async advance(ms: number): Promise<void> {
    this.#elapsedMs += ms
    this.wallMs += ms
    for (const timer of [...this.#timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > this.#elapsedMs || !this.#timers.has(timer)) continue
      if (timer.everyMs === null) this.#timers.delete(timer)
      else timer.at = this.#elapsedMs + timer.everyMs
      timer.run()
      await settled()
    }
  }

  /** Milliseconds until the next timer; Infinity when there is none. */
  get untilTimer(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of this.#timers) next = Math.min(next, at - this.#elapsedMs)
    return Math.max(0, next)
  }

  /** Drops all timers and immediates, because the process is dead. */
  forget(): void {
    this.#immediates = []
    this.#timers.clear()
    freeMemory()
  }

  #add(run: () => void, ms: number, everyMs: number | null): Timer {
    const timer: Timer = {
      at: this.#elapsedMs + Math.max(1, ms),
      everyMs,
      run,
      unref: () => timer,
      ref: () => timer,
    }
    this.#timers.add(timer)
    return timer
  }

  #fill<T extends Uint8Array>(bytes: T): T {
    for (let at = 0; at < bytes.length; at += 4) {
      const drawn = Math.floor(this.#random() * 2 ** 32)
      for (let i = at; i < Math.min(at + 4, bytes.length); i++) bytes[i] = drawn >>> (8 * (i - at))
    }
    return bytes
  }
}
