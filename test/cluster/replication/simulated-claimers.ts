// The callers of simulated nodes who claim threads, renew their claims, publish results under them
// and release them, at any node: at a leader, at a follower that forwards, and at a leader that has
// been replaced. One order must explain all that they were told (test/histories/claim-history.ts),
// whoever led meanwhile. Threads are not read: a follower may show an earlier claim.

import { errorOf } from '../../../src/clients/swarm/client.ts'
import type { Request } from '../../simulate/asking.ts'
import { SeenClaims } from '../../simulate/seen-claims.ts'
import type { Caller } from './checked-swarm.ts'
import type { Final } from './sightings.ts'
import type { SimulatedNode, World } from './simulated-node.ts'

const address = '10.0.0.3'
const openMax = 3
/** Of so many threads, so that callers compete. */
const threadsMax = 2
/** How long claims last: some expire soon, and some are held over a takeover. */
const secondsOfClaims = [1, 5, 60]
/** Refusals that the history of claims explains. */
const explained = ['claimed', 'claim_lost', 'not_holder']

interface Granted {
  by: Caller
  thread: string
  fence: number
  /** The number of takeovers before. */
  takeovers: number
}

export class SimulatedClaimers {
  readonly seen = new SeenClaims()
  /** Refusals that nothing explains. */
  readonly found: string[] = []
  readonly #world: World
  /** Requests with a key that have no answer yet. */
  readonly #open = new Set<Request>()
  readonly #granted: Granted[] = []
  #keys = 0

  constructor(world: World) {
    this.#world = world
  }

  /** Has one of the callers act at the node. */
  act(node: SimulatedNode, callers: readonly Caller[], threads: readonly string[]): void {
    const drawn = this.#world.random()
    if (drawn < 0.3 || this.#open.size >= openMax) {
      if (this.#open.size > 0) return this.tryAgain(node)
    }
    if (drawn < 0.6 || this.#granted.length === 0) return this.#claim(node, callers, threads)
    const { by, thread, fence } = this.#some(this.#granted)
    if (drawn < 0.7) {
      const seconds = this.#some(secondsOfClaims)
      return this.#send(node, this.#request(by, `${thread}/claim`, { seconds, fence }))
    }
    // The other caller is the watcher, who must follow no further thread.
    if (drawn < 0.9 && by.id === callers[0]!.id) {
      const content = `result ${this.#keys} under ${fence}`
      return this.#send(node, this.#request(by, `${thread}/replies`, { content, fence }))
    }
    this.#send(node, { method: 'delete', path: `${thread}/claim`, token: by.token, address })
  }

  /** Repeats a request whose outcome is unknown. */
  tryAgain(node: SimulatedNode): void {
    if (this.#open.size > 0) this.#send(node, this.#some([...this.#open]))
  }

  /** Has one of the callers claim a thread. */
  #claim(node: SimulatedNode, callers: readonly Caller[], threads: readonly string[]): void {
    const [by, thread] = [this.#some(callers), this.#some(threads.slice(0, threadsMax))]
    const body = { seconds: this.#some(secondsOfClaims) }
    this.#send(node, this.#request(by, `${thread}/claim`, body))
  }

  /** Whether a result that was sent has no answer yet. */
  get hasOpenResults(): boolean {
    return [...this.#open].some(({ path }) => path.endsWith('/replies'))
  }

  /** Returns all that contradicts one order of the claims; the lists are those in the end. */
  differences(lists: Final): string[] {
    const { history } = this.seen
    for (const { json } of [...lists.values()].flat()) {
      const { content, created_at } = JSON.parse(json) as { content: string; created_at: number }
      history.published(content, created_at)
    }
    return [...this.found, ...history.contradictions()]
  }

  #request({ token }: Caller, path: string, body: object): Request {
    const key = `claimer-${this.#keys++}`
    const request: Request = { method: 'post', path, token, key, body, address }
    this.#open.add(request)
    return request
  }

  #send(node: SimulatedNode, request: Request): void {
    const { trace, count, engine } = this.#world
    const { method, path, token = '' } = request
    trace(() => `${method} ${path} ${JSON.stringify(request.body)} to ${node.name}`)
    const report = this.seen.sent(request)
    node.ask(request, (status, text) => {
      trace(() => `  ${method} ${path} at ${node.name}: ${status} ${text}`)
      report(status, text)
      const body = JSON.parse(text) as { error?: string; holder_id: string; fence?: number }
      if (status >= 500) return
      this.#open.delete(request)
      const { error = `${status}` } = body
      count(`claim: ${error}`)
      if (status >= 400 && !explained.includes(error)) {
        this.found.push(`${method} ${path} at ${node.name}: ${status} ${errorOf(body)}`)
      }
      const takeovers = engine.outcomes.get('log: took_over') ?? 0
      const thread = path.slice(0, path.lastIndexOf('/'))
      const held = this.#granted.findLast((granted) => granted.thread === thread)
      const isHeld = error === 'claimed' && held?.by.id === body.holder_id
      if (isHeld && held.takeovers < takeovers) count('claim: held over a takeover')
      const { fence, holder_id: id } = body
      if (fence !== undefined) this.#granted.push({ by: { id, token }, thread, fence, takeovers })
    })
  }

  #some<T>(all: readonly T[]): T {
    return all[Math.floor(this.#world.random() * all.length)]!
  }
}
