// Time, randomness and the event loop of a simulated process, or of several that live and die
// independently. What Node and the system do by themselves happens here only on request. `leave`
// restores the real functions.
//
//   immediates   run by `turn`, in their order
//   timers       run by `advance` when they are due; a long advance is like a machine that slept,
//                so a timer that is due several times runs once
//   clocks       Date.now is `wallMs`, which may step, and which that of an owner may differ from;
//                performance.now only increases
//   randomness   node:crypto and Math.random draw from the seed
//   memory       the process reports none, so that it never refuses writes for lack of memory
//   owners       code that runs inside `as`, with all that it starts, belongs to one process, and
//                ends when that process is forgotten; while the process is stopped (SIGSTOP), none
//                of it runs
//
// Between `enter` and `leave` only microtasks run: the process is a function of its seed.

import { AsyncLocalStorage } from 'node:async_hooks'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { freeMemory, keepMemory, recycleMemory } from './recycled-memory.ts'

/** The name of a process, or null if there is only one. */
type Owner = string | null

interface Immediate {
  owner: Owner
  run: () => void
}

interface Timer extends Immediate {
  at: number
  everyMs: number | null
  unref(): Timer
  ref(): Timer
}

const real = {
  crypto: { randomBytes: crypto.randomBytes, randomFillSync: crypto.randomFillSync },
  timers: { setTimeout: timers.setTimeout, setImmediate: timers.setImmediate },
  date: { now: Date.now },
  math: { random: Math.random },
  performance: { now: performance.now },
  memoryUsage: { rss: process.memoryUsage.rss },
  global: { setImmediate, setTimeout, setInterval, clearImmediate, clearTimeout, clearInterval },
}

/** Resolves when no microtask is left, because the `nextTick` queue runs after the microtasks. */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

export class VirtualTime {
  /** The time of the wall clock. */
  wallMs: number
  readonly #random: () => number
  #elapsedMs = 0
  #immediates: Immediate[] = []
  readonly #timers = new Set<Timer>()
  readonly #stopped = new Set<Owner>()
  /** By how much the wall clocks of processes are ahead. */
  readonly #aheadMs = new Map<Owner, number>()
  /** Created only when there are several processes, because it slows down promises. */
  #owners: AsyncLocalStorage<string> | null = null

  constructor(random: () => number, wallMs: number) {
    this.#random = random
    this.wallMs = wallMs
  }

  /** Makes the process run in this time from now on. */
  enter(): void {
    const fill = (bytes: Uint8Array) => this.#fill(bytes)
    const later = (run: () => void, ms = 0) => this.#add(run, ms, null)
    const soon = (run: () => void) => this.#immediates.push({ owner: this.owner, run })
    Object.assign(crypto, {
      randomBytes: (count: number) => fill(Buffer.alloc(count)),
      randomFillSync: fill,
    })
    Object.assign(timers, {
      setTimeout: (ms: number) => new Promise<void>((resolve) => later(resolve, ms)),
      setImmediate: () => new Promise<void>((resolve) => soon(resolve)),
    })
    Object.assign(Date, { now: () => Math.floor(this.wallMs + this.aheadMs(this.owner)) })
    Object.assign(Math, { random: this.#random })
    Object.assign(performance, { now: () => this.#elapsedMs })
    Object.assign(process.memoryUsage, { rss: () => 0 })
    const clear = (timer: Timer) => this.#timers.delete(timer)
    Object.assign(globalThis, {
      setImmediate: soon,
      setTimeout: later,
      setInterval: (run: () => void, ms: number) => this.#add(run, ms, ms),
      clearTimeout: clear,
      clearInterval: clear,
    })
    syncBuiltinESMExports()
    recycleMemory(() => this.owner)
  }

  leave(): void {
    this.forget()
    // Otherwise each promise of all later simulations would propagate it.
    this.#owners?.disable()
    keepMemory()
    Object.assign(crypto, real.crypto)
    Object.assign(timers, real.timers)
    Object.assign(Date, real.date)
    Object.assign(Math, real.math)
    Object.assign(performance, real.performance)
    Object.assign(process.memoryUsage, real.memoryUsage)
    Object.assign(globalThis, real.global)
    syncBuiltinESMExports()
  }

  /** The value of performance.now. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  /** The process that runs now. */
  get owner(): Owner {
    return this.#owners?.getStore() ?? null
  }

  /** Runs `work` as part of the process `owner`. */
  as<T>(owner: string, work: () => T): T {
    this.#owners ??= new AsyncLocalStorage()
    return this.#owners.run(owner, work)
  }

  /** Whether an immediate waits for the next iteration. */
  get isBusy(): boolean {
    return this.#immediates.some((each) => this.#runs(each))
  }

  /** Stops a process: none of its code runs until `goOn`. */
  stop(owner: string): void {
    this.#stopped.add(owner)
  }

  /** Continues a stopped process: whatever has become due in the meantime is due now. */
  goOn(owner: string): void {
    this.#stopped.delete(owner)
  }

  /** Sets the wall clock of a process ahead of the others', or back. */
  setAhead(owner: string, ms: number): void {
    this.#aheadMs.set(owner, ms)
  }

  aheadMs(owner: Owner): number {
    return this.#aheadMs.get(owner) ?? 0
  }

  /** Runs one iteration of the event loop. */
  async turn(): Promise<void> {
    const due = this.#immediates.filter((each) => this.#runs(each))
    this.#immediates = this.#immediates.filter((each) => !this.#runs(each))
    for (const immediate of due) {
      this.#run(immediate)
      await settled()
    }
  }

  /** Advances all clocks by `ms`, and runs the timers that are due. */
  async advance(ms: number): Promise<void> {
    this.#elapsedMs += ms
    this.wallMs += ms
    for (const timer of [...this.#timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > this.#elapsedMs || !this.#timers.has(timer)) continue
      if (!this.#runs(timer)) continue
      if (timer.everyMs === null) this.#timers.delete(timer)
      else timer.at = this.#elapsedMs + timer.everyMs
      this.#run(timer)
      await settled()
    }
  }

  /** The number of milliseconds until the next timer, or Infinity if there is none. */
  get untilTimer(): number {
    let next = Number.POSITIVE_INFINITY
    for (const timer of this.#timers) {
      if (this.#runs(timer)) next = Math.min(next, timer.at - this.#elapsedMs)
    }
    return Math.max(0, next)
  }

  /** Drops the timers and immediates of a dead process or, without an owner, of all processes. */
  forget(owner: Owner = null): void {
    const stays = (each: Immediate) => owner !== null && each.owner !== owner
    this.#immediates = this.#immediates.filter(stays)
    for (const timer of this.#timers) if (!stays(timer)) this.#timers.delete(timer)
    freeMemory(owner)
  }

  #runs({ owner }: Immediate): boolean {
    return !this.#stopped.has(owner)
  }

  #run({ owner, run }: Immediate): void {
    if (owner === null) run()
    else this.as(owner, run)
  }

  #add(run: () => void, ms: number, everyMs: number | null): Timer {
    const timer: Timer = {
      owner: this.owner,
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
