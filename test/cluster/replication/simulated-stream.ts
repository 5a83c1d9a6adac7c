// The connection of one node to the simulated engine (simulated-engine.ts): LogStream in memory.
//
// A call whose request or reply is lost, or takes longer than `timeoutMs`, rejects with
// StreamUnavailable: its outcome is unknown, and its request may still arrive.

import {
  type Calls,
  callMs,
  type Lease,
  type LeaseHolder,
  type LogStream,
  type Note,
  type Notes,
  type Objects,
  type Published,
  type StreamMessage,
  StreamUnavailable,
  type Unplaced,
} from '../../../src/cluster/replication/log-stream.ts'
import type { Connection, SimulatedEngine } from './simulated-engine.ts'

const timeoutMs = 2_000

type OnMessage = Parameters<LogStream['read']>[1]

interface Reader {
  next: number
  onMessage: OnMessage
  onError: (error: Error) => void
  /** Whether a message is in transit, or is being processed. */
  isBusy: boolean
  isOver: boolean
}

export class SimulatedStream implements LogStream, Connection {
  isCut = false
  isStopped = false
  isDead = false
  readonly messageBytesMax: number
  readonly run: (work: () => void) => void
  readonly lease: Lease
  readonly notes: Notes
  readonly objects: Objects
  readonly calls: Calls
  readonly #engine: SimulatedEngine
  readonly #readers = new Set<Reader>()
  #isClosed = false

  constructor(
    engine: SimulatedEngine,
    { leaseMs = 5_000, messageBytesMax = 64 * 1024, run = (work: () => void) => work() } = {},
  ) {
    this.#engine = engine
    this.run = run
    this.messageBytesMax = messageBytesMax
    this.lease = this.#leaseOf(leaseMs)
    this.notes = this.#notesOf()
    this.objects = this.#objectsOf()
    this.calls = this.#callsOf()
    engine.connections.add(this)
  }

  publish(message: Unplaced, expectedLast: number, previous?: Unplaced): Promise<Published> {
    const copy = { ...message, bytes: Buffer.from(message.bytes) }
    return this.#call((engine) => engine.append(copy, expectedLast, previous))
  }

  last(): Promise<StreamMessage | null> {
    return this.#call((engine) => engine.seeminglyLast)
  }

  firstSequence(): Promise<number> {
    return this.#call((engine) => engine.firstSequence)
  }

  get(sequence: number): Promise<StreamMessage | null> {
    return this.#call((engine) => engine.seemingly(sequence))
  }

  trim(below: number): Promise<void> {
    return this.#call((engine) => engine.trim(below))
  }

  read(from: number, onMessage: OnMessage, onError: (error: Error) => void): { stop(): void } {
    const reader = { next: from, onMessage, onError, isBusy: false, isOver: false }
    this.#readers.add(reader)
    this.#deliver(reader)
    return {
      stop: () => {
        reader.isOver = true
        this.#readers.delete(reader)
      },
    }
  }

  streamChanged(): void {
    for (const reader of this.#readers) this.#deliver(reader)
  }

  /** Ends all reads, as a lost connection does. */
  breakReads(): void {
    for (const reader of [...this.#readers]) this.#end(reader, new StreamUnavailable('broken'))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const reader of this.#readers) reader.isOver = true
    this.#readers.clear()
    this.#engine.connections.delete(this)
  }

  #call<T>(work: (engine: SimulatedEngine) => T): Promise<T> {
    return this.#request((engine, reply) => reply(work(engine)), timeoutMs)
  }

  /** Sends a request; `work` is called when it arrives, and replies at once or later. */
  #request<T>(
    work: (engine: SimulatedEngine, reply: (result: T) => void) => void,
    patienceMs: number,
  ): Promise<T> {
    const engine = this.#engine
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(new StreamUnavailable('closed'))
        return
      }
      const late = setTimeout(() => {
        if (this.isDead) return
        engine.count('call: timed out')
        reject(new StreamUnavailable('no answer in time'))
      }, patienceMs)
      late.unref()
      const arrive = (result: T) => {
        clearTimeout(late)
        resolve(result)
      }
      const reply = (result: T) => {
        if (this.isDead) engine.count('request of a dead process arrived')
        else engine.add({ kind: 'reply', from: this, run: () => arrive(result) })
      }
      engine.add({ kind: 'request', from: this, run: () => work(engine, reply) })
    })
  }

  #deliver(reader: Reader): void {
    const engine = this.#engine
    if (reader.isBusy || reader.isOver) return
    if (reader.next < engine.firstSequence) {
      this.#end(reader, new Error(`${reader.next} is trimmed`))
      return
    }
    const message = engine.message(reader.next)
    if (message === null) return
    reader.isBusy = true
    engine.add({ kind: 'delivery', from: this, run: () => void this.#handOver(reader, message) })
  }

  async #handOver(reader: Reader, message: StreamMessage): Promise<void> {
    if (reader.isOver || this.isDead) return
    reader.next += 1
    await reader.onMessage({ ...message, bytes: Uint8Array.from(message.bytes) })
    reader.isBusy = false
    this.#deliver(reader)
  }

  #end(reader: Reader, error: Error): void {
    reader.isOver = true
    this.#readers.delete(reader)
    this.#engine.count('read: ended')
    this.#engine.add({ kind: 'delivery', from: this, run: () => reader.onError(error) })
  }

  #leaseOf(leaseMs: number): Lease {
    const current = (engine: SimulatedEngine) =>
      engine.lease !== null && engine.lease.until > performance.now() ? engine.lease : null
    return {
      hold: (holder: LeaseHolder) =>
        this.#call((engine) => {
          const { node } = current(engine) ?? holder
          if (node !== holder.node) return false
          const until = performance.now() + leaseMs
          engine.lease = { holder: JSON.stringify(holder), node, until }
          return true
        }),
      read: () =>
        this.#call((engine) => {
          const lease = current(engine)
          return lease === null ? null : (JSON.parse(lease.holder) as LeaseHolder)
        }),
      release: (node: string) =>
        this.#call((engine) => {
          if (engine.lease?.node === node) engine.lease = null
        }),
    }
  }

  #notesOf(): Notes {
    return {
      read: (key: string) =>
        this.#call((engine): Note | null => {
          const note = engine.notes.get(key)
          return note ? { value: JSON.parse(note.value), revision: note.revision } : null
        }),
      write: (key: string, value: unknown, revision?: number) => {
        const text = JSON.stringify(value)
        return this.#call((engine) => {
          const now = engine.notes.get(key)?.revision ?? 0
          if (revision !== undefined && revision !== now) return null
          engine.revision += 1
          engine.notes.set(key, { value: text, revision: engine.revision })
          return engine.revision
        })
      },
      remove: (key: string, revision?: number) =>
        this.#call((engine) => {
          const isIt = revision === undefined || engine.notes.get(key)?.revision === revision
          if (isIt) engine.notes.delete(key)
        }),
      keys: (prefix: string) =>
        this.#call((engine) => [...engine.notes.keys()].filter((key) => key.startsWith(prefix))),
    }
  }

  #callsOf(): Calls {
    const { answerers } = this.#engine
    return {
      call: (term: number, request: Uint8Array) => {
        const copy = Buffer.from(request)
        return this.#request<Uint8Array | null>((engine, reply) => {
          const answerer = answerers.get(term)
          if (answerer === undefined) return reply(null)
          const { connection, answer } = answerer
          const run = () => {
            if (connection.isDead) return // the node is dead, and its memory now belongs to another
            void answer(copy).then((bytes) => reply(Buffer.from(bytes)))
          }
          engine.add({ kind: 'request', from: connection, run })
        }, callMs)
      },
      answer: (term: number, answer: (request: Uint8Array) => Promise<Uint8Array>) => {
        const answerer = { connection: this, answer }
        answerers.set(term, answerer)
        return {
          stop: () => {
            if (answerers.get(term) === answerer) answerers.delete(term)
          },
        }
      },
    }
  }

  #objectsOf(): Objects {
    return {
      put: (name: string, bytes: Uint8Array) => {
        const copy = Buffer.from(bytes)
        return this.#call((engine) => void engine.objects.set(name, copy))
      },
      get: (name: string) =>
        this.#call((engine) => {
          const object = engine.objects.get(name)
          return object === undefined ? null : Uint8Array.from(object)
        }),
      remove: (name: string) => this.#call((engine) => void engine.objects.delete(name)),
      list: () => this.#call((engine) => [...engine.objects.keys()]),
    }
  }
}
