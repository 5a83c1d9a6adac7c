// A proxy between clients and a node. It keeps its port while nodes come and go, and cuts answers
// on demand: the node has executed the request, and the client does not receive the answer.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

export class CuttingProxy {
  /** The port of the node. While it is 0, connections are refused. */
  target = 0
  /** The number of answers, from the next one on, that are cut. */
  cuts = 0
  /** The number of bytes of an answer that pass before it is cut. */
  bytesBefore = 0
  /** The HTTP requests that have passed, and the bytes in both directions. */
  requests = 0
  bytes = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor() {
    this.#server = createServer((client) => this.#join(client))
  }

  static async start(t: Test, target = 0): Promise<CuttingProxy> {
    const proxy = new CuttingProxy()
    proxy.target = target
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    t.teardown(() => {
      for (const socket of proxy.#sockets) socket.destroy()
      proxy.#server.close()
    })
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #join(client: Socket): void {
    const node = connect(this.target, '127.0.0.1')
    for (const socket of [client, node]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        node.destroy()
      })
    }
    client.on('data', (bytes) => {
      this.bytes += bytes.length
      this.requests += bytes.toString('latin1').split(' HTTP/1.1\r\n').length - 1
    })
    client.pipe(node)
    node.on('data', (bytes) => {
      this.bytes += bytes.length
      if (this.cuts === 0) return client.write(bytes)
      this.cuts -= 1
      client.write(bytes.subarray(0, this.bytesBefore), () => client.destroy())
      return false
    })
  }
}
