// uWebSockets.js, and the only file that imports it.
//
// U1. A request object is valid only until its handler returns: `header` after that throws.
// U2. An answer that leaves later must be corked, or each of its parts is a system call of its own.
// U3. Body chunks are views of the library's memory: copied unless used before the callback
//     returns.

import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js'
import { type Exchange, type Handler, type Listener, tooLarge } from './exchange.ts'

/** One header call for all: the library copies the value as it stands, line ends included. */
const standardHeaders =
  'application/json; charset=utf-8\r\n' +
  'Cache-Control: no-store\r\n' +
  'X-Content-Type-Options: nosniff\r\n' +
  'Referrer-Policy: no-referrer\r\n' +
  'X-Robots-Tag: noindex, nofollow'

/** How much of a body that is too large is read and dropped before the connection is given up. */
const dropBytesMax = 16 << 20

const statusLines: Record<number, string> = {
  201: '201 Created',
  204: '204 No Content',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  410: '410 Gone',
  413: '413 Content Too Large',
  414: '414 URI Too Long',
  415: '415 Unsupported Media Type',
  429: '429 Too Many Requests',
  503: '503 Service Unavailable',
}

// The type declarations lack the option without which two processes may share a port unnoticed.
interface ListenOptions {
  LIBUS_LISTEN_EXCLUSIVE_PORT: number
}
type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void

class UwsExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #response: HttpResponse
  readonly #request: HttpRequest
  #isHeld = false
  #isGone = false
  /** The rest of the body is not worth reading: close after the answer. */
  #closes = false

  constructor(response: HttpResponse, request: HttpRequest) {
    this.#response = response
    this.#request = request
    this.method = request.getMethod()
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
  }

  header(name: string): string {
    return this.#request.getHeader(name)
  }

  hold(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#response.onAborted(() => {
      this.#isGone = true
    })
  }

  collect(bytesMax: number, done: (body: Buffer | typeof tooLarge) => void): void {
    this.hold()
    let parts: Buffer[] = []
    let bytes = 0
    let isDone = false
    this.#response.onData((chunk, isLast) => {
      if (isDone) return
      bytes += chunk.byteLength
      if (bytes > bytesMax) {
        parts = []
        this.#closes = bytes > dropBytesMax
        if (!isLast && !this.#closes) return
        isDone = true
        done(tooLarge)
      } else if (isLast) {
        isDone = true
        const last = Buffer.from(chunk)
        done(parts.length === 0 ? last : Buffer.concat([...parts, last]))
      } else {
        parts.push(Buffer.from(chunk.slice(0)))
      }
    })
  }

  answer(status: number, headers: string, body: string | Uint8Array | null): void {
    if (this.#isGone) return
    if (this.#isHeld) this.#response.cork(() => this.#write(status, headers, body))
    else this.#write(status, headers, body)
  }

  #write(status: number, headers: string, body: string | Uint8Array | null): void {
    const response = this.#response
    if (status !== 200) response.writeStatus(statusLines[status])
    response.writeHeader('Content-Type', standardHeaders + headers)
    if (body !== null && this.method !== 'head') {
      response.end(body, this.#closes)
      return
    }
    // Given a length, the library's own `endWithoutBody` waits for that many bytes.
    if (body !== null) response.writeHeader('Content-Length', `${Buffer.byteLength(body)}`)
    response.endWithoutBody()
  }
}

/** Listens on host and port (0: any free one). Rejects when the port cannot be had. */
export function listen(host: string, port: number, handler: Handler): Promise<Listener> {
  const app = uws.App()
  app.any('/*', (response, request) => handler(new UwsExchange(response, request)))
  return new Promise((resolve, reject) => {
    const listening = (socket: us_listen_socket | false) => {
      if (socket === false) {
        reject(new Error(`${host}:${port} is in use, or not an address of this machine`))
        return
      }
      resolve({
        port: uws.us_socket_local_port(socket),
        stop: () => uws.us_listen_socket_close(socket),
      })
    }
    const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = uws as unknown as ListenOptions
    ;(app.listen as unknown as ListenExclusively).call(app, host, port, exclusive, listening)
  })
}
