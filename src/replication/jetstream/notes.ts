// Notes in a bucket of the servers' key-value store, as JSON, so that operators can read them.
// A bucket that was removed is made again, empty: whoever leads writes what it has to hold
// (tending.ts).

import type { KV } from '@nats-io/kv'
import { type Note, type Notes, StreamGone, StreamUnavailable } from '../log-stream.ts'
import { apiCode, wrongLastSequence } from './errors.ts'
import type { ServerLink } from './link.ts'

export class JetStreamNotes implements Notes {
  readonly #link: ServerLink
  readonly #bucket: KV
  readonly #make: () => Promise<unknown>

  constructor(link: ServerLink, bucket: KV, make: () => Promise<unknown>) {
    this.#link = link
    this.#bucket = bucket
    this.#make = make
  }

  async read(key: string): Promise<Note | null> {
    const asked = this.#link.asked(() => this.#bucket.get(key))
    const entry = await madeAgain(asked, this.#make)
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
      if (apiCode(error) === wrongLastSequence) return null
      throw error
    }
  }

  async remove(key: string): Promise<void> {
    await this.#link.available(() => this.#bucket.delete(key))
  }

  async keys(prefix: string): Promise<string[]> {
    const listed = this.#link.available(async () => {
      const keys: string[] = []
      for await (const key of await this.#bucket.keys(`${prefix}>`)) keys.push(key)
      return keys
    })
    return madeAgain(listed, this.#make)
  }
}

/** The result of a call; makes again what is gone, and rejects as if it could not be reached. */
export async function madeAgain<T>(call: Promise<T>, make: () => Promise<unknown>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof StreamGone)) throw error
    await make()
    throw new StreamUnavailable('what stands beside the stream was removed, and is made again')
  }
}
