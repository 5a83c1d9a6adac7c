// One of several nodes in one simulated process, with its own disk and its own connection to the
// engine, whose lives end independently of the others'. In the virtual time, its code runs as that
// of a process of its own.

import type { ChildProcess } from 'node:child_process'
import type { Logger } from 'pino'
import { checkSettings, findSettings, settingTexts } from '../../../src/config/config.ts'
import type { Handler } from '../../../src/edge/http/exchange.ts'
import type { Forum } from '../../../src/forum/forum.ts'
import type { State } from '../../../src/forum/state.ts'
import type { Post, Sent } from '../../../src/forum/webhooks/send.ts'
import { type Node, startNode } from '../../../src/node/server.ts'
import { readingOf } from '../../kernel/text/simulated-reading.ts'
import { type Request, SimulatedExchange } from '../../simulate/asking.ts'
import type { VirtualTime } from '../../simulate/virtual-time.ts'
import { SimulatedDisk } from '../../wal/simulated-disk.ts'
import type { SimulatedEngine } from './simulated-engine.ts'
import { readerOf, SimulatedReader } from './simulated-reader.ts'
import type { SimulatedReceiver } from './simulated-receiver.ts'
import { SimulatedStream } from './simulated-stream.ts'

const secret = 'a secret of the simulation that is long enough'
const leaseMs = 5_000
/** The data directory of each node, on its own disk. */
export const data = '/simulated'

/** The parts that the nodes of one simulation share. */
export interface World {
  time: VirtualTime
  engine: SimulatedEngine
  /** The endpoint to which the nodes send wakeups. */
  receiver: SimulatedReceiver
  random: () => number
  trace: (line: () => string) => void
  count: (outcome: string) => void
}

export class SimulatedNode {
  readonly name: string
  disk!: SimulatedDisk
  /** What its start waits for, and since when; null if it waits for nothing. */
  waits: { why: string; sinceMs: number } | null = null
  /** Its connection to the engine in the current life. */
  stream: SimulatedStream | null = null
  /** The reason why the node stopped by itself. */
  failure: (Error & { exitCode?: number }) | null = null
  readonly #world: World
  readonly #flags: readonly string[]
  #life = 0
  /** Whether it has begun to lead in the current life. */
  leads = false
  /** Whether its state was compared with the stream since it has begun to lead. */
  isCompared = false
  isStopped = false
  /** Requests that arrived while it was stopped. */
  readonly #waiting: (() => void)[] = []
  /** The process that reads beside it, if it has one. */
  reader: SimulatedReader | null = null
  #node: Node | null = null
  #handler: Handler | null = null

  constructor(world: World, name: string, flags: readonly string[]) {
    this.name = name
    this.#world = world
    this.#flags = flags
    this.#newDisk()
  }

  /** Loses everything that the node has stored. Call it only while the node does not run. */
  loseDisk(): void {
    this.#newDisk()
  }

  #newDisk(): void {
    this.disk = new SimulatedDisk(Math.floor(this.#world.random() * 2 ** 31))
    this.disk.manual = true
  }

  /** Whether its process runs, even if it is still recovering. */
  get isAlive(): boolean {
    return this.#handler !== null
  }

  /** The number of its lives so far. */
  get life(): number {
    return this.#life
  }

  get isUp(): boolean {
    return this.#node !== null && this.failure === null
  }

  /** Starts the process. It serves once the simulation has let it proceed that far. */
  start(flags: readonly string[] = []): void {
    this.#as(() => this.#start(flags))
  }

  #start(flags: readonly string[]): void {
    this.failure = null
    this.waits = null
    this.#life += 1
    this.leads = false
    const life = this.#life
    const { random, engine, count } = this.#world
    count('start')
    const environment = {
      disk: this.disk,
      startReading: readingOf(this.disk),
      // The smallest size that the flag allows: a follower appends runs of 64 KiB.
      segmentBytes: 1024 * 1024,
      pause: () => (random() < 0.5 ? null : nextTurn()),
      listen: async (_host: string, _port: number, handler: Handler) => {
        if (life === this.#life) this.#handler = handler
        return { port: 1, stop: () => {}, setOpen: () => true }
      },
      send: (post: Post) =>
        new Promise<Sent>((resolve) => {
          this.#world.receiver.receive(post, (sent) => {
            if (life === this.#life) this.#as(() => resolve(sent))
          })
        }),
      connectStream: async () => {
        const run = (work: () => void) => this.#as(work)
        this.stream = new SimulatedStream(engine, { leaseMs, run })
        return this.stream
      },
    }
    const startReader = () => {
      const parts = { world: this.#world, node: this.name, disk: this.disk }
      this.reader = new SimulatedReader(parts)
      return this.reader as unknown as ChildProcess
    }
    const args = ['--data', data, '--text-memory-mb', '1', ...this.#flags, ...flags]
    const variables = { AGENT_FORUM_SECRET: secret }
    const found = findSettings(args, variables)
    const settings = settingTexts(found)
    const config = checkSettings(found, variables)
    const note = (fields: Record<string, unknown> | string, event?: string) =>
      this.#noted(event, fields)
    const isLevelEnabled = () => false
    const log = { info: note, warn: note, error: note, isLevelEnabled } as unknown as Logger
    this.#handler = () => {}
    startNode(config, '0.0.0', log, { ...environment, settings, startReader }).then(
      (node) => {
        if (life !== this.#life) return
        this.#node = node
        this.waits = null
        node.failed.catch((error) => this.#failed(error, life))
      },
      (error) => this.#failed(error, life),
    )
  }

  /** The state of a node that decides; null if it does not. */
  get state(): State | null {
    let state: State | null = null
    const look = (forum: Forum) => {
      state = forum.state
      return { position: 0 }
    }
    if (this.isUp) this.#as(() => void this.#node!.administer(look))
    return state
  }

  /** Sends a request to one of its processes that listen, if there is one. */
  ask(request: Request, answer: (status: number, body: string, headers: string) => void): void {
    const life = this.#life
    const exchange = new SimulatedExchange(request, (...answered) => {
      if (life === this.#life) answer(...answered)
    })
    const { reader } = this
    if (reader?.isListening && this.#world.random() < 0.5) return reader.arrive(exchange)
    const arrive = () => this.#handler?.(exchange)
    if (this.isStopped) this.#waiting.push(arrive)
    else this.#as(arrive)
  }

  /** Stops the process (SIGSTOP). Whatever is sent to it waits. */
  halt(): void {
    this.isStopped = true
    this.#world.time.stop(this.name)
    if (this.stream !== null) this.stream.isStopped = true
  }

  /** Continues the process. It reads the waiting requests before anything else runs. */
  goOn(): void {
    this.isStopped = false
    this.#world.time.goOn(this.name)
    if (this.stream !== null) this.stream.isStopped = false
    for (const arrive of this.#waiting.splice(0)) this.#as(arrive)
  }

  /** Takes a checkpoint while everything else continues. */
  checkpoint(): void {
    this.#as(() => void this.#node?.takeCheckpoint())
  }

  /** Stops the node as a signal does; `over` is called once it has stopped. */
  stop(over: () => void): void {
    const life = this.#life
    this.#as(() => void this.#node!.stop().then(() => life === this.#life && over()))
  }

  /** Completes an operation of its disk. */
  completeOne(): void {
    if (this.disk.pending > 0 && !this.isStopped) this.#as(() => this.disk.completeOne())
  }

  /** Sets the clock of its machine ahead of the others', or back. */
  setAhead(ms: number): void {
    this.#world.trace(() => `the clock of ${this.name} is ${ms} ms ahead`)
    for (const owner of [this.name, readerOf(this.name)]) this.#world.time.setAhead(owner, ms)
  }

  /** Cuts the power or kills the processes. */
  crash(how: 'power' | 'kill'): void {
    const { time, engine, trace, count } = this.#world
    trace(() => `${this.name} crashes: ${how}`)
    this.reader?.kill()
    this.reader = null
    count(`crash: ${how}`)
    this.#waiting.length = 0
    this.goOn()
    this.#life += 1
    this.waits = null
    this.#node = null
    this.#handler = null
    if (this.stream !== null) engine.died(this.stream)
    this.stream = null
    time.forget(this.name)
    this.disk = how === 'power' ? this.disk.losePower() : this.disk.dieAlone()
    this.disk.manual = true
  }

  #failed(error: Error, life: number): void {
    if (life !== this.#life) return
    this.#world.trace(() => `${this.name} ends: ${error.message}`)
    this.#world.count(`ended: ${(error as { exitCode?: number }).exitCode ?? error.message}`)
    this.failure = error
  }

  #as<T>(work: () => T): T {
    return this.#world.time.as(this.name, work)
  }

  #noted(event: string | undefined, fields: Record<string, unknown> | string): void {
    const name = event ?? `${fields}`
    if (name === 'leading') {
      this.leads = true
      this.isCompared = false
    }
    if (name === 'waits_for_leader') {
      const { why } = fields as { why: string }
      this.waits = { why, sinceMs: performance.now() }
    }
    this.#world.trace(() => `  ${this.name} ${name}: ${JSON.stringify(fields)}`)
    this.#world.count(`log: ${name}`)
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
