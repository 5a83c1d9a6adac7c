// Objects in a bucket of the servers' object store: an object is cut into messages of a stream, and
// has a SHA-256 that is checked when it is read.

import type { ObjectStore } from '@nats-io/obj'
import type { Objects } from '../log-stream.ts'
import { apiCode, available, noMessageFound } from './errors.ts'

export class JetStreamObjects implements Objects {
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await available(() => this.#store.putBlob({ name }, bytes))
  }

  get(name: string): Promise<Uint8Array | null> {
    return available(() => this.#store.getBlob(name))
  }

  async remove(name: string): Promise<void> {
    await available(() => this.#store.delete(name))
  }

  async list(): Promise<{ name: string; bytes: number }[]> {
    try {
      const found = await available(() => this.#store.list())
      return found
        .filter(({ deleted }) => !deleted)
        .map(({ name, size: bytes }) => ({ name, bytes }))
    } catch (error) {
      if (apiCode(error) === noMessageFound) return []
      throw error
    }
  }
}
