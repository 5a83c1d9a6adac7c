// The callers of simulated nodes: writers that repeat a write at any node, sometimes at both at
// once, until it is answered, claimers (simulated-claimers.ts), people (simulated-people.ts), those
// whose threads expire (simulated-mortals.ts), and readers of threads and feeds at every node. All
// answers and pages are reported to sightings.ts; an answer may come much later, or never.

import type { Request } from '../../simulate/asking.ts'
import type { Caller, Write } from './checked-swarm.ts'
import { itemsOf } from './listed.ts'
import { type Final, type Shown, Sightings } from './sightings.ts'
import { SimulatedClaimers } from './simulated-claimers.ts'
import { SimulatedMortals } from './simulated-mortals.ts'
import type { SimulatedNode, World } from './simulated-node.ts'
import { SimulatedPeople } from './simulated-people.ts'

const address = '10.0.0.1'
const openMax = 4
const threadsMax = 12

export class SimulatedCallers {
  readonly seen = new Sightings()
  readonly claimers: SimulatedClaimers
  readonly people: SimulatedPeople
  readonly mortals: SimulatedMortals
  readonly #world: World
  readonly #nodes: readonly SimulatedNode[]
  readonly #callers: Caller[] = []
  /** The paths of acknowledged threads; a watcher follows the first one. */
  readonly #threads: string[] = []
  /** Writes without an answer yet. */
  readonly #open = new Set<Write>()
  #writes = 0

  /** `mayEnd`: whether the epoch may change, which ends the sessions of people. */
  constructor(world: World, nodes: readonly SimulatedNode[], mayEnd: () => boolean) {
    this.#world = world
    this.#nodes = nodes
    this.claimers = new SimulatedClaimers(world)
    this.people = new SimulatedPeople(world, mayEnd)
    this.mortals = new SimulatedMortals(world)
  }

  /** Whether a write has no answer yet. */
  get areOpen(): boolean {
    return this.#open.size > 0 || this.claimers.hasOpenResults || this.people.hasOpenReplies
  }

  /** Whether there are identities, and a thread that the watcher follows. */
  get arePrepared(): boolean {
    return this.#threads.length > 0
  }

  /** Has some caller act at this node, or at any node. */
  act(at?: SimulatedNode): void {
    const alive = this.#nodes.filter(({ isAlive }) => isAlive)
    const node = at ?? alive[this.#below(alive.length)]
    if (node === undefined) return
    if (!this.arePrepared) this.#prepare(node)
    else if (this.#mayRegister && this.#world.random() < 0.2) this.prepareWebhook(node)
    else if (this.#world.random() < 0.1) this.#post(node)
    else if (this.#world.random() < 0.15) this.useMortals(node)
    else if (this.#world.random() < 0.3) {
      this.claimers.act(node, this.#callers, this.#threads)
    } else if (this.#world.random() < 0.2) {
      this.people.act(node, this.#callers[0]!, this.#threads)
    } else if (this.#world.random() < 0.6) this.#write(node)
    else this.#read(node)
  }

  /** Uses a thread that expires at this node, or at any node. */
  useMortals(at = this.#nodes[this.#below(this.#nodes.length)]!): void {
    this.mortals.act(at, this.#callers[0]!)
  }

  /** Takes one more step towards the watcher's webhook. */
  prepareWebhook(node: SimulatedNode): void {
    this.#world.receiver.prepare(node, this.#callers[1]!.token)
  }

  /** Calls `done` with whether all wakeups were delivered, if the node answers. */
  whetherAllDelivered(node: SimulatedNode, done: (all: boolean) => void): void {
    this.#world.receiver.whetherAllDelivered(node, this.#callers[1]!.token, done)
  }

  /** Repeats writes whose outcome is unknown. */
  tryAgain(node: SimulatedNode): void {
    const open = [...this.#open]
    const write = open[this.#below(open.length)]
    if (write !== undefined) this.#send(node, write)
    this.claimers.tryAgain(node)
    if (this.people.hasOpenReplies) this.people.tryAgain(node, this.#callers[0]!)
  }

  /** The threads that have been acknowledged by now, and the watcher's feed. */
  get lists(): readonly string[] {
    return [...this.#threads, this.#feed]
  }

  /** Reads these lists at a node, and calls `done` with them unless a request is refused. */
  readAll(node: SimulatedNode, lists: readonly string[], done: (final: Final) => void): void {
    const final = new Map<string, Shown[]>()
    for (const list of lists)
      this.#readOn(node, list, [], final, () => {
        if (final.size === lists.length) done(final)
      })
  }

  #readOn(
    node: SimulatedNode,
    list: string,
    found: Shown[],
    final: Map<string, Shown[]>,
    done: () => void,
  ): void {
    this.#page(node, list, found.at(-1)?.seq ?? 0, ({ items, hasMore }) => {
      found.push(...items)
      if (hasMore) return this.#readOn(node, list, found, final, done)
      final.set(list, found)
      done()
    })
  }

  /** Takes one more step towards two identities and a thread that one of them follows. */
  #prepare(node: SimulatedNode): void {
    const [, watcher] = this.#callers
    if (watcher === undefined) {
      const request: Request = { method: 'post', path: '/api/identities', body: {}, address }
      const report = this.claimers.seen.sent(request)
      node.ask(request, (status, body) => {
        report(status, body)
        if (status === 201 && this.#callers.length < 2) this.#callers.push(JSON.parse(body))
      })
      return
    }
    this.#thread(node, 'the-first-thread', (thread) => {
      const path = `${thread}/subscribe`
      node.ask({ method: 'post', path, token: watcher.token, address }, (subscribed) => {
        if (subscribed === 200 && !this.arePrepared) this.#threads.push(thread)
      })
    })
  }

  /** Publishes one more thread, which every deciding node must know from then on. */
  #post(node: SimulatedNode): void {
    if (this.#threads.length >= threadsMax) return
    this.#thread(node, `thread-number-${this.#threads.length}`, (thread) => {
      if (!this.#threads.includes(thread)) this.#threads.push(thread)
    })
  }

  #thread(node: SimulatedNode, key: string, done: (path: string) => void): void {
    const body = { title: 'a thread', content: `the beginning of ${key}` }
    const { token } = this.#callers[0]!
    const request: Request = { method: 'post', path: '/api/threads', token, key, body, address }
    node.ask(request, (status, text) => {
      if (status >= 300) return this.#refused(node, 'a thread', status, text)
      const { thread_id } = JSON.parse(text) as { thread_id: string }
      done(`/api/threads/${thread_id}`)
    })
  }

  #write(node: SimulatedNode): void {
    if (this.#open.size >= openMax) return this.tryAgain(node)
    const key = `simulated-${this.#writes++}`
    const content = `${key} ${'é😀 '.repeat(this.#below(40))}`
    const list = this.#someThread
    const write = { by: this.#callers[0]!, key, list, content, behind: this.seen.newest }
    this.#open.add(write)
    this.#send(node, write)
  }

  #send(node: SimulatedNode, write: Write): void {
    const { by, key, list, content, behind } = write
    const path = `${list}/replies`
    const { trace, count } = this.#world
    trace(() => `${key} to ${node.name}`)
    const request: Request = {
      method: 'post',
      path,
      token: by.token,
      key,
      body: { content },
      address,
    }
    node.ask(request, (status, text) => {
      trace(() => `  ${key} at ${node.name}: ${status}`)
      count(`write: ${status}`)
      if (status >= 300) return this.#refused(node, key, status, text)
      const { message_id: id } = JSON.parse(text) as { message_id: string }
      this.seen.acknowledge({ key, place: node.name, list, id, content, behind })
      this.#open.delete(write)
    })
  }

  #read(node: SimulatedNode): void {
    const list = this.#world.random() < 0.3 ? this.#feed : this.#someThread
    const before = this.seen.expectation(node.name, list)
    const after = Math.max(0, before.atLeast - this.#below(20))
    this.#page(node, list, after, (page) => {
      this.seen.see({ place: node.name, list, after, ...page, ...before })
    })
  }

  #page(
    node: SimulatedNode,
    list: string,
    after: number,
    done: (page: { items: Shown[]; hasMore: boolean }) => void,
  ): void {
    const [path] = list.split(' ') as [string]
    const query = `limit=${1 + this.#below(30)}&after=${after}`
    const token = list === this.#feed ? this.#callers[1]!.token : undefined
    const isEarly = this.seen.expectation(node.name, list).atLeast === 0
    node.ask({ method: 'get', path, query, token, address }, (status, text) => {
      this.#world.count(`read: ${status}`)
      if (status === 200) return done(itemsOf(text))
      // A follower that had never shown the list may have neither the thread nor the token yet.
      const isUnknown = status === 404 || status === 401
      if (isUnknown && isEarly && !node.leads) this.#world.count('read: early')
      else this.#refused(node, list, status, text)
    })
  }

  /** Everything that is requested exists: a deciding node may only refuse it for now. */
  #refused(node: SimulatedNode, what: string, status: number, text: string): void {
    if (status !== 503) this.seen.found.push(`${what} at ${node.name}: ${status} ${text}`)
    else if (node.leads && text.includes('no_leader')) this.#world.count('refused by a leader')
  }

  get #mayRegister(): boolean {
    return !this.#world.receiver.isActive
  }

  get #someThread(): string {
    return this.#threads[this.#below(this.#threads.length)]!
  }

  get #feed(): string {
    return `/api/notifications of ${this.#callers[1]!.id}`
  }

  #below(count: number): number {
    return Math.floor(this.#world.random() * count)
  }
}
