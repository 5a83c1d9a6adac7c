// Objects as messages of their own stream, each under its own subject: `<stream>.<name>`.
//
// The client's object store also divides objects into messages, and hashes them on this thread: 4
// MiB blocked the event loop for 50 ms. Here an object is one message, and the code that assembles
// a file from several objects checks its crc.

import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import { DiscardPolicy } from '@nats-io/jetstream'
import type { Objects } from '../log-stream.ts'
import { apiCode, makeStream, noMessageFound, type ServerLink } from './link.ts'
import { recreatingIfGone } from './notes.ts'

interface ObjectStream {
  link: ServerLink
  client: JetStreamClient
  manager: JetStreamManager
  name: string
  /** The number of servers that keep a copy. */
  replicas: number
}

export class JetStreamObjects implements Objects {
  readonly #stream: ObjectStream

  constructor(stream: ObjectStream) {
    this.#stream = stream
  }

  /** Creates the stream if it is missing. */
  static make({ manager, name, replicas }: Omit<ObjectStream, 'link' | 'client'>): Promise<void> {
    return makeStream(manager, {
      name,
      subjects: [`${name}.>`],
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 1,
      num_replicas: replicas,
    })
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    const { link, client } = this.#stream
    await link.available(() => client.publish(this.#subject(name), bytes))
  }

  async get(name: string): Promise<Uint8Array | null> {
    const { link, manager, name: stream } = this.#stream
    try {
      const query = { last_by_subj: this.#subject(name) }
      const request = link.availableRepeated(() => manager.streams.getMessage(stream, query))
      return (await this.recreatedIfGone(request))?.data ?? null
    } catch (error) {
      if (apiCode(error) === noMessageFound) return null
      throw error
    }
  }

  async remove(name: string): Promise<void> {
    const { link, manager, name: stream } = this.#stream
    await link.available(() => manager.streams.purge(stream, { filter: this.#subject(name) }))
  }

  async list(): Promise<string[]> {
    const { link, manager, name } = this.#stream
    const filter = { subjects_filter: `${name}.>` }
    const request = link.availableRepeated(() => manager.streams.info(name, filter))
    const { state } = await this.recreatedIfGone(request)
    return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(name.length + 1))
  }

  recreatedIfGone<T>(request: Promise<T>): Promise<T> {
    const stream = this.#stream
    return recreatingIfGone(request, () =>
      stream.link.available(() => JetStreamObjects.make(stream)),
    )
  }

  #subject(name: string): string {
    return `${this.#stream.name}.${name}`
  }
}
