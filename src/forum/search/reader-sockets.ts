// Accepts the connections of readers to the index, on a socket in the data directory that only its
// owner can open. Readers send searches and nothing else.

import { createServer, type Socket } from 'node:net'
import { listenOnSocket } from '../../base/sockets.ts'
import { type FromNode, receive, type Search } from './protocol.ts'

export class ReaderSockets {
  readonly #path: string
  readonly #server

  constructor(path: string, onSearch: (search: Search, from: Socket) => void) {
    this.#path = path
    this.#server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      receive<FromNode>(socket, (message) => {
        if (message.type === 'search') onSearch(message, socket)
      })
    })
    // A reader that cannot connect tries again, and answers no searches until then.
    this.#server.on('error', () => {})
  }

  listen(): void {
    listenOnSocket(this.#server, this.#path)
  }

  close(): void {
    this.#server.close()
  }
}
