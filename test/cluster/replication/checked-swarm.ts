// A swarm that acts on all nodes of one history at once, while nodes and networks fail: writers
// that repeat each write with its key until some node answers it, and readers of threads and feeds
// on every node. All answers and pages are reported to sightings.ts.
//
//   const swarm = new CheckedSwarm(places, random)
//   await swarm.prepare()                      identities, threads, and watchers that follow them
//   swarm.start() … await swarm.stop()         may be repeated
//   await swarm.differences()                  repeats the open writes, then compares everything

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { until } from '../../until.ts'
import { itemsOf } from './listed.ts'
import { type Final, type Shown, Sightings } from './sightings.ts'

/** A place where callers connect: one node, through all of its lives. */
export interface Place {
  name: string
  /** Null while nobody may connect there. */
  url: string | null
}

export interface SwarmSize {
  threads: number
  writers: number
  /** The number of readers at each place. */
  readers: number
  /** The longest pause between two writes of one writer. */
  pauseMs: number
}

const small: SwarmSize = { threads: 3, writers: 6, readers: 2, pauseMs: 10 }

/** The time that a caller waits: longer than a healthy node takes, however busy the machine is. */
export const answerMs = 5_000
const retryMs = 50

export interface Caller {
  id: string
  token: string
}

/** A write that a caller repeats with its key until it is answered. */
export interface Write {
  by: Caller
  key: string
  list: string
  content: string
  behind: number
}

interface Answer {
  status: number
  text: string
}

export class CheckedSwarm {
  readonly seen = new Sightings()
  /** The number of answers to writes, by status, and of writes that got no answer. */
  readonly outcomes = new Map<string, number>()
  /** The longest time in which no new write was accepted, since it was set to 0. */
  longestPauseMs = 0
  /** The places where callers connect, which may change while nobody acts. */
  places: readonly Place[]
  readonly #random: () => number
  readonly #size: SwarmSize
  readonly #threads: string[] = []
  readonly #writers: Caller[] = []
  /** Agents that follow all threads from the beginning, so that their feeds only grow. */
  readonly #watchers: Caller[] = []
  readonly #open = new Set<Write>()
  #acting: Promise<unknown> | null = null
  #isStopping = false
  #writes = 0
  #acceptedMs = 0

  constructor(places: readonly Place[], random: () => number, size: Partial<SwarmSize> = {}) {
    this.places = places
    this.#random = random
    this.#size = { ...small, ...size }
  }

  get acknowledged(): number {
    return this.seen.acknowledged.size
  }

  async prepare(): Promise<void> {
    const { threads, writers } = this.#size
    for (let n = 0; n < writers; n++) this.#writers.push(await this.#identity())
    for (let n = 0; n < 2; n++) this.#watchers.push(await this.#identity())
    for (let n = 0; n < threads; n++) {
      const body = { title: `thread ${n}`, content: `the beginning of ${n}` }
      const answer = await this.#insist(
        this.#writers[0]!,
        '/api/threads',
        `checked-thread-${n}`,
        body,
      )
      const { thread_id } = JSON.parse(answer) as { thread_id: string }
      this.#threads.push(thread_id)
      for (const watcher of this.#watchers) {
        await this.#insist(watcher, `/api/threads/${thread_id}/subscribe`, null, {})
      }
    }
  }

  /** Begins to write and read everywhere. */
  start(): void {
    this.#isStopping = false
    const acting = this.#writers.map((writer) => this.#keepWriting(writer))
    for (const place of this.places) {
      for (let n = 0; n < this.#size.readers; n++) acting.push(this.#keepReading(place))
    }
    // An answer that no caller may get is a finding like any other.
    const found = (error: Error) => this.seen.found.push(error.message)
    this.#acting = Promise.all(acting.map((caller) => caller.catch(found)))
  }

  /** Resolves when no caller is waiting for an answer. Writes may have an unknown outcome. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#acting
    this.#acting = null
  }

  /** Lets the swarm act until that many more writes are acknowledged. */
  async acknowledges(more: number): Promise<void> {
    const enough = this.acknowledged + more
    await until(`${more} more writes to be acknowledged`, () => {
      assert.deepEqual(this.seen.found, [])
      return this.acknowledged >= enough
    })
  }

  /** Returns everything that contradicts one history, once all places serve and nobody acts. */
  async differences(): Promise<string[]> {
    for (const write of [...this.#open]) {
      await until(`an answer to ${write.key}`, () => this.#try(write))
    }
    const finals = await until('all places to show equally much', async () => {
      const all = new Map<string, Final>()
      for (const place of this.places) all.set(place.name, await this.#readAll(place))
      const counts = new Set([...all.values()].map(countOf))
      return counts.size === 1 ? all : null
    })
    return this.seen.differences(finals)
  }

  /** Sends a new write once. If it is not acknowledged, `differences` repeats it. */
  async writeOnce(): Promise<void> {
    await this.#try(this.#newWrite(this.#writers[0]!))
  }

  #newWrite(by: Caller): Write {
    const key = `checked-write-${this.#writes++}`
    const list = this.#threadPath()
    const content = `${key} ${'é😀 '.repeat(this.#below(60))}`
    const write = { by, key, list, content, behind: this.seen.newest }
    this.#open.add(write)
    return write
  }

  async #keepWriting(by: Caller): Promise<void> {
    while (!this.#isStopping) {
      const write = this.#newWrite(by)
      while (!(await this.#try(write)) && !this.#isStopping) await sleep(retryMs)
      await sleep(this.#below(this.#size.pauseMs))
    }
  }

  /** Sends a write to any place. Returns whether it was acknowledged. */
  async #try(write: Write): Promise<boolean> {
    const place = this.#somePlace()
    if (place === null) return false
    const { by, key, list, content, behind } = write
    const answer = await this.#call(place, 'POST', `${list}/replies`, by, key, { content })
    this.#count(answer === null ? 'no answer' : `${answer.status}`)
    if (answer === null || answer.status === 503) return false
    if (answer.status !== 201 && answer.status !== 200) {
      throw new Error(`${key} at ${place.name}: ${answer.status} ${answer.text}`)
    }
    if (answer.status === 201) this.#accepted()
    const { message_id: id } = JSON.parse(answer.text) as { message_id: string }
    this.seen.acknowledge({ key, place: place.name, list, id, content, behind })
    this.#open.delete(write)
    return true
  }

  #accepted(): void {
    const now = performance.now()
    this.longestPauseMs = Math.max(this.longestPauseMs, now - this.#acceptedMs)
    this.#acceptedMs = now
  }

  async #keepReading(place: Place): Promise<void> {
    while (!this.#isStopping) {
      const watcher = this.#watchers[this.#below(this.#watchers.length)]!
      const isFeed = this.#random() < 0.3
      const list = isFeed ? feedOf(watcher) : this.#threadPath()
      const before = this.seen.expectation(place.name, list)
      const after = this.#random() < 0.1 ? 0 : Math.max(0, before.atLeast - this.#below(60))
      const page = await this.#page(place, list, after, isFeed ? watcher : null)
      if (page !== null) this.seen.see({ place: place.name, list, after, ...page, ...before })
      await sleep(page === null ? retryMs : this.#below(this.#size.pauseMs * 2))
    }
  }

  /** Returns one page, or null if the place does not answer. */
  async #page(place: Place, list: string, after: number, by: Caller | null) {
    const [path] = list.split(' ')
    const query = `?limit=100&after=${after}`
    const answer = await this.#call(place, 'GET', `${path}${query}`, by, null, null)
    if (answer === null || answer.status === 503) return null
    // A new follower may not have the thread or the token yet.
    const isEarly = answer.status === 404 || answer.status === 401
    if (isEarly && this.seen.expectation(place.name, list).atLeast === 0) return null
    if (answer.status !== 200) {
      throw new Error(`${list} at ${place.name}: ${answer.status} ${answer.text}`)
    }
    return itemsOf(answer.text)
  }

  async #readAll(place: Place): Promise<Final> {
    const final = new Map<string, Shown[]>()
    const lists = this.#threads.map((id): [string, Caller | null] => [`/api/threads/${id}`, null])
    for (const watcher of this.#watchers) lists.push([feedOf(watcher), watcher])
    for (const [list, by] of lists) {
      const all: Shown[] = []
      for (let hasMore = true; hasMore; ) {
        const after = all.at(-1)?.seq ?? 0
        const page = await until(`${list} at ${place.name}`, () =>
          this.#page(place, list, after, by),
        )
        all.push(...page.items)
        hasMore = page.hasMore
      }
      final.set(list, all)
    }
    return final
  }

  async #identity(): Promise<Caller> {
    return JSON.parse(await this.#insist(null, '/api/identities', null, {})) as Caller
  }

  /** Posts until the answer is not 503, and returns it. */
  async #insist(by: Caller | null, path: string, key: string | null, body: object) {
    return until(`an answer to ${path}`, async () => {
      const place = this.#somePlace()
      const answer = place && (await this.#call(place, 'POST', path, by, key, body))
      if (answer === null || answer.status === 503) return null
      if (answer.status > 201) throw new Error(`${path}: ${answer.status} ${answer.text}`)
      return answer.text
    })
  }

  /** Sends one request. Returns null if there is no answer in time. */
  async #call(
    place: Place,
    method: 'GET' | 'POST',
    path: string,
    by: Caller | null,
    key: string | null,
    body: object | null,
  ): Promise<Answer | null> {
    if (place.url === null) return null
    const headers: Record<string, string> = {}
    if (by !== null) headers.authorization = `Bearer ${by.token}`
    if (key !== null) headers['idempotency-key'] = key
    if (body !== null) headers['content-type'] = 'application/json'
    const signal = AbortSignal.timeout(answerMs)
    try {
      const json = body === null ? null : JSON.stringify(body)
      const answer = await request(place.url + path, { method, headers, body: json, signal })
      return { status: answer.statusCode, text: await answer.body.text() }
    } catch {
      return null
    }
  }

  #threadPath(): string {
    return `/api/threads/${this.#threads[this.#below(this.#threads.length)]}`
  }

  #somePlace(): Place | null {
    const open = this.places.filter(({ url }) => url !== null)
    return open[this.#below(open.length)] ?? null
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }
}

const feedOf = (watcher: Caller) => `/api/notifications of ${watcher.id}`

function countOf(final: Final): number {
  let count = 0
  for (const items of final.values()) count += items.length
  return count
}
