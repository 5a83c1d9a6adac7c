// Searches of a reader: over a connection of its own to the process of the index, which its node
// has started. A reader that is not connected connects again.

import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'
import { readersSocket } from './host.ts'
import { SearchLink } from './link.ts'

const retryMs = 250
/** For so long a reader that was never connected expects that there is an index. */
const expectedMs = 10_000

export class ReaderSearch {
  readonly link = new SearchLink()
  readonly #dir: string
  readonly #begun = performance.now()
  #wasConnected = false

  /** `dir` is the data directory. */
  constructor(dir: string) {
    this.#dir = dir
    this.#connect()
  }

  get isAvailable(): boolean {
    return this.#wasConnected || performance.now() - this.#begun < expectedMs
  }

  #connect(): void {
    // The path of a socket may have 107 bytes; through the descriptor of its directory it is short.
    let directory: number
    try {
      directory = openSync(this.#dir, 'r')
    } catch {
      return void setTimeout(() => this.#connect(), retryMs).unref()
    }
    const socket = connect(`/proc/self/fd/${directory}/${readersSocket}`)
    socket.unref()
    socket.on('connect', () => {
      this.#wasConnected = true
      this.link.receiveFrom(socket)
      this.link.connect(socket)
    })
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      this.link.disconnect()
      setTimeout(() => this.#connect(), retryMs).unref()
    })
    socket.once('ready', () => closeSync(directory))
    socket.once('error', () => closeSync(directory))
  }
}
