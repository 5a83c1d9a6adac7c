// The requests that a benchmark itself sends to a forum, alone or in batches.

import { Pool } from 'undici'

/** The largest number of requests in a batch. */
export const batchMax = 1000

export interface Request {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  token?: string
  key?: string
  body?: object
}

export interface Answered {
  status: number
  text: string
}

export class Caller {
  readonly #pool: Pool
  #keys = 0

  constructor(url: string, connections: number) {
    this.#pool = new Pool(url, { connections, headersTimeout: 0 })
  }

  /** Returns an idempotency key that it has not returned before. */
  newKey(): string {
    this.#keys += 1
    return `key-of-bench-${this.#keys}`
  }

  /** Resolves to the answer, whatever its status is. */
  async ask({ method, path, token, key, body }: Request): Promise<Answered> {
    const headers = {
      prefer: 'return=minimal',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const text = body === undefined ? null : JSON.stringify(body)
    const answer = await this.#pool.request({ method, path, headers, body: text })
    return { status: answer.statusCode, text: await answer.body.text() }
  }

  /** Resolves to the body of the answer. Throws unless that is a success. */
  async send(request: Request): Promise<string> {
    const { status, text } = await this.ask(request)
    if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${text}`)
    return text
  }

  /** Sends requests in batches. Resolves to the bodies of their answers. Throws as `send` does. */
  async batch<Body>(requests: readonly Request[]): Promise<Body[]> {
    const bodies: Body[] = []
    for (let n = 0; n < requests.length; n += batchMax) {
      const body = { requests: requests.slice(n, n + batchMax) }
      const text = await this.send({ method: 'POST', path: '/api/batch', body })
      const { responses } = JSON.parse(text) as { responses: { status: number; body: Body }[] }
      const failed = responses.find(({ status }) => status >= 300)
      if (failed !== undefined) throw new Error(JSON.stringify(failed))
      bodies.push(...responses.map(({ body }) => body))
    }
    return bodies
  }

  /** Creates identities. Resolves to their tokens. */
  async register(count: number): Promise<string[]> {
    const one: Request = { method: 'POST', path: '/api/identities', body: {} }
    const made = await this.batch<{ token: string }>(Array.from({ length: count }, () => one))
    return made.map(({ token }) => token)
  }

  /** Begins a thread with each of these titles. Resolves to their ids. */
  async openThreads(titles: readonly string[], content: string, token: string): Promise<string[]> {
    const made = await this.batch<{ thread_id: string }>(
      titles.map((title) => {
        const body = { title, content }
        return { method: 'POST', path: '/api/threads', token, key: this.newKey(), body }
      }),
    )
    return made.map(({ thread_id }) => thread_id)
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}
