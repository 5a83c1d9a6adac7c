// An open-loop load generator: requests are due at a constant rate, whether or not the server has
// answered earlier ones, and their latency counts from the time at which they were due. A generator
// that waits for answers sends nothing while the server stalls, and so misses what callers would
// see (coordinated omission).
//
// It runs in a separate process, so that it has its own core. Its argument is an `OpenLoad` as
// JSON. It prints its results as JSON.
//
// L1. A connection has one request at a time. A request for which no connection is free waits in a
//     queue, and its latency grows meanwhile.
// L2. The delay of the generator itself, although a connection was free, is reported (`lateMs`),
//     and is part of the latencies.

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from '../src/base/queue.ts'
import { type OpenLoad, type OpenSeen, openPercentiles } from './generator.ts'
import { freshKey, lastSeen, requestEnd } from './ring.ts'

/** How long the generator waits for answers after the last request. */
const drainMs = 10_000

/** The length of the answer that begins `bytes`, and whether it is an error; null: incomplete. */
type Framing = (bytes: Buffer) => { length: number; isError: boolean } | null

const framings: Record<OpenLoad['protocol'], Framing> = {
  http(bytes) {
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1) return null
    const head = bytes.toString('latin1', 0, end)
    const length = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    return bytes.length < length ? null : { length, isError: !/^HTTP\/1.1 [23]/.test(head) }
  },
  resp(bytes) {
    const end = bytes.indexOf('\r\n')
    if (end === -1) return null
    const isBulk = bytes[0] === '$'.charCodeAt(0)
    const length = end + 2 + (isBulk ? Number(bytes.toString('latin1', 1, end)) + 2 : 0)
    return bytes.length < length ? null : { length, isError: !isBulk }
  },
}

class OpenLoop {
  readonly latenciesMs: number[] = []
  readonly latesMs: number[] = []
  errors = 0
  readonly #load: OpenLoad
  readonly #requests: readonly string[]
  readonly #idle: Socket[] = []
  /** The due times of the requests that found no connection free. */
  readonly #waiting = new Queue<number>()
  #sent = 0

  constructor(load: OpenLoad) {
    this.#load = load
    this.#requests = readFileSync(load.ringFile, 'utf8').split(requestEnd).slice(0, -1)
  }

  async run(): Promise<void> {
    const { connections, rate, seconds } = this.#load
    for (let i = 0; i < connections; i++) this.#open()
    while (this.#idle.length < connections) await sleep(10)
    const total = Math.round(rate * seconds)
    const begun = performance.now()
    for (let due = 0; due < total; ) {
      const now = performance.now()
      for (; due < total && begun + (due * 1000) / rate <= now; due++) {
        this.#begin(begun + (due * 1000) / rate)
      }
      await new Promise(setImmediate) // a timer would be a millisecond late
    }
    const end = performance.now() + drainMs
    while (this.latenciesMs.length + this.errors < total && performance.now() < end) await sleep(10)
    this.errors += total - this.latenciesMs.length - this.errors
  }

  #begin(dueMs: number): void {
    const socket = this.#idle.pop()
    if (socket === undefined) return this.#waiting.push(dueMs)
    this.latesMs.push(performance.now() - dueMs)
    this.#send(socket, dueMs)
  }

  #send(socket: Socket & { dueMs?: number }, dueMs: number): void {
    socket.dueMs = dueMs
    socket.write(this.#next(), 'latin1')
  }

  #next(): string {
    const { filling, writes } = this.#load
    const n = this.#sent++
    const text = this.#requests[n % this.#requests.length]
    const seen = () => `${Math.max(0, Math.floor(filling.position + n * writes))}`
    return text.replace(freshKey, `${filling.prefix}${n}`).replace(lastSeen, seen)
  }

  #open(): void {
    const frame = framings[this.#load.protocol]
    const socket: Socket & { dueMs?: number } = connect(this.#load.port, '127.0.0.1')
    socket.setNoDelay()
    let kept = Buffer.alloc(0)
    const next = () => {
      if (this.#waiting.length > 0) this.#send(socket, this.#waiting.shift())
      else this.#idle.push(socket)
    }
    socket.once('connect', next)
    socket.on('data', (chunk) => {
      kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk])
      const answer = frame(kept)
      if (answer === null) return
      kept = kept.subarray(answer.length)
      if (answer.isError) this.errors += 1
      else this.latenciesMs.push(performance.now() - socket.dueMs!)
      next()
    })
    // A request on it fails, because it is never answered, and another connection takes its place.
    socket.on('error', () => {})
    socket.on('close', () => {
      const idle = this.#idle.indexOf(socket) // the server closes connections that idle for long
      if (idle !== -1) this.#idle.splice(idle, 1)
      this.#open()
    })
  }
}

/** Returns the smallest value that at least this percentage of the sorted values do not exceed. */
function at(sorted: Float64Array, percent: number): number {
  if (sorted.length === 0) return Number.NaN
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)]
}

const loop = new OpenLoop(JSON.parse(process.argv[2]) as OpenLoad)
await loop.run()
const [latencies, lates] = [loop.latenciesMs, loop.latesMs].map((each) =>
  Float64Array.from(each).sort(),
) as [Float64Array, Float64Array]
const seen: OpenSeen = {
  requests: latencies.length,
  errors: loop.errors,
  latencyMs: Object.fromEntries(
    openPercentiles.map((p) => [p, at(latencies, Number(p))]),
  ) as OpenSeen['latencyMs'],
  lateMs: at(lates, 99.9),
}
process.stdout.write(JSON.stringify(seen), () => process.exit(0))
