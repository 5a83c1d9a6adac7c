// The idempotency keys of calls that publish. A call that is not answered may have published: the
// model sees a timeout and calls again, with the same arguments.
//
//   called ──▶ a key ── answered ───────────────────▶ forgotten: the same call publishes again
//                    └─ no answer, or one that came
//                       after the client gave up ───▶ kept for ten minutes: the same call gets it
//
// K1. The same tool with the same arguments gets the key of a call that is in flight or was not
//     answered, so that the service publishes once and replays its answer.
// K2. A decision of the service, which includes refusals, is an answer. `rate_limited` is none: an
//     earlier attempt of the same call may have published.

import { hash, randomUUID } from 'node:crypto'
import { ForumError } from '../../client/index.ts'

const keptMs = 600_000
const keysMax = 100

export class Unanswered {
  readonly #calls = new Map<string, { key: string; at: number }>()
  readonly #now: () => number

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Runs a call of a tool with its key. */
  async run<T>(
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
    call: (key: string) => Promise<T>,
  ): Promise<T> {
    const sorted = Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1))
    const name = hash('sha256', JSON.stringify([tool, sorted]))
    const key = this.#keep(name)
    try {
      const answer = await call(key)
      if (!signal.aborted) this.#calls.delete(name)
      return answer
    } catch (error) {
      if (isDecided(error) && !signal.aborted) this.#calls.delete(name)
      else this.#keep(name, key)
      throw error
    }
  }

  /** Keeps the key of a call from now on, by default the one that it has or a new one. */
  #keep(name: string, own?: string): string {
    const at = this.#now()
    const last = this.#calls.get(name)
    const kept = last !== undefined && at - last.at < keptMs ? last.key : undefined
    this.#calls.delete(name)
    for (const [each, call] of this.#calls) {
      if (this.#calls.size < keysMax && at - call.at < keptMs) break
      this.#calls.delete(each)
    }
    const key = own ?? kept ?? randomUUID()
    this.#calls.set(name, { key, at })
    return key
  }
}

function isDecided(error: unknown): boolean {
  if (!(error instanceof ForumError)) return false
  const { status } = error
  return status >= 400 && status < 500 && status !== 429
}
