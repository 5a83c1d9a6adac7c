// Node's own HTTP server, for every Node that uWebSockets.js has no native binding for. It is held
// to behave as uws.ts does, where a caller can see it: the API tests run on both.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  dropBytesMax,
  type Exchange,
  type Handler,
  idleSeconds,
  inUse,
  type Listener,
  reasons,
  standardHeaders,
  tooLarge,
} from './exchange.ts'
import type { RouteMeter } from './meter.ts'

/** The longest request line and headers: enough for a URL that is too long to hear so from us. */
const headBytesMax = 64 << 10

class NodeExchange implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  /** The rest of the body is not worth reading: close after the answer. */
  #closes = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
    this.method = request.method!.toLowerCase()
    const url = request.url!
    const mark = url.indexOf('?')
    this.path = mark === -1 ? url : url.slice(0, mark)
    this.query = mark === -1 ? '' : url.slice(mark + 1)
  }

  header(name: string): string {
    return this.#request.headersDistinct[name]?.[0] ?? ''
  }

  allOf(name: string): string {
    return this.#request.headersDistinct[name]?.join(',') ?? ''
  }

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  hold(): void {} // Node keeps the request, and drops what is written to a client that hung up.

  collect(bytesMax: number, done: (body: Buffer | typeof tooLarge) => void): void {
    let parts: Buffer[] = []
    let bytes = 0
    this.#request.on('data', (chunk: Buffer) => {
      if (this.#closes) return
      bytes += chunk.byteLength
      if (bytes > bytesMax) parts = []
      else parts.push(chunk)
      if (bytes <= dropBytesMax) return
      this.#closes = true
      done(tooLarge)
    })
    this.#request.on('end', () => {
      if (!this.#closes) done(bytes > bytesMax ? tooLarge : Buffer.concat(parts))
    })
  }

  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void {
    const response = this.#response
    if (response.destroyed) return
    const lines = `Content-Type: ${type}${headers}${standardHeaders}`.split('\r\n')
    if (body !== null) lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
    if (this.#closes) lines.push('Connection: close')
    response.writeHead(status, reasons[status], lines.flatMap(nameAndValue))
    // A page lies in memory that the next request uses, and the socket may keep what it is given.
    response.end(typeof body === 'string' || body === null ? body : Buffer.from(body))
  }
}

function nameAndValue(line: string): [name: string, value: string] {
  const colon = line.indexOf(': ')
  return [line.slice(0, colon), line.slice(colon + 2)]
}

/** `Listen` of exchange.ts. */
export function listenNode(host: string, port: number, handler: Handler): Promise<Listener> {
  const server = createServer({
    maxHeaderSize: headBytesMax,
    headersTimeout: idleSeconds * 1000,
    keepAliveTimeout: idleSeconds * 1000,
  })
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (request.httpVersion === '1.1') handler(new NodeExchange(request, response))
    else request.destroy()
  }
  server.on('request', onRequest)
  // Expectations other than 100-continue mean nothing here; Node would answer 417 by itself.
  server.on('checkExpectation', onRequest)
  return new Promise((resolve, reject) => {
    server.once('error', () => reject(new Error(inUse(host, port))))
    server.listen({ host, port, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo
      resolve({ port, stop: () => server.close() })
    })
  })
}
