// Notes in a bucket of the servers' key-value store, as JSON, so that operators can read them. A
// removed bucket is created again, empty, and the leader restores its notes (uploads.ts, U4).

import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import {
  type Lease,
  type LeaseHolder,
  type Note,
  type Notes,
  StreamGone,
  StreamUnavailable,
} from '../log-stream.ts'
import { isOutOfPlace, type ServerLink } from './link.ts'

interface NotesParts {
  link: ServerLink
  manager: JetStreamManager
  bucket: KV
  name: string
  /** Creates the bucket if it is missing. */
  make: () => Promise<unknown>
}

export class JetStreamNotes implements Notes {
  readonly #link: ServerLink
  readonly #manager: JetStreamManager
  readonly #bucket: KV
  readonly #name: string
  readonly #make: () => Promise<unknown>

  constructor({ link, manager, bucket, name, make }: NotesParts) {
    this.#link = link
    this.#manager = manager
    this.#bucket = bucket
    this.#name = name
    this.#make = make
  }

  async read(key: string): Promise<Note | null> {
    const request = this.#link.availableRepeated(() => this.#bucket.get(key))
    const entry = await recreatingIfGone(request, this.#make)
    if (entry === null || entry.operation !== 'PUT') return null
    return { value: entry.json(), revision: entry.revision }
  }

  async write(key: string, value: unknown, revision?: number): Promise<number | null> {
    const bytes = new TextEncoder().encode(JSON.stringify(value))
    try {
      return await this.#link.available(() => {
        if (revision === undefined) return this.#bucket.put(key, bytes)
        if (revision === 0) return this.#bucket.create(key, bytes)
        return this.#bucket.update(key, bytes, revision)
      })
    } catch (error) {
      if (isOutOfPlace(error)) return null
      throw error
    }
  }

  async remove(key: string, revision?: number): Promise<void> {
    const options = revision === undefined ? {} : { previousSeq: revision }
    try {
      await this.#link.available(() => this.#bucket.delete(key, options))
    } catch (error) {
      if (!isOutOfPlace(error)) throw error
    }
  }

  /**
   * The server that leads the bucket answers this. The client's own listing reads through a
   * consumer, which may be on a lagging server: while servers were killed, it omitted notes that
   * had been acknowledged.
   */
  async keys(prefix: string): Promise<string[]> {
    const subjects = `$KV.${this.#name}.`
    const request = this.#link.availableRepeated(async () => {
      const filter = { subjects_filter: `${subjects}${prefix}>` }
      const { state } = await this.#manager.streams.info(`KV_${this.#name}`, filter)
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(subjects.length))
    })
    return recreatingIfGone(request, this.#make)
  }
}

/**
 * Returns a call's result. If the object was removed, creates it, and rejects as if unreachable.
 */
export async function recreatingIfGone<T>(
  call: Promise<T>,
  make: () => Promise<unknown>,
): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof StreamGone)) throw error
    await make()
    throw new StreamUnavailable(
      'the notes or objects beside the stream were removed, and are being recreated',
    )
  }
}

const key = 'lease'

/**
 * The lease: a note that its holder rewrites periodically. A node that reads it measures the time
 * from the answer with a new revision to the last request whose answer had the same one, by its own
 * clock. So no clocks of two machines are compared, the servers need none, and an answer that a
 * suspended process finds late does not count as new. The lease does not decide which node leads
 * (log-stream.ts, S4).
 */
export class JetStreamLease implements Lease {
  readonly #notes: Notes
  readonly #takeoverMs: number
  /** The revision that was seen last, when it was first seen, and when it was last requested. */
  #revision = 0
  #changedMs = 0
  #askedMs = 0

  constructor(notes: Notes, takeoverMs: number) {
    this.#notes = notes
    this.#takeoverMs = takeoverMs
  }

  async hold(holder: LeaseHolder): Promise<boolean> {
    const note = await this.#look()
    const current = this.#holderOf(note)
    if (current !== null && current.node !== holder.node) return false
    const revision = await this.#notes.write(key, { ...holder }, note?.revision ?? 0)
    if (revision === null) return false
    this.#see(revision)
    return true
  }

  async read(): Promise<LeaseHolder | null> {
    return this.#holderOf(await this.#look())
  }

  async release(node: string): Promise<void> {
    const note = await this.#look()
    if (note === null || (note.value as LeaseHolder).node !== node) return
    // The servers may process this after another node has taken the lapsed lease.
    await this.#notes.remove(key, note.revision)
  }

  async #look(): Promise<Note | null> {
    const askedMs = performance.now()
    const note = await this.#notes.read(key)
    this.#askedMs = askedMs
    if (note !== null && note.revision !== this.#revision) this.#see(note.revision)
    return note
  }

  #holderOf(note: Note | null): LeaseHolder | null {
    if (note === null || this.#askedMs - this.#changedMs > this.#takeoverMs) return null
    return note.value as LeaseHolder
  }

  #see(revision: number): void {
    this.#revision = revision
    this.#changedMs = performance.now()
  }
}
