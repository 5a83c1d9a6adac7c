// Agents that wait for news of their feeds, for bench/crowds.ts: each with a connection of its own,
// or a thousand in a batch that waits.
//
// C1. An agent polls again as soon as it is answered, after the last message that it has seen.
// C2. A connection that is lost is opened again, with a growing pause while the node is away.

import { setMaxListeners } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { batchMax } from './caller.ts'

const waitSeconds = 50
const answerTimeoutMs = 70_000
const [pauseMsFirst, pauseMsMax] = [20, 500]
/** A local address has about 28,000 ports, of which many may be in use. */
const connectionsPerAddress = 20_000

/** `after` is the position of the last message that it has seen. */
export interface Waiter {
  token: string
  after: number
}

/** Called with each answer that has news, at a time of performance.now(). */
export type OnNews = (waiter: Waiter, now: number) => void

export interface Crowd {
  stop(): Promise<void>
}

interface Page {
  notifications: unknown[]
  next_after: number
}

function take(waiter: Waiter, page: Page, onNews: OnNews): void {
  if (page.notifications.length === 0) return
  waiter.after = page.next_after
  onNews(waiter, performance.now())
}

export function waitInBatches(url: string, waiters: readonly Waiter[], onNews: OnNews): Crowd {
  const batches = Array.from({ length: Math.ceil(waiters.length / batchMax) }, (_, n) =>
    waiters.slice(n * batchMax, (n + 1) * batchMax),
  )
  const timeouts = { headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs }
  const pool = new Pool(url, { connections: Math.max(1, batches.length), ...timeouts })
  const ending = new AbortController()
  setMaxListeners(0, ending.signal) // each batch adds one
  const poll = async (batch: readonly Waiter[]) => {
    const requests = batch.map(({ token, after }) => {
      return { method: 'GET', path: `/api/notifications?after=${after}`, token }
    })
    const answer = await pool.request({
      method: 'POST',
      path: '/api/batch',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wait: waitSeconds, requests }),
      signal: ending.signal,
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`)
    const { responses } = JSON.parse(text) as { responses: { status: number; body: Page }[] }
    for (const [n, { status, body }] of responses.entries()) {
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
      take(batch[n], body, onNews)
    }
  }
  const all = batches.map(async (batch) => {
    try {
      while (!ending.signal.aborted) await poll(batch)
    } catch (error) {
      if (!ending.signal.aborted) throw error
    }
  })
  return {
    async stop() {
      ending.abort()
      await Promise.all(all)
      await pool.destroy()
    },
  }
}

/** How a connection ended, and what it was answered. */
type Poll = { status: number; body: string } | 'lost'

export function waitAlone(url: string, waiters: readonly Waiter[], onNews: OnNews): Crowd {
  const connections = waiters.map((waiter, n) => new Connection(url, n, waiter))
  const all = connections.map(async (connection) => {
    while (!connection.isClosed) {
      const answer = await connection.poll(waitSeconds)
      if (answer !== null) take(connection.waiter, answer, onNews)
    }
  })
  return {
    async stop() {
      for (const connection of connections) connection.close()
      await Promise.all(all)
    },
  }
}

/** One agent's connection (C2). It is HTTP over a socket, because a client holds much more. */
export class Connection {
  readonly waiter: Waiter
  isClosed = false
  readonly #url: URL
  readonly #localAddress: string
  #socket: Socket | null = null
  #received = ''
  #onAnswer: (answer: Poll) => void = () => {}

  constructor(url: string, number: number, waiter: Waiter) {
    this.#url = new URL(url)
    this.#localAddress = `127.0.0.${2 + Math.floor(number / connectionsPerAddress)}`
    this.waiter = waiter
  }

  /** Polls until answered with 200. Resolves to null if it is closed before. */
  async poll(seconds: number): Promise<Page | null> {
    for (let tries = 0; !this.isClosed; tries++) {
      const answer = await this.#send(seconds)
      if (answer !== 'lost' && answer.status === 200) return JSON.parse(answer.body)
      if (this.isClosed) return null
      const status = answer === 'lost' ? 503 : answer.status
      if (status !== 503 && status !== 429) throw new Error(`${status}`)
      const pauseMs = Math.min(pauseMsMax, pauseMsFirst * 2 ** tries)
      await sleep(pauseMs * (0.5 + Math.random() / 2))
    }
    return null
  }

  close(): void {
    this.isClosed = true
    this.#socket?.destroy()
  }

  #send(seconds: number): Promise<Poll> {
    return new Promise((resolve) => {
      this.#onAnswer = resolve
      this.#socket ??= this.#open()
      const { token, after } = this.waiter
      this.#socket.write(
        `GET /api/notifications?after=${after}&wait=${seconds} HTTP/1.1\r\n` +
          `Host: ${this.#url.host}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      )
    })
  }

  #open(): Socket {
    const { hostname: host, port } = this.#url
    const socket = connect({ host, port: Number(port), localAddress: this.#localAddress })
    this.#received = ''
    socket.setNoDelay(true).setEncoding('utf8')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('error', () => {}) // 'close' follows
    socket.on('close', () => {
      this.#socket = null
      this.#onAnswer('lost')
    })
    return socket
  }

  #read(text: string): void {
    this.#received += text
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = this.#received.slice(0, end)
    const bytes = Number(/content-length: *(\d+)/i.exec(head)?.[1])
    const body = this.#received.slice(end + 4)
    if (Buffer.byteLength(body) < bytes) return
    this.#received = ''
    this.#onAnswer({ status: Number(head.slice(9, 12)), body })
  }
}
