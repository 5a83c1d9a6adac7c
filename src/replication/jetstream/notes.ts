// Notes in a bucket of the servers' key-value store, as JSON, so that operators can read them.

import type { KV } from '@nats-io/kv'
import type { Note, Notes } from '../log-stream.ts'
import { apiCode, wrongLastSequence } from './errors.ts'
import type { ServerLink } from './link.ts'

export class JetStreamNotes implements Notes {
  readonly #link: ServerLink
  readonly #bucket: KV

  constructor(link: ServerLink, bucket: KV) {
    this.#link = link
    this.#bucket = bucket
  }

  async read(key: string): Promise<Note | null> {
    const entry = await this.#link.asked(() => this.#bucket.get(key))
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
    return await this.#link.available(async () => {
      const keys: string[] = []
      for await (const key of await this.#bucket.keys(`${prefix}>`)) keys.push(key)
      return keys
    })
  }
}
