// Requests that wait for news: polls whose page is empty, and whose callers gave them time to wait.
// A request waits for a topic (kernel/topics.ts): a thread, or a feed with its threads and tags.
//
//             ┌── news, and it is durable ──┐
//   hold ──▶ waits ── its time is over ─────┼──▶ resume ──▶ the request is run again from the
//              ├──── the node stops ────────┘               start: answered, or held again
//              └──── its caller hangs up ──▶ forgotten
//
// W1. Waiting requests are not state: they are in no record and in no checkpoint, and a restart
//     drops them.
// W2. No news is missed. A record that a held request has not seen is applied later, so that
//     `state.onNews` reports it. The request is resumed once the record is durable, because its
//     answer could not leave earlier.
// W3. A wake-up may be spurious: because of the caller's own message, or of a thread that it has
//     left. When the request is run again, it is answered or held again.
// W4. Only a few requests are resumed in each event-loop iteration (edge/http/tick.ts), and topics
//     take turns, so that a thread for which ten thousand wait delays neither other requests nor
//     the news of another thread.
// W5. At most `max` requests wait, of which at most `connectionsMax` hold a connection each; those
//     of a batch share one. They have at most `entriesPerRequest * max` entries for followed
//     threads and tags. A caller that follows very many threads is looked up for each message
//     instead; at most `wideMax` of these wait. Of each of the four limits a caller has a share
//     (base/shares.ts), beyond which its requests do not wait.
// W6. An authenticated waiter also wakes when its identity changes, as when it is blocked. That is
//     news of the topic of its feed.

import { Heap, type HeapEntry } from '../../base/heap.ts'
import { Queue } from '../../base/queue.ts'
import { type Holder, Shares } from '../../base/shares.ts'
import { Uint32Column } from '../../kernel/columns/column.ts'
import { nobody } from '../../kernel/network.ts'
import { feedOf, feedTopic, tagOf, tagTopic, threadOf, threadTopic } from '../../kernel/topics.ts'
import type { State } from '../state.ts'

/** A caller that follows more threads has no entries for them. */
const followedMax = 1024
/** The limit of such callers that wait: each message looks all of them up, in 0.1 µs each. */
const wideMax = 64
const entriesPerRequest = 64
/** A buffer for the threads that a caller follows. */
const followed = new Uint32Array(followedMax)

type Resumed = 'news' | 'time' | 'shutdown'
type WaitRejection = 'full' | 'shutdown'
/** How a wait ended; `full`: it did not begin. */
export type Ended = Resumed | WaitRejection | 'gone'

/** A request that waits. Its key is its deadline, by `Waiting.now`. */
export interface Waiter extends HeapEntry {
  /** The identity that waits, or `nobody`. */
  readonly caller: number
  /** The holder of the share that its place belongs to. */
  readonly holder: Holder
  /** Whether a connection is occupied until it is answered. */
  readonly holdsConnection: boolean
  /** Runs the request again. */
  resume(why: Resumed): void
  /** Its number while it waits, or -1. `Waiting` writes this field and those that follow. */
  number: number
  /** One of its entries in the rings. */
  entry: number
  /** The number of its entries for threads and tags that it follows. */
  followed: number
  /** It has seen everything up to this position. */
  seen: number
}

/** How many requests may wait, and how many of them over connections of their own. */
export interface WaitingLimits {
  max: number
  connectionsMax: number
}

const unlimited: WaitingLimits = {
  max: Number.POSITIVE_INFINITY,
  connectionsMax: Number.POSITIVE_INFINITY,
}

export class Waiting {
  /** The number of waits that have ended, by outcome. */
  readonly ended: Record<Ended, number> = { news: 0, time: 0, shutdown: 0, gone: 0, full: 0 }
  readonly max: number
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Called when there are requests to resume; `resume` must be called soon. */
  onReady: () => void = () => {}
  readonly #state: State
  readonly #rings = new TopicRings()
  readonly #waiters: (Waiter | null)[] = []
  /** Free indexes of `#waiters`. */
  readonly #unused: number[] = []
  readonly #byTime = new Heap<Waiter>()
  /** The waiters without entries for threads, and the identity of each. */
  readonly #wide = new Map<Waiter, number>()
  readonly #places: Shares
  readonly #connections: Shares
  readonly #widePlaces = new Shares(wideMax)
  readonly #entries: Shares
  /** News that is not durable yet. */
  readonly #news = new Queue<{ topic: number; position: number }>()
  /** Topics with durable news, and the position of the newest. */
  readonly #ready = new Map<number, number>()
  #timerAt = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | null = null
  #whenEmpty: (() => void) | null = null

  /** Requests that wait are resumed by news of this state, which `note` reports. */
  constructor(state: State, now: () => number, { max, connectionsMax } = unlimited) {
    this.#state = state
    this.max = max
    this.now = now
    this.#places = new Shares(max)
    this.#connections = new Shares(connectionsMax)
    this.#entries = new Shares(Math.max(max * entriesPerRequest, followedMax))
  }

  get length(): number {
    return this.#byTime.size
  }

  /** Holds a request, or returns why it must be answered now. */
  hold(waiter: Waiter, topic: number): WaitRejection | null {
    if (this.#isStopping) return 'shutdown'
    if (!this.#hasRoom(waiter, topic)) return 'full'
    this.#places.take(waiter.holder)
    if (waiter.holdsConnection) this.#connections.take(waiter.holder)
    waiter.followed = 0
    waiter.seen = this.#state.position
    waiter.number = this.#unused.pop() ?? this.#waiters.length
    this.#waiters[waiter.number] = waiter
    waiter.entry = this.#rings.add(topic, waiter.number, 0)
    if (threadOf(topic) === -1) this.#addFollowed(waiter, feedOf(topic))
    else if (waiter.caller !== nobody) {
      waiter.entry = this.#rings.add(feedTopic(waiter.caller), waiter.number, waiter.entry)
    }
    this.#byTime.add(waiter)
    this.#plan()
    return null
  }

  /** Forgets a request whose caller has hung up. */
  forget(waiter: Waiter): void {
    if (waiter.number === -1) return
    this.#remove(waiter)
    this.ended.gone += 1
    if (this.length === 0) this.#whenEmpty?.()
  }

  /** Resumes a request, if it still waits, as if its time were over. */
  release(waiter: Waiter): void {
    if (waiter.number !== -1) this.#resume(waiter, 'time')
  }

  /** Notes that the log is durable up to this position. */
  onDurable(durable: number): void {
    const news = this.#news
    if (news.length === 0 || news.first.position > durable) return
    while (news.length > 0 && news.first.position <= durable) {
      const { topic, position } = news.shift()
      this.#ready.set(topic, position)
    }
    this.onReady()
  }

  /** Resumes at most `count` requests; returns whether there are more. */
  resume(count: number): boolean {
    for (let i = 0; i < count; i++) if (!this.#resumeNext()) break
    this.#plan()
    return this.#ready.size > 0 || this.#isDue
  }

  /** Resumes all requests, and holds no more of them. Resolves when none waits. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenEmpty = resolve
      if (this.length === 0) resolve()
      else this.onReady()
    })
  }

  get #isStopping(): boolean {
    return this.#whenEmpty !== null
  }

  get #isDue(): boolean {
    if (this.length === 0) return false
    return this.#isStopping || this.#byTime.first.key <= this.now()
  }

  #resumeNext(): boolean {
    if (this.#isDue) {
      this.#resume(this.#byTime.first, this.#isStopping ? 'shutdown' : 'time')
      return true
    }
    for (const [topic, position] of this.#ready) {
      this.#ready.delete(topic)
      const waiter = this.#waiters[this.#rings.first(topic)] ?? null
      if (waiter === null || waiter.seen >= position) continue // E1
      this.#ready.set(topic, position) // behind the other topics
      this.#resume(waiter, 'news')
      return true
    }
    return false
  }

  #resume(waiter: Waiter, why: Resumed): void {
    this.#remove(waiter)
    waiter.resume(why)
    if (this.length === 0) this.#whenEmpty?.()
  }

  #remove(waiter: Waiter): void {
    this.#byTime.delete(waiter)
    this.#rings.remove(waiter.entry)
    if (this.#wide.delete(waiter)) this.#widePlaces.giveBack(waiter.holder)
    this.#places.giveBack(waiter.holder)
    if (waiter.holdsConnection) this.#connections.giveBack(waiter.holder)
    this.#entries.giveBack(waiter.holder, waiter.followed)
    this.#waiters[waiter.number] = null
    this.#unused.push(waiter.number)
    waiter.number = -1
  }

  #hasRoom({ holder, holdsConnection }: Waiter, topic: number): boolean {
    if (!this.#places.mayTake(holder)) return false
    if (holdsConnection && !this.#connections.mayTake(holder)) return false
    if (threadOf(topic) !== -1) return true
    const { feeds } = this.#state
    const identity = feedOf(topic)
    const count = feeds.followed(identity)
    if (count > followedMax) return this.#widePlaces.mayTake(holder)
    return this.#entries.mayTake(holder, count + feeds.tagsOf(identity).length)
  }

  #addFollowed(waiter: Waiter, identity: number): void {
    const { feeds } = this.#state
    const count = feeds.followed(identity)
    if (count > followedMax) {
      this.#wide.set(waiter, identity)
      this.#widePlaces.take(waiter.holder)
      return
    }
    feeds.copyThreads(identity, 0, count, followed)
    for (let i = 0; i < count; i++) {
      const topic = threadTopic(followed[i])
      waiter.entry = this.#rings.add(topic, waiter.number, waiter.entry)
    }
    const tags = feeds.tagsOf(identity)
    for (const { tag } of tags) {
      waiter.entry = this.#rings.add(tagTopic(tag), waiter.number, waiter.entry)
    }
    waiter.followed = count + tags.length
    this.#entries.take(waiter.holder, waiter.followed)
  }

  /** Notes news of the topic, which the record that is being applied contains. */
  note(topic: number): void {
    const { position, subscriptions, feeds } = this.#state
    if (this.#rings.first(topic) !== -1) this.#news.push({ topic, position })
    if (this.#wide.size === 0) return
    const [thread, tag] = [threadOf(topic), tagOf(topic)]
    if (thread === -1 && tag === -1) return
    for (const identity of this.#wide.values()) {
      const isFollowed =
        tag === -1 ? subscriptions.isSubscribed(identity, thread) : feeds.followsTag(identity, tag)
      if (!isFollowed) continue
      this.#news.push({ topic: feedTopic(identity), position })
    }
  }

  /** Sets the single timer to the earliest deadline. */
  #plan(): void {
    if (this.length === 0) return
    const at = this.#byTime.first.key
    if (at >= this.#timerAt) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => this.#onTimer(), Math.ceil(at - this.now()))
    this.#timer.unref()
  }

  #onTimer(): void {
    this.#timerAt = Number.POSITIVE_INFINITY
    if (this.#isDue) this.onReady()
    else this.#plan()
  }
}

/**
 * Which requests wait for which topic (kernel/topics.ts): a ring of entries for each topic.
 *
 *   heads     topic 8 ──▶ entry 3        entry 3   request 0, topic 8, next 5, previous 5
 *             topic 9      none (0)      entry 5   request 4, topic 8, next 3, previous 3
 *                                                  and `sibling`: an entry of the same request
 *
 * E1. A ring is in the order in which its entries were added, the oldest at the head.
 * E2. Adding or removing an entry takes constant time, and leaves nothing to the garbage collector:
 *     an entry is 20 bytes in columns.
 */
export class TopicRings {
  readonly #heads = new Uint32Column()
  readonly #requests = new Uint32Column()
  readonly #topics = new Uint32Column()
  readonly #next = new Uint32Column()
  readonly #previous = new Uint32Column()
  readonly #siblings = new Uint32Column()
  /** The head of the list of free entries, which `#next` links; 0: there is none. */
  #free = 0
  #length = 0

  constructor() {
    this.#addEntry() // number 0 stands for none
  }

  get length(): number {
    return this.#length
  }

  /** Returns the request that has waited longest for this topic, or -1. */
  first(topic: number): number {
    if (topic >= this.#heads.length) return -1
    const head = this.#heads.get(topic)
    return head === 0 ? -1 : this.#requests.get(head)
  }

  /** Adds an entry and returns its number; `sibling` is another one of the same request, or 0. */
  add(topic: number, request: number, sibling: number): number {
    const entry = this.#takeEntry()
    this.#requests.set(entry, request)
    this.#topics.set(entry, topic)
    this.#siblings.set(entry, sibling)
    const missing = topic + 1 - this.#heads.length
    if (missing > 0) this.#heads.extend(missing)
    const head = this.#heads.get(topic)
    if (head === 0) {
      this.#link(entry, entry)
      this.#heads.set(topic, entry)
    } else {
      this.#link(this.#previous.get(head), entry)
      this.#link(entry, head)
    }
    return entry
  }

  /** Removes an entry and its siblings. */
  remove(entry: number): void {
    for (let left = entry; left !== 0; ) {
      const sibling = this.#siblings.get(left)
      this.#removeOne(left)
      left = sibling
    }
  }

  #removeOne(entry: number): void {
    const topic = this.#topics.get(entry)
    const next = this.#next.get(entry)
    const isHead = this.#heads.get(topic) === entry
    if (isHead) this.#heads.set(topic, next === entry ? 0 : next)
    this.#link(this.#previous.get(entry), next)
    this.#next.set(entry, this.#free)
    this.#free = entry
    this.#length -= 1
  }

  #link(entry: number, next: number): void {
    this.#next.set(entry, next)
    this.#previous.set(next, entry)
  }

  #takeEntry(): number {
    this.#length += 1
    const entry = this.#free
    if (entry === 0) return this.#addEntry()
    this.#free = this.#next.get(entry)
    return entry
  }

  #addEntry(): number {
    for (const column of [this.#requests, this.#topics, this.#previous, this.#siblings]) {
      column.push(0)
    }
    return this.#next.push(0)
  }
}
