// A stream in memory that obeys the test, for tests of the code that uses a stream. The simulated
// stream (simulated-stream.ts) delays, loses and races.

import type {
  Calls,
  Lease,
  LeaseHolder,
  LogStream,
  Note,
  Notes,
  Objects,
  Published,
  StreamMessage,
  TermName,
  Unplaced,
} from '../../../src/cluster/replication/log-stream.ts'
import { StreamUnavailable } from '../../../src/cluster/replication/log-stream.ts'

/** Returns the nonce that tests give to the term of this number; 0 stands for no term. */
export function nonceOf(term: number): string {
  return term === 0 ? '' : `nonce-of-${term}`
}

/** Returns the name of a message of this term that comes after `last`, if there is one. */
export function nameOf(store: string, term: number, last?: StreamMessage): TermName {
  const name = { store, nonce: nonceOf(term) }
  return last?.term === term ? name : { ...name, previousNonce: last?.name.nonce ?? '' }
}

export class MemoryStream implements LogStream {
  messageBytesMax = 1 << 20
  readonly messages: StreamMessage[] = []
  readonly lease = new MemoryLease()
  readonly notes = new MemoryNotes()
  readonly objects = new MemoryObjects()
  readonly calls = new MemoryCalls()
  /** Whether calls reject, as they do without a majority of the servers. */
  isDown = false
  #trimmed = 0
  readonly #readers = new Set<Reader>()

  async publish(message: Unplaced, expectedLast: number, previous?: Unplaced): Promise<Published> {
    this.#check()
    const last = this.messages.at(-1)
    const isNext = previous === undefined || previous.last === last?.last
    if (expectedLast !== this.messages.length || !isNext) return { rejected: 'wrong_sequence' }
    const bytes = Buffer.from(message.bytes)
    this.messages.push({ ...message, bytes, sequence: expectedLast + 1 })
    for (const reader of this.#readers) reader.poke()
    return { sequence: expectedLast + 1 }
  }

  async last(): Promise<StreamMessage | null> {
    this.#check()
    return this.messages.at(-1) ?? null
  }

  async firstSequence(): Promise<number> {
    this.#check()
    return this.#trimmed + 1
  }

  async get(sequence: number): Promise<StreamMessage | null> {
    this.#check()
    return this.at(sequence)
  }

  /** Returns the message, or null if it was trimmed or does not exist. */
  at(sequence: number): StreamMessage | null {
    return sequence > this.#trimmed ? (this.messages[sequence - 1] ?? null) : null
  }

  read(
    from: number,
    onMessage: (message: StreamMessage) => void | Promise<void>,
    onError: (error: Error) => void,
  ): { stop(): void } {
    const reader = new Reader(this, from, onMessage, onError, () => this.#readers.delete(reader))
    this.#readers.add(reader)
    reader.poke()
    return reader
  }

  /** Ends all reads, as when a server dies. */
  interrupt(): void {
    for (const reader of this.#readers) reader.fail(new StreamUnavailable('interrupted'))
  }

  async trim(below: number): Promise<void> {
    this.#check()
    this.#trimmed = Math.max(this.#trimmed, Math.min(below, this.messages.length) - 1)
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.stop()
  }

  #check(): void {
    if (this.isDown) throw new StreamUnavailable('no majority')
  }
}

class Reader {
  #stream: MemoryStream
  #next: number
  #isBusy = false
  #isStopped = false
  #onMessage: (message: StreamMessage) => void | Promise<void>
  #onError: (error: Error) => void
  #onStop: () => void

  constructor(
    stream: MemoryStream,
    from: number,
    onMessage: (message: StreamMessage) => void | Promise<void>,
    onError: (error: Error) => void,
    onStop: () => void,
  ) {
    this.#stream = stream
    this.#next = from
    this.#onMessage = onMessage
    this.#onError = onError
    this.#onStop = onStop
  }

  poke(): void {
    if (!this.#isBusy) setImmediate(() => void this.#deliver())
  }

  stop(): void {
    this.#isStopped = true
    this.#onStop()
  }

  fail(error: Error): void {
    if (this.#isStopped) return
    this.stop()
    this.#onError(error)
  }

  async #deliver(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (!this.#isStopped && this.#next <= this.#stream.messages.length) {
      const message = this.#stream.at(this.#next)
      if (message === null) this.fail(new StreamUnavailable('trimmed'))
      else {
        this.#next += 1
        await this.#onMessage(message)
      }
    }
    this.#isBusy = false
  }
}

export class MemoryLease implements Lease {
  holder: LeaseHolder | null = null

  async hold(holder: LeaseHolder): Promise<boolean> {
    if (this.holder !== null && this.holder.node !== holder.node) return false
    this.holder = holder
    return true
  }

  async read(): Promise<LeaseHolder | null> {
    return this.holder
  }

  async release(node: string): Promise<void> {
    if (this.holder?.node === node) this.holder = null
  }
}

export class MemoryNotes implements Notes {
  readonly #notes = new Map<string, Note>()

  async read(key: string): Promise<Note | null> {
    return this.#notes.get(key) ?? null
  }

  async write(key: string, value: unknown, revision?: number): Promise<number | null> {
    const found = this.#notes.get(key)?.revision ?? 0
    if (revision !== undefined && revision !== found) return null
    this.#notes.set(key, { value, revision: found + 1 })
    return found + 1
  }

  async remove(key: string, revision?: number): Promise<void> {
    if (revision !== undefined && revision !== this.#notes.get(key)?.revision) return
    this.#notes.delete(key)
  }

  async keys(prefix: string): Promise<string[]> {
    return [...this.#notes.keys()].filter((key) => key.startsWith(prefix))
  }
}

export class MemoryObjects implements Objects {
  readonly objects = new Map<string, Buffer>()

  async put(name: string, bytes: Uint8Array): Promise<void> {
    this.objects.set(name, Buffer.from(bytes))
  }

  async get(name: string): Promise<Uint8Array | null> {
    return this.objects.get(name) ?? null
  }

  async remove(name: string): Promise<void> {
    this.objects.delete(name)
  }

  async list(): Promise<string[]> {
    return [...this.objects.keys()]
  }
}

type Answer = (request: Uint8Array) => Promise<Uint8Array>

export class MemoryCalls implements Calls {
  readonly #leaders = new Map<number, Answer>()

  async call(term: number, request: Uint8Array): Promise<Uint8Array | null> {
    return this.#leaders.get(term)?.(request) ?? null
  }

  answer(term: number, answer: Answer): { stop(): void } {
    this.#leaders.set(term, answer)
    return { stop: () => this.leave(term) }
  }

  /** Removes the leader of a term, which answers no more. */
  leave(term: number): void {
    this.#leaders.delete(term)
  }
}
