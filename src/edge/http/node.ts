// Node's own HTTP server, for versions of Node without a native binding of uWebSockets.js. Callers
// see no difference from uws.ts: the API tests run on both.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import {
  type Exchange,
  type Handler,
  headBytesMax,
  headerLines,
  type Listener,
  type ListenOptions,
  reasons,
} from './exchange.ts'
import { isAmbiguous } from './framing.ts'
import { type Body, IncomingBody } from './incoming-body.ts'
import type { Load } from './load.ts'
import type { RouteMeter } from './meter.ts'
import { portError, tryPort } from './port-error.ts'
import { SlowBodies } from './slow-bodies.ts'

/** Smaller answers are not counted, because the kernel accepts them. */
const countBytesMin = 4096

/**
 * What to call when a connection ends, by connection. Node emits no `close` for a response behind
 * another one that has not been sent, as with pipelined requests.
 */
const endings = new WeakMap<Socket, Set<() => void>>()

class NodeExchange implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #load: Load
  readonly #slow: SlowBodies<NodeExchange>
  /** Whether to close after the answer, because the rest of the body is not worth reading. */
  #closes = false

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { load, slow }: { load: Load; slow: SlowBodies<NodeExchange> },
  ) {
    this.#request = request
    this.#response = response
    this.#load = load
    this.#slow = slow
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

  get isGone(): boolean {
    return this.#response.destroyed || this.#request.socket.destroyed
  }

  get remoteAddress(): string {
    return this.#request.socket.remoteAddress ?? ''
  }

  hold(): void {} // Node keeps the request, and discards what is written to a closed connection.

  onHangUp(call: () => void): void {
    this.#whenOver(call)
  }

  /** Calls a function once: when the answer has been sent, or when the connection has ended. */
  #whenOver(call: () => void): void {
    const ending = endings.get(this.#request.socket)!
    const end = () => {
      if (ending.delete(end)) call()
    }
    ending.add(end)
    this.#response.once('close', end)
  }

  collect(bytesMax: number, done: (body: Body) => void): void {
    const body = new IncomingBody(this.#load, bytesMax, (whole) => {
      this.#closes = body.isHopeless
      done(whole)
    })
    this.#slow.add(this)
    this.#request.on('data', (chunk: Buffer) => body.add(chunk))
    this.#request.on('end', () => {
      this.#slow.delete(this)
      body.end()
    })
    this.#request.on('close', () => {
      this.#slow.delete(this)
      body.drop()
    })
  }

  /** Closes the connection of a body that takes too long. */
  abort(): void {
    this.#load.refused.slow_bodies += 1
    this.#request.destroy()
  }

  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void {
    const response = this.#response
    const { socket } = this.#request
    if (this.isGone) return
    this.#waitForReader(body?.length ?? 0)
    // Pipelined requests are still read after that, but their answers must not be kept.
    if (socket.destroyed) return
    const lines = `Content-Type: ${type}${headerLines(headers)}`.split('\r\n')
    if (body !== null) lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
    if (this.#closes) lines.push('Connection: close')
    response.writeHead(status, reasons[status], lines.flatMap(nameAndValue))
    if (typeof body === 'string' || body === null) return void response.end(body)
    const copy = Buffer.from(body) // the socket may keep the bytes
    this.#whenOver(() => copy.fill(0))
    response.end(copy)
  }

  /** Counts the answer until the client has it; disconnects a client that stalls too long. */
  #waitForReader(bytes: number): void {
    const { socket } = this.#request
    // Node restores its own timeout when the answer has been sent.
    socket.setTimeout(this.#load.limits.idleSeconds * 1000)
    if (bytes < countBytesMin) return
    if (!this.#load.hasRoom(bytes)) {
      this.#load.refused.answers += 1
      socket.destroy()
      return
    }
    this.#load.answerBytes += bytes
    this.#whenOver(() => {
      this.#load.answerBytes -= bytes
    })
  }
}

function nameAndValue(line: string): [name: string, value: string] {
  const colon = line.indexOf(': ')
  return [line.slice(0, colon), line.slice(colon + 2)]
}

/** Returns all headers in the order of their arrival, with names in lower case. */
function headOf({ rawHeaders }: IncomingMessage) {
  return {
    forEach(visit: (name: string, value: string) => void) {
      for (let i = 0; i < rawHeaders.length; i += 2) {
        visit(rawHeaders[i].toLowerCase(), rawHeaders[i + 1])
      }
    },
  }
}

const refusedHeads = {
  505: ['HTTP Version Not Supported', 'This server speaks HTTP/1.1.\n'],
  400: ['Bad Request', 'A request needs a Host header.\n'],
} as const

/** Returns why the request must not reach the handler, or null. */
function refusalOf(request: IncomingMessage, behindProxy: boolean) {
  if (behindProxy && isAmbiguous(headOf(request))) return 'ambiguous'
  if (request.httpVersion !== '1.1') return 505
  return request.headers.host === undefined ? 400 : null
}

/** Answers a request that is not valid HTTP/1.1, and closes the connection. */
function refuseHead(response: ServerResponse, status: keyof typeof refusedHeads): void {
  const [reason, text] = refusedHeads[status]
  response.writeHead(status, reason, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': text.length,
    Connection: 'close',
  })
  response.end(text)
}

/** Serves with Node's own server. Implements `Listen` of exchange.ts. */
export async function listenNode(
  host: string,
  wanted: number,
  handler: Handler,
  { load, behindProxy, sharing }: ListenOptions,
): Promise<Listener> {
  const port = sharing === 'first' ? await tryPort(host, wanted) : wanted
  const { connectionsMax, bodySeconds, idleSeconds } = load.limits
  const server = createServer({
    maxHeaderSize: headBytesMax,
    // Node would answer, and then emit the packet's next request. So `refusalOf` checks instead.
    requireHostHeader: false,
    headersTimeout: idleSeconds * 1000,
    // For requests whose body is not collected; `slow` limits the others.
    requestTimeout: (bodySeconds + idleSeconds) * 1000,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: idleSeconds * 1000,
  })
  const slow = new SlowBodies<NodeExchange>(bodySeconds * 1000)
  // Connections whose further requests are ignored: Node parses a packet to its end, and emits the
  // requests in it even after their socket has been destroyed.
  const finished = new WeakSet<Socket>()
  server.maxConnections = connectionsMax
  let connections = 0
  load.connections = () => connections
  server.on('drop', () => {
    load.refused.connections += 1
  })
  server.on('connection', (socket) => {
    connections += 1
    const ending = new Set<() => void>()
    endings.set(socket, ending)
    socket.once('close', () => {
      connections -= 1
      for (const end of ending) end()
    })
  })
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const refusal = finished.has(request.socket) ? 'ignored' : refusalOf(request, behindProxy)
    if (refusal === null) return handler(new NodeExchange(request, response, { load, slow }))
    finished.add(request.socket)
    if (refusal === 'ambiguous') {
      load.refused.framing += 1
      request.socket.destroy()
    } else if (refusal !== 'ignored') refuseHead(response, refusal)
  }
  server.on('request', onRequest)
  // Expectations other than 100-continue are ignored; Node would answer 417 by itself.
  server.on('checkExpectation', onRequest)
  const options = { host, exclusive: true, reusePort: sharing !== undefined }
  // Node opens a port only after it has looked up the host.
  let isOpening = false
  let isWanted = true
  return new Promise((resolve, reject) => {
    // Also called later, if a shared port cannot be opened again. The caller of `setOpen` retries.
    server.on('error', (error) => {
      isOpening = false
      reject(portError(host, port, error))
    })
    server.on('listening', () => {
      isOpening = false
      if (!isWanted) server.close()
    })
    server.listen({ ...options, port }, () => {
      const { port } = server.address() as AddressInfo
      const stop = () => {
        slow.stop()
        server.close()
      }
      const setOpen = (isOpen: boolean) => {
        isWanted = isOpen
        if (!isOpen && server.listening) server.close()
        else if (isOpen && !server.listening && !isOpening) {
          isOpening = true
          server.listen({ ...options, port })
        }
        return server.listening === isOpen
      }
      const close = () => server.closeAllConnections()
      resolve({ port, stop, close, setOpen })
    })
  })
}

/** Returns whether this version of Node can share a port; others would ignore the option. */
export function canShare(version: string): boolean {
  const [major, minor] = version.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
}
