// A reader of a simulated node: the whole program of a reader (node/reader.ts), as a process of its
// own in the virtual time, which reads the disk of its node and is connected with the main process
// by a simulated socket.

import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { unreadBytesMax } from '../../../src/cluster/readers/messages.ts'
import type { Handler } from '../../../src/edge/http/exchange.ts'
import { runReader } from '../../../src/node/reader.ts'
import { readingOf } from '../../kernel/text/simulated-reading.ts'
import type { VirtualTime } from '../../simulate/virtual-time.ts'
import type { SimulatedDisk } from '../../wal/simulated-disk.ts'

/** The bytes that the system takes from a writer before the other end has read them. */
const systemBytes = 200 << 10

type Run = <T>(work: () => T) => T

/** One end of a socket. Its process reads in iterations of its event loop, as much as Node does. */
class End extends EventEmitter {
  peer: End = this
  readonly #run: Run
  readonly #fail: (error: Error) => void
  #unread = Buffer.alloc(0)
  #isReading = false
  /** Whether this end is closed, and whether the other one is. */
  #isClosed = false
  #hasEnded = false

  /** `fail` is called with what a listener throws. */
  constructor(run: Run, fail: (error: Error) => void) {
    super()
    this.#run = run
    this.#fail = fail
  }

  get writableLength(): number {
    return Math.max(0, this.peer.#unread.length - systemBytes)
  }

  write(bytes: Uint8Array, done: () => void = () => {}): void {
    const { peer } = this
    if (!this.#isClosed && !peer.#isClosed) {
      peer.#unread = Buffer.concat([peer.#unread, bytes])
      peer.#planRead()
    }
    queueMicrotask(done)
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.peer.#hasEnded = true
    this.peer.#planRead()
  }

  #planRead(): void {
    if (this.#isReading || this.#isClosed) return
    this.#isReading = true
    this.#run(() => setImmediate(() => this.#read()))
  }

  #read(): void {
    this.#isReading = false
    const chunk = this.#unread.subarray(0, unreadBytesMax)
    const wasFull = this.peer.writableLength > 0
    this.#unread = this.#unread.subarray(chunk.length)
    const { peer } = this
    if (wasFull && peer.writableLength === 0) {
      peer.#run(() => setImmediate(() => peer.#emit('drain')))
    }
    if (chunk.length > 0) this.#emit('data', Buffer.from(chunk))
    if (this.#unread.length > 0) this.#planRead()
    else if (this.#hasEnded) this.#emit('close')
  }

  #emit(event: string, ...parts: unknown[]): void {
    if (this.#isClosed) return
    try {
      this.emit(event, ...parts)
    } catch (error) {
      this.#fail(error as Error)
    }
  }
}

/** Returns the name of the process that reads beside this node's main process. */
export function readerOf(node: string): string {
  return `the reader of ${node}`
}

interface Parts {
  world: {
    time: VirtualTime
    trace: (line: () => string) => void
    count: (outcome: string) => void
  }
  /** The name of the node, which is that of its main process. */
  node: string
  disk: SimulatedDisk
}

/** A child process of a main process, with a socket to it as its descriptor 3. */
export class SimulatedReader extends EventEmitter {
  readonly pid = 1
  readonly stdio: readonly unknown[]
  isListening = false
  isStopped = false
  /** The name of its process. */
  readonly owner: string
  readonly #parts: Parts
  readonly #socket: End
  #handler: Handler | null = null
  #hasEnded = false

  constructor(parts: Parts) {
    super()
    this.#parts = parts
    const { world, node, disk } = parts
    this.owner = readerOf(node)
    const run: Run = (work) => this.#as(work)
    const fail = (error: Error) => this.#end(1, error.message)
    const ofMain: Run = (work) => world.time.as(node, work)
    const main = new End(ofMain, (error) => {
      throw error
    })
    this.#socket = new End(run, fail)
    this.#socket.peer = main
    main.peer = this.#socket
    this.stdio = [null, null, null, main]
    const read = readingOf(disk)
    const environment = {
      disk,
      startReading: ((dir, onAnswer) =>
        read(dir, (answer) => run(() => setImmediate(() => onAnswer(answer))))) as typeof read,
      listen: async (_host: string, _port: number, handler: Handler) => {
        this.#handler = handler
        this.isListening = true
        const setOpen = (isOpen: boolean) => {
          this.isListening = isOpen
          return true
        }
        return { port: 1, stop: () => setOpen(false), setOpen }
      },
    }
    const note = (fields: unknown, event?: string) => {
      world.trace(() => `  ${this.owner} ${event}: ${JSON.stringify(fields)}`)
      world.count(`reader: ${event}`)
    }
    const isLevelEnabled = () => false
    const log = { info: note, warn: note, error: note, isLevelEnabled } as unknown as Logger
    const exit = () => this.#end(0, 'it has finished')
    run(() => {
      const socket = this.#socket as unknown as Socket
      runReader(socket, { openLog: () => log, fail, exit }, environment)
    })
  }

  /** Hands over a request, which the process reads in an iteration of its event loop. */
  arrive(exchange: Parameters<Handler>[0]): void {
    this.#as(() => setImmediate(() => this.#handler!(exchange)))
  }

  /** Stops the process (SIGSTOP), or continues it. */
  halt(): void {
    this.isStopped = true
    this.#parts.world.time.stop(this.owner)
  }

  goOn(): void {
    this.isStopped = false
    this.#parts.world.time.goOn(this.owner)
  }

  kill(): void {
    this.#end(null, 'killed')
  }

  #end(code: number | null, why: string): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.isListening = false
    this.goOn()
    const { world, node } = this.#parts
    world.trace(() => `${this.owner} ends: ${why}`)
    world.count(`reader ended: ${code}`)
    world.time.forget(this.owner)
    this.#socket.destroy()
    world.time.as(node, () => setImmediate(() => this.emit('close', code, null)))
  }

  #as<T>(work: () => T): T {
    return this.#parts.world.time.as(this.owner, work)
  }
}
