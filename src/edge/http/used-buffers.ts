// The buffers of uWebSockets.js that all connections of a process share: one for what it receives
// and one for what it sends. They keep what passed through them until later requests overwrite it.
// The main process of a node whose readers answer gets no later requests, so it sends one itself.

import { request } from 'node:http'
import type { Binding, HttpResponse, TemplatedApp } from './uws-binding.ts'
import { listen } from './uws-port.ts'

/** The library receives at most 512 KiB at a time. */
const receivedBytes = 1 << 20
/** The library sends what it has gathered at 16 KiB. */
const sentBytes = 16 << 10
const host = '127.0.0.1'

/** Returns a function that overwrites both, unless no port can be opened on the loopback host. */
export function overwriteOf({ uws }: Binding): () => Promise<void> {
  let app: TemplatedApp | null = null // one for all calls: the library never frees any
  return async () => {
    app ??= uws.App().post('/*', answer)
    const socket = listen({ uws, app, host, isShared: false }, 0)
    if (socket === false) return
    await send(uws.us_socket_local_port(socket))
    uws.us_listen_socket_close(socket)
  }
}

/** Answers in pieces so short that they leave hardly a byte of the buffer as it was. */
function answer(response: HttpResponse): void {
  response.onAborted(() => {})
  response.onData((_, isLast) => {
    if (!isLast) return
    response.cork(() => {
      const piece = '0: 0\r\n'
      for (let at = 0; at < sentBytes; at += piece.length) response.writeHeader('0', '0')
      response.endWithoutBody()
    })
  })
}

/** Sends a long request, and resolves when its connection has ended. */
function send(port: number): Promise<void> {
  return new Promise((resolve) => {
    const options = { host, port, method: 'POST', agent: false, maxHeaderSize: 2 * sentBytes }
    const sent = request(options, (response) => response.resume())
    sent.on('error', () => {}).on('close', resolve)
    sent.end(Buffer.alloc(receivedBytes))
  })
}
