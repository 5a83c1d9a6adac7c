// TCP connections through a proxy that can be cut, silenced and slowed down, as networks are.
//
//   open     bytes pass, after `delayMs` and at most `bytesPerSecond` in each direction
//   cut      connections are reset, and new ones are refused
//   silent   connections stay open, new ones are accepted, and no byte passes: bytes that are
//            received meanwhile pass when the link opens again, just as TCP retransmits
//   mute     as silent, but only for what the node sends; what the servers send arrives
//   deaf     as silent, but only for what the servers send

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export type LinkState = 'open' | 'cut' | 'silent' | 'mute' | 'deaf'

export interface Pace {
  /** The delay of each piece on its way to the other side. */
  delayMs: number
  bytesPerSecond: number
}

/**
 * The bytes that a link buffers per direction before it stops reading, so that the sender waits.
 */
const heldBytesMax = 256 * 1024

const full: Pace = { delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY }

/** The links of one node to all servers of a cluster. */
export class Links {
  readonly all: readonly TcpLink[]

  private constructor(all: readonly TcpLink[]) {
    this.all = all
  }

  static async to(ports: readonly number[]): Promise<Links> {
    return new Links(await Promise.all(ports.map((port) => TcpLink.to(port))))
  }

  /** The URL for `--replicate` and `--follow`. */
  get url(): string {
    return this.all.map(({ port }) => `nats://127.0.0.1:${port}`).join(',')
  }

  set(state: LinkState): void {
    for (const link of this.all) link.set(state)
  }

  slow(pace: Partial<Pace>): void {
    for (const link of this.all) link.pace = { ...full, ...pace }
  }

  get bytes(): number {
    return this.all.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  close(): void {
    for (const link of this.all) link.close()
  }
}

export class TcpLink {
  readonly port: number
  pace = full
  /** The number of bytes that have passed, in both directions. */
  bytes = 0
  /** The number of connections that were made. */
  connections = 0
  readonly #target: number
  readonly #server: Server
  readonly #directions = new Set<Direction>()
  #state: LinkState = 'open'

  private constructor(server: Server, target: number) {
    this.#server = server
    this.#target = target
    this.port = (server.address() as { port: number }).port
    server.on('connection', (near) => this.#connect(near))
  }

  static async to(target: number): Promise<TcpLink> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TcpLink(server, target)
  }

  get state(): LinkState {
    return this.#state
  }

  set(state: LinkState): void {
    this.#state = state
    for (const direction of [...this.#directions]) {
      if (state === 'cut') direction.end()
      else direction.proceed()
    }
  }

  close(): void {
    this.set('cut')
    this.#server.close()
  }

  #connect(near: Socket): void {
    this.connections += 1
    if (this.#state === 'cut') {
      near.resetAndDestroy()
      return
    }
    const far = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    const end = () => {
      near.resetAndDestroy()
      far.resetAndDestroy()
      for (const direction of both) this.#directions.delete(direction)
    }
    const out = new Direction(this, near, far, end, 'mute')
    const both = [out, new Direction(this, far, near, end, 'deaf')]
    for (const direction of both) this.#directions.add(direction)
  }
}

/** The bytes from one socket to another, in order, each piece when it is due. */
class Direction {
  readonly end: () => void
  readonly #link: TcpLink
  /** The state of the link in which bytes pass only in the other direction. */
  readonly #stops: LinkState
  readonly #to: Socket
  readonly #from: Socket
  readonly #waiting: { bytes: Buffer; dueAt: number }[] = []
  #held = 0
  #freeAt = 0
  #timer: NodeJS.Timeout | null = null

  constructor(link: TcpLink, from: Socket, to: Socket, end: () => void, stops: LinkState) {
    this.#link = link
    this.#stops = stops
    this.#from = from
    this.#to = to
    this.end = end
    from.on('data', (bytes: Buffer) => this.#receive(bytes))
    from.on('error', end).on('close', end)
    to.on('drain', () => this.#readOn())
  }

  /** Sends the bytes that are due, unless the link is silent in this direction. */
  proceed(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const { state } = this.#link
    if (state === 'cut' || state === 'silent' || state === this.#stops) return
    const now = performance.now()
    while (this.#waiting.length > 0 && this.#waiting[0]!.dueAt <= now) {
      const { bytes } = this.#waiting.shift()!
      this.#link.bytes += bytes.length
      this.#held -= bytes.length
      if (!this.#to.destroyed) this.#to.write(bytes)
    }
    this.#readOn()
    if (this.#waiting.length === 0) return
    this.#timer = setTimeout(() => this.proceed(), Math.max(1, this.#waiting[0]!.dueAt - now))
  }

  #receive(bytes: Buffer): void {
    const { delayMs, bytesPerSecond } = this.#link.pace
    const now = performance.now()
    this.#freeAt = Math.max(now, this.#freeAt) + (bytes.length / bytesPerSecond) * 1000
    this.#waiting.push({ bytes, dueAt: this.#freeAt + delayMs })
    this.#held += bytes.length
    if (this.#held > heldBytesMax) this.#from.pause()
    if (this.#timer === null) this.proceed()
  }

  #readOn(): void {
    if (this.#held <= heldBytesMax && !this.#to.writableNeedDrain) this.#from.resume()
    else this.#from.pause()
  }
}
