// Which requests wait for which topic (kernel/topics.ts): a ring of entries for each topic.
//
//   heads     topic 8 ──▶ entry 3        entry 3   request 0, topic 8, next 5, previous 5
//             topic 9      none (0)      entry 5   request 4, topic 8, next 3, previous 3
//                                                  and `sibling`: an entry of the same request
//
// E1. A ring is in the order in which its entries were added, the oldest at the head.
// E2. Adding or removing an entry takes constant time, and leaves nothing to the garbage collector:
//     an entry is 20 bytes in columns.

import { Uint32Column } from '../../kernel/columns/column.ts'

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
