// The callers of simulated nodes who publish threads that expire, and who reply to them, claim them
// and read them at any node.
//
// M1. A place that shows a thread, and then denies it, never shows it again.
// M2. When a thread was once denied after it had been shown, or by the node that decides, nothing
//     is written to it any more, whoever leads.

import type { Request } from '../../simulate/asking.ts'
import type { Caller } from './checked-swarm.ts'
import type { SimulatedNode, World } from './simulated-node.ts'

const address = '10.0.0.5'
const threadsMax = 8
/** The shortest life that a thread can have. */
export const ttlSeconds = 60

interface Mortal {
  path: string
  /** The places that have shown it, and those that have denied it since. */
  readonly shown: Set<string>
  readonly denied: Set<string>
  isGone: boolean
}

export class SimulatedMortals {
  /** What contradicts M1 or M2. */
  readonly found: string[] = []
  readonly #world: World
  readonly #threads: Mortal[] = []
  #keys = 0

  constructor(world: World) {
    this.#world = world
  }

  /** Has the caller act at the node. */
  act(node: SimulatedNode, { token }: Caller): void {
    const thread = this.#threads[Math.floor(this.#world.random() * threadsMax)]
    const key = `mortal-${this.#keys++}`
    const content = `a message of ${key}`
    if (thread === undefined) {
      const body = { title: 'a mortal thread', content, tags: ['mortal'], ttl_seconds: ttlSeconds }
      return this.#publish(node, { method: 'post', path: '/api/threads', key, body, token })
    }
    const drawn = this.#world.random()
    const { path } = thread
    if (drawn < 0.5) return this.#ask(node, thread, { method: 'get', path, token })
    const [to, body] = drawn < 0.8 ? ['replies', { content }] : ['claim', { seconds: 300 }]
    this.#ask(node, thread, { method: 'post', path: `${path}/${to}`, key, body, token })
  }

  #publish(node: SimulatedNode, request: Omit<Request, 'address'>): void {
    node.ask({ ...request, address }, (status, text) => {
      if (status !== 201 || this.#threads.length === threadsMax) return
      const { thread_id: id } = JSON.parse(text) as { thread_id: string }
      const shown = new Set([node.name])
      this.#threads.push({ path: `/api/threads/${id}`, shown, denied: new Set(), isGone: false })
    })
  }

  #ask(node: SimulatedNode, thread: Mortal, request: Omit<Request, 'address'>): void {
    const { name } = node
    const { method, path } = request
    const isRead = method === 'get'
    const wasGone = isRead ? thread.denied.has(name) : thread.isGone
    node.ask({ ...request, address }, (status) => {
      this.#world.count(`mortal: ${method} ${status}`)
      if (status < 300) {
        thread.shown.add(name)
        if (wasGone) this.found.push(`${isRead ? 'M1' : 'M2'}: ${method} ${path} at ${name}`)
      } else if (status === 404 && (!isRead || thread.shown.has(name))) {
        thread.isGone = true
        thread.denied.add(name)
      }
    })
  }
}
