// The searches of a reader, over a connection of its own to the process of the index that its node
// has started. A reader that is not connected tries again.

import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'
import { readersSocket } from './host.ts'
import { SearchLink } from './link.ts'

const retryMs = 250
/** How long after the first message a reader that was never connected expects an index. */
const expectedMs = 10_000

export class ReaderSearch {
  readonly link = new SearchLink()
  readonly #dir: string
  readonly #hasMessages: () => boolean
  /** The time since which there have been messages to index. */
  #expectedSince: number | null = null
  #wasConnected = false

  /** `dir` is the data directory; the node starts its index when there are messages. */
  constructor(dir: string, hasMessages: () => boolean) {
    this.#dir = dir
    this.#hasMessages = hasMessages
    this.#connect()
  }

  get isAvailable(): boolean {
    if (this.#wasConnected || !this.#hasMessages()) return true
    this.#expectedSince ??= performance.now()
    return performance.now() - this.#expectedSince < expectedMs
  }

  #connect(): void {
    // The path of a socket is limited to 107 bytes; through its directory's descriptor it is short.
    let directory: number
    try {
      directory = openSync(this.#dir, 'r')
    } catch {
      return void setTimeout(() => this.#connect(), retryMs).unref()
    }
    const socket = connect(`/proc/self/fd/${directory}/${readersSocket}`)
    socket.unref()
    let isHeld = true
    const release = () => {
      if (isHeld) closeSync(directory)
      isHeld = false // from now on the number may belong to another file
    }
    socket.once('connect', () => {
      release()
      this.#wasConnected = true
      this.link.receiveFrom(socket)
      this.link.connect(socket)
    })
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      release()
      this.link.disconnect()
      setTimeout(() => this.#connect(), retryMs).unref()
    })
  }
}
