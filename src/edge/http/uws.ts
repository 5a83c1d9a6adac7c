// The HTTP server on uWebSockets.js. What the library does, which the code below relies on:
//
// U1. A request object is valid only until its handler returns: `header` after that throws.
// U2. A response that leaves later must be corked, or each of its parts is a system call.
// U3. A request line and headers of up to 16 KiB may arrive in any number of packets. Over that
//     size, or with more than 100 headers, the library answers 431 and closes the connection.
// U4. Body chunks are views of the library's memory, so they are copied unless they are used before
//     the callback ends.
// U5. After 8 to 12 seconds, the library closes a connection that is silent between requests, has
//     not sent its whole head, or does not read its answer. It also closes one that sends a body at
//     less than 16 KiB a second. These times cannot be configured. A request that is not answered
//     yet has no timeout.
// U6. The library buffers what a client does not read, without a limit, and processes the next
//     request of the connection. So an answer that such a client may get is sent by `tryEnd`: while
//     it waits, a further request closes the connection.
// U7. A request that arrives before the previous one is answered closes the connection, so answers
//     that are sent after their handler has returned cannot be pipelined. U6 covers refusals.
// U8. A filter is called for every connection when it opens and when it closes, for whatever
//     reason. If the filter closes a connection, none of its requests is read.
// U9. The build in `uws-pack` answers 505 if the first packets of a request end just after the
//     space that follows the method, or inside ` HTTP/1.1` and the line end after it. Upstream's
//     later releases continue to read (uNetworking/uWebSockets, issue 1776).

import { type Exchange, headerLines, jsonType, type Listen, reasons } from './exchange.ts'
import { isAmbiguous } from './framing.ts'
import { type Body, IncomingBody, tooLarge } from './incoming-body.ts'
import type { Load } from './load.ts'
import type { RouteMeter } from './meter.ts'
import { findPortError, tryPort } from './port-error.ts'
import { SlowBodies } from './slow-bodies.ts'
import { overwriteOf } from './used-buffers.ts'
import type { Binding, HttpRequest, HttpResponse, TemplatedApp } from './uws-binding.ts'
import { openPort } from './uws-port.ts'

/** The heads of most answers, by status, as bytes: a string would be traversed twice. */
const usualHeads = Object.fromEntries(
  Object.keys(reasons).map((status) => [status, Buffer.from(headOf(Number(status), jsonType, ''))]),
)
/** Answers of at least this size are always sent by `tryEnd` (U6). */
const tryBytesMin = 4096
/**
 * Many smaller ones can fill the library's buffer, too, so one in this many, chosen at random, is
 * sent by `tryEnd`. Sending all of them by `tryEnd` would cost 2,500 instructions more for each
 * answer than this choice does, which is 11 % of an empty poll (22,000).
 */
const tryOneIn = 8
const noBytes = Buffer.alloc(0)

class UwsExchange implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  isGone = false
  readonly method: string
  readonly path: string
  #query: string | null = null
  readonly #response: HttpResponse
  readonly #request: HttpRequest
  readonly #edge: UwsEdge
  #isHeld = false
  /** Whether to close after the answer, because the rest of the body is not worth reading. */
  #closes = false
  #body: IncomingBody | null = null
  /** An answer that waits for its client to read it. */
  #waiting = noBytes
  #onHangUp: (() => void) | null = null

  constructor(method: string, response: HttpResponse, request: HttpRequest, edge: UwsEdge) {
    this.method = method
    this.#response = response
    this.#request = request
    this.#edge = edge
    this.path = request.getUrl()
  }

  get query(): string {
    this.#query ??= this.#request.getQuery() ?? ''
    return this.#query
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
      this.isGone = true
      this.#release()
      this.#onHangUp?.()
    })
  }

  onHangUp(call: () => void): void {
    this.#onHangUp = call
  }

  collect(bytesMax: number, done: (body: Body) => void): void {
    this.hold()
    this.#response.onData((chunk, isLast) => {
      if (this.#body !== null) this.#take(this.#body, chunk, isLast)
      else if (isLast) done(chunk.byteLength > bytesMax ? tooLarge : Buffer.from(chunk))
      else {
        const body = new IncomingBody(this.#edge.load, bytesMax, (whole) => {
          this.#edge.slow.delete(this)
          this.#closes = body.isHopeless
          done(whole)
        })
        this.#body = body
        this.#edge.slow.add(this)
        this.#take(this.#body, chunk, isLast)
      }
    })
  }

  #take(body: IncomingBody, chunk: ArrayBuffer, isLast: boolean): void {
    body.add(Buffer.from(chunk))
    if (isLast) body.end()
  }

  /** Closes the connection of a body that takes too long. */
  abort(): void {
    this.#edge.load.refused.slow_bodies += 1
    this.#response.close()
  }

  #release(): void {
    this.#edge.slow.delete(this)
    this.#body?.drop()
    this.#edge.load.answerBytes -= this.#waiting.length
    this.#waiting.fill(0)
    this.#waiting = noBytes
  }

  answer(status: number, type: string, headers: string, body: string | Uint8Array | null): void {
    if (this.isGone) return
    const isUsual = type === jsonType && headers === ''
    const head = isUsual ? usualHeads[status] : headOf(status, type, headers)
    if (this.#isHeld) this.#response.cork(() => this.#write(head, body))
    else this.#write(head, body)
  }

  #write(head: string | Uint8Array, body: string | Uint8Array | null): void {
    const response = this.#response
    // One call writes the whole head: the library copies the bytes unchanged, line ends included.
    response.writeStatus(head)
    if (body !== null && this.method !== 'head') {
      const { load, draw } = this.#edge
      const isSmall = body.length < tryBytesMin && !load.isMemoryLow && !draw(tryOneIn)
      if (isSmall || this.#closes) response.end(body, this.#closes)
      else this.#tryEnd(body)
      return
    }
    // Answers without a body cannot be sent by `tryEnd` (U6): they are refused if memory is low.
    if (this.#edge.load.isMemoryLow) return this.#giveUp()
    // Given a length, the library's own `endWithoutBody` would wait for that many bytes.
    if (body !== null) response.writeHeader('Content-Length', `${Buffer.byteLength(body)}`)
    response.endWithoutBody()
  }

  /** Closes the connection, whose answer has no room. Not yet, because it may be corked now. */
  #giveUp(): void {
    this.hold()
    this.#edge.load.refused.answers += 1
    setImmediate(() => {
      if (!this.isGone) this.#response.close()
    })
  }

  /** Sends the answer. An answer that the client does not take whole waits, counted in the load. */
  #tryEnd(body: string | Uint8Array): void {
    const response = this.#response
    const bytes = Buffer.byteLength(body)
    const [, isDone] = response.tryEnd(body, bytes)
    if (isDone) return
    const { load } = this.#edge
    if (!load.hasRoom(bytes)) return this.#giveUp()
    this.hold()
    this.#waiting = Buffer.from(body as Uint8Array)
    load.answerBytes += bytes
    response.onWritable((offset) => {
      const [ok, isDone] = response.tryEnd(this.#waiting.subarray(offset), bytes)
      if (isDone) this.#release()
      return ok
    })
  }
}

/** Returns the status line and the headers, without the line ends around them. */
function headOf(status: number, type: string, headers: string): string {
  return `${status} ${reasons[status]}\r\nContent-Type: ${type}${headerLines(headers)}`
}

/** What the exchanges of a server share. */
interface UwsEdge {
  load: Load
  slow: SlowBodies<UwsExchange>
  /** Returns true for about one in `oneIn` calls; a client cannot predict which. */
  draw(oneIn: number): boolean
}

/** Returns the `Listen` of exchange.ts that serves with uWebSockets.js by this binding. */
export function listenUws(binding: Binding): Listen {
  const { uws } = binding
  const overwriteBuffers = overwriteOf(binding)
  return async (host, wanted, handler, { load, behindProxy, sharing }) => {
    const port = sharing === 'first' ? await tryPort(host, wanted) : wanted
    const slow = new SlowBodies<UwsExchange>(load.limits.bodySeconds * 1000)
    const edge = { load, slow, draw: randomChoice() }
    const app = uws.App()
    const serve = (method: string | null) => (response: HttpResponse, request: HttpRequest) => {
      if (behindProxy && isAmbiguous(request)) {
        load.refused.framing += 1
        response.close()
      } else handler(new UwsExchange(method ?? request.getMethod(), response, request, edge))
    }
    // The library has routes for the usual methods; reading the method would create a string.
    app.get('/*', serve('get')).post('/*', serve('post')).del('/*', serve('delete'))
    app.any('/*', serve(null))
    limitConnections(app, load)
    const open = openPort({ uws, app, host, isShared: sharing !== undefined }, port)
    if (open === null) throw await findPortError(host, port)
    const stop = () => {
      slow.stop()
      open.setOpen(false)
    }
    return { ...open, stop, close: () => void app.close(), overwriteBuffers }
  }
}

/** Counts the open connections, and closes new ones while there are too many (U8). */
function limitConnections(app: TemplatedApp, load: Load): void {
  let connections = 0
  load.connections = () => connections
  const onChange = (response: HttpResponse, change: number) => {
    connections += change
    if (change < 0 || connections <= load.limits.connectionsMax) return
    load.refused.connections += 1
    response.close()
  }
  app.filter(onChange)
}

/** Returns a xorshift generator: nearly free, and independent of the pattern of requests. */
function randomChoice(): (oneIn: number) => boolean {
  let seed = Math.trunc(performance.now() * 1e6) | 1
  return (oneIn) => {
    seed ^= seed << 13
    seed ^= seed >>> 17
    seed ^= seed << 5
    return (seed >>> 0) % oneIn === 0
  }
}
