// --batch: requests that leave together, as one `POST /api/batch`.
//
//   request ──▶ waiting ── a connection is free, at the end of the iteration ──▶ POST /api/batch
//   request ◀────────────────────── its own answer ◀───────────────────────────────┘
//
// B1. No request waits for others: whatever has gathered when a connection is free leaves on it, up
//     to the size of a batch. So batches are full under load, and small at a rate that is easy.
// B2. An answer is that of the request, also if the whole batch is lost or refused: the client
//     retries each request as if it had been sent alone.
// B3. A read that no longer fitted into the answer of its batch is sent again at once, and so is a
//     write, whose key gives its answer. It is counted apart, because nothing was lost.

import { WrongAnswer } from './failures.ts'

/** The largest number of requests in a batch, and bytes of its body. */
export const batchMax = 1000
const bodyBytesMax = 4 << 20

/** `retryAfter` is in seconds, 0 if the answer has none. A body that is not JSON is `undefined`. */
export type HttpAnswer = { status: number; body: unknown; retryAfter: number }

/** The number of batches that were answered, of the requests in them, and of those of B3. */
export type BatchCounts = { batches: number; requests: number; full: number }

type Item = { method: string; path: string; token?: string; key?: string; body?: object }

type Waiting = {
  text: string
  bytes: number
  resolve: (answer: HttpAnswer) => void
  reject: (error: unknown) => void
}

export type BatchesOptions = {
  size: number
  /** The number of batches that may be in flight. */
  connections: number
  /** Sends the body of a batch. */
  post: (body: string) => Promise<HttpAnswer>
}

const [head, tail] = ['{"requests":[', ']}']

export class Batches {
  readonly counts: BatchCounts = { batches: 0, requests: 0, full: 0 }
  readonly #options: BatchesOptions
  #waiting: Waiting[] = []
  #inFlight = 0
  #isScheduled = false

  constructor(options: BatchesOptions) {
    this.#options = options
  }

  /** Resolves to the answer. Rejects with the error of the connection, or WrongAnswer. */
  async send(item: Item): Promise<HttpAnswer> {
    const text = JSON.stringify(item)
    const bytes = Buffer.byteLength(text) + 1
    for (;;) {
      const answer = await new Promise<HttpAnswer>((resolve, reject) => {
        this.#waiting.push({ text, bytes, resolve, reject })
        this.#schedule()
      })
      if (!isFull(answer)) return answer
      this.counts.full += 1
    }
  }

  // Requests that are made in the same iteration of the event loop leave together.
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#waiting.length > 0 && this.#inFlight < this.#options.connections) {
        void this.#leave(this.#take())
      }
    })
  }

  #take(): Waiting[] {
    const { size } = this.#options
    let [count, bytes] = [0, head.length + tail.length]
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes
      if (count === size || (count > 0 && bytes > bodyBytesMax)) break
      count += 1
    }
    return this.#waiting.splice(0, count)
  }

  async #leave(together: readonly Waiting[]): Promise<void> {
    this.#inFlight += 1
    try {
      const body = `${head}${together.map(({ text }) => text).join()}${tail}`
      const answer = await this.#options.post(body)
      const answers = answersOf(answer, together.length)
      if (answer.status === 200) {
        this.counts.batches += 1
        this.counts.requests += together.length
      }
      for (const [index, { resolve }] of together.entries()) resolve(answers[index])
    } catch (error) {
      for (const { reject } of together) reject(error)
    } finally {
      this.#inFlight -= 1
      this.#schedule()
    }
  }
}

function isFull({ status, body }: HttpAnswer): boolean {
  return status === 503 && (body as { error?: unknown } | undefined)?.error === 'batch_full'
}

/** Returns the answers of the requests: those in the batch, or that of the batch for each (B2). */
function answersOf(answer: HttpAnswer, count: number): HttpAnswer[] {
  const { status, body } = answer
  if (status === 503 || status === 429) return Array.from({ length: count }, () => answer)
  const wrong = (what: string) => new WrongAnswer(`POST /api/batch answered ${status} ${what}`)
  if (status !== 200) throw wrong('(due: 200)')
  const { responses } = (body ?? {}) as { responses?: unknown }
  if (!Array.isArray(responses) || responses.length !== count) {
    throw wrong(`without ${count} responses`)
  }
  return responses.map((response) => {
    const { status, body, retry_after: retryAfter = 0 } = response ?? {}
    if (Number.isInteger(status) && Number.isFinite(retryAfter)) return { status, body, retryAfter }
    throw wrong('with a response that has no status')
  })
}
