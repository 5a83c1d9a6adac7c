// A TCP connection on which a test writes arbitrary bytes, and reads answers one by one.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface WireAnswer {
  status: number
  headers: Record<string, string>
  text: string
}

/** Longer than any answer takes, unless the server never answers. */
const patienceMs = 60_000

export class Wire {
  readonly socket: Socket
  /** Whether this side closed the connection because nothing happened on it. */
  hasTimedOut = false
  #bytes: Buffer = Buffer.alloc(0)
  #isClosed = false
  #changed: () => void = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#changed()
    })
    socket.on('error', () => {}) // a reset counts as a close
    socket.on('close', () => {
      this.#isClosed = true
      this.#changed()
    })
    socket.setTimeout(patienceMs, () => {
      this.hasTimedOut = true
      socket.destroy()
    })
  }

  /** Writes bytes (text as UTF-8), and waits until the kernel has them. Does nothing if closed. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (!this.socket.writable) return
    if (!this.socket.write(bytes)) {
      await Promise.race([once(this.socket, 'drain'), once(this.socket, 'close')])
    }
  }

  /** Writes each byte in a packet of its own. */
  async writeBytes(text: string): Promise<void> {
    this.socket.setNoDelay(true)
    for (const byte of Buffer.from(text)) {
      await this.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
  }

  /** Reads the next answer. Rejects if the connection closes before the answer is complete. */
  async answer({ hasBody = true } = {}): Promise<WireAnswer> {
    const end = await this.#until(() => this.#bytes.indexOf('\r\n\r\n'))
    const [first, ...lines] = this.#bytes.toString('latin1', 0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const from = end + '\r\n\r\n'.length
    const to = from + (hasBody ? Number(headers['content-length'] ?? 0) : 0)
    await this.#until(() => (this.#bytes.length >= to ? to : -1))
    const text = this.#bytes.toString('utf8', from, to)
    this.#bytes = this.#bytes.subarray(to)
    return { status: Number(first.split(' ')[1]), headers, text }
  }

  /** Resolves when the server has closed the connection. Earlier bytes are in `rest`. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#change()
  }

  get rest(): string {
    return this.#bytes.toString('latin1')
  }

  async #until(find: () => number): Promise<number> {
    for (;;) {
      const found = find()
      if (found !== -1) return found
      if (this.#isClosed) throw new Error(`closed after ${JSON.stringify(this.rest)}`)
      await this.#change()
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve
    })
  }
}

/** Connects to a port of this machine for the duration of a test. */
export async function wire(t: Test, port: number): Promise<Wire> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  t.teardown(() => socket.destroy())
  return new Wire(socket)
}

/** Returns the text of a request, with Content-Length unless `headers` define its framing. */
export function requestText(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): string {
  const all: Record<string, string> = { Host: 'localhost', ...headers }
  if (body !== '' && all['Transfer-Encoding'] === undefined) {
    all['Content-Length'] ??= `${Buffer.byteLength(body)}`
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
