// uWebSockets.js, and the only file that imports it. Its main module falls back to a JavaScript
// shim that cannot do what is needed here, so the native binding is asked for by its name.
//
// U1. A request object is valid only until its handler returns: `header` after that throws.
// U2. An answer that leaves later must be corked, or each of its parts is a system call of its own.
// U3. A request line and headers over 4 KiB are read only when they arrive in one piece, as they do
//     from a proxy; otherwise the library closes the connection, and this build cannot be told to.
// U4. Body chunks are views of the library's memory: copied unless used before the callback ends.

import type * as Uws from 'uWebSockets.js'
import { createRequire } from 'node:module'
import {
  dropBytesMax,
  type Exchange,
  type Handler,
  inUse,
  jsonType,
  type Listen,
  type Listener,
  reasons,
  standardHeaders,
  tooLarge,
} from './exchange.ts'
import type { RouteMeter } from './meter.ts'

// The type declarations lack the option without which two processes may share a port unnoticed.
interface ListenOptions {
  LIBUS_LISTEN_EXCLUSIVE_PORT: number
}
type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  done: (socket: Uws.us_listen_socket | false) => void,
) => void

/** The value of Content-Type, with all that follows it, of nearly every answer. */
const jsonLines = jsonType + standardHeaders
const statusLines = Object.fromEntries(
  Object.entries(reasons).map(([status, reason]) => [status, `${status} ${reason}`]),
)

class UwsExchange implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #response: Uws.HttpResponse
  readonly #request: Uws.HttpRequest
  #isHeld = false
  #isGone = false
  /** The rest of the body is not worth reading: close after the answer. */
  #closes = false

  constructor(response: Uws.HttpResponse, request: Uws.HttpRequest) {
    this.#response = response
    this.#request = request
    this.method = request.getMethod()
    this.path = request.getUrl()
    this.query = request.getQuery() ?? ''
  }

  header(name: string): string {
    return this.#request.getHeader(name)
  }

  allOf(name: string): string {
    const values: string[] = []
    this.#request.forEach((key, value) => {
      if (key === name) values.push(value)
    })
    return values.join(',')
  }

  get remoteAddress(): string {
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString()
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

  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void {
    if (this.#isGone) return
    const lines = type === jsonType && headers === '' ? jsonLines : type + headers + standardHeaders
    if (this.#isHeld) this.#response.cork(() => this.#write(status, lines, body))
    else this.#write(status, lines, body)
  }

  #write(status: number, lines: string, body: string | Uint8Array | null): void {
    const response = this.#response
    if (status !== 200) response.writeStatus(statusLines[status])
    // One header call for all: the library copies the value as it stands, line ends included.
    response.writeHeader('Content-Type', lines)
    if (body !== null && this.method !== 'head') {
      response.end(body, this.#closes)
      return
    }
    // Given a length, the library's own `endWithoutBody` waits for that many bytes.
    if (body !== null) response.writeHeader('Content-Length', `${Buffer.byteLength(body)}`)
    response.endWithoutBody()
  }
}

/** `listen` of uWebSockets.js, or null where it has no native binding for this Node and machine. */
export function loadUws(): Listen | null {
  const { platform, arch, versions } = process
  const binding = `uWebSockets.js/binaries/uws_${platform}_${arch}_${versions.modules}.node`
  try {
    const uws = createRequire(import.meta.url)(binding) as typeof Uws
    return (host, port, handler) => listen(uws, host, port, handler)
  } catch {
    return null
  }
}

function listen(uws: typeof Uws, host: string, port: number, handler: Handler): Promise<Listener> {
  const app = uws.App()
  app.any('/*', (response, request) => handler(new UwsExchange(response, request)))
  return new Promise((resolve, reject) => {
    const listening = (socket: Uws.us_listen_socket | false) => {
      if (socket === false) {
        reject(new Error(inUse(host, port)))
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
