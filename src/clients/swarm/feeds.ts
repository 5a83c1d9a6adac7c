// Agents poll their feeds while the swarm publishes, each from its own cursor.
//
// F1. A feed is ordered by `seq`, and a poll requests the items after the last one seen. So a
//     message that was published before its reader subscribed, and lies before the reader's cursor,
//     appears in no later poll. It can be read in the thread, or by polling from 0 again.
// F2. An agent's polls and subscriptions never overlap. So the cursor at which it joined a thread
//     is known, and its polls must return exactly the messages after that cursor.
// F3. Polls are a bounded share of the traffic: one after `requestsPerPoll` other requests.
// F4. An idle agent polls all the time instead, over a connection of its own, and its polls wait.
//     So does every other that follows anything, if all are to wait. A subscription ends the poll
//     that waits; the next poll shows what that one would have shown.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Notification, type Patience, readFeed, subscribe } from './calls.ts'
import type { Client } from './client.ts'
import type { Agent, PlannedThread } from './plan.ts'

const requestsPerPoll = 7

/**
 * `joinedAt` is the cursor at which the agent subscribed to each thread. It lacks threads that the
 * agent opened, because nobody can have written there before the agent followed them.
 */
export type Inbox = {
  agent: Agent
  cursor: number
  gathered: Notification[]
  joinedAt: Map<PlannedThread, number>
  joining: number
  followed: boolean
  polling: Promise<unknown> | null
  /** Ends the polls that wait. */
  waiting: AbortController | null
}

/**
 * How polls wait: with a client of their own, so that they take no connections from others.
 * `isAll`: not only those of idle agents.
 */
type Waiting = { client: Client; seconds: number; isAll: boolean }

/** The numbers of waiting polls that ended with news, and without. */
export type Waits = { news: number; empty: number }

/** The pause after an answer without news that came early, as it may from a busy server. */
const earlyPauseMs = 1000

/** The inboxes of all agents, by `agent.index`, and which of them polls next. */
export class AgentFeeds {
  readonly inboxes: Inbox[]
  subscriptions = 0
  readonly waits: Waits = { news: 0, empty: 0 }
  readonly #client: Client
  readonly #wakes: Wakes
  readonly #waiting: Waiting | null
  readonly #following: Inbox[] = []
  readonly #known = new Map<string, Notification>()
  #requests = 0
  #next = 0

  constructor(client: Client, agents: Agent[], waiting: Waiting | null = null) {
    this.#client = client
    this.#wakes = new Wakes((dueAt, seenAt) => client.time('wake', dueAt, seenAt))
    this.#waiting = waiting
    this.inboxes = agents.map((agent) => ({
      agent,
      cursor: 0,
      gathered: [],
      joinedAt: new Map(),
      joining: 0,
      followed: false,
      polling: null,
      waiting: null,
    }))
  }

  // Polls this agent's feed from now on, because it is idle, or follows a thread.
  follow(agent: Agent): void {
    const inbox = this.inboxes[agent.index]
    if (inbox.followed) return
    inbox.followed = true
    if (this.#waits(inbox)) this.#beginToWait(inbox)
    else this.#following.push(inbox)
  }

  // Subscribes an agent to a thread of another agent (F2).
  async join(agent: Agent, thread: PlannedThread): Promise<void> {
    const inbox = this.inboxes[agent.index]
    while (inbox.polling !== null) await this.#endOf(inbox)
    inbox.joining++
    inbox.joinedAt.set(thread, inbox.cursor)
    await subscribe(this.#client, agent.token, thread.id)
    inbox.joining--
    this.subscriptions++
    this.follow(agent)
    this.#beginToWait(inbox)
  }

  // Call this after each request (F3). Agents poll in turn; one that is busy is skipped.
  async pollSometimes(): Promise<void> {
    if (++this.#requests % requestsPerPoll === 0) await this.pollNext()
  }

  // Polls the feed of the agent whose turn it is. Returns false if none is free.
  async pollNext(): Promise<boolean> {
    for (let tried = 0; tried < this.#following.length; tried++) {
      const inbox = this.#following[this.#next++ % this.#following.length]
      if (inbox.joining === 0 && inbox.polling === null) {
        await this.#poll(inbox)
        return true
      }
    }
    return false
  }

  // Call this with each message but the first of a thread, which nobody followed when it was due.
  published(messageId: string, dueAt: number): void {
    if (this.#waiting !== null) this.#wakes.published(messageId, dueAt)
  }

  // Reads all remaining pages. Once everything is published, the feed is then complete.
  async drain(inbox: Inbox): Promise<void> {
    while (inbox.polling !== null) await this.#endOf(inbox)
    while (await this.#poll(inbox));
  }

  // Reads one page. Returns whether there is another.
  async #poll(inbox: Inbox): Promise<boolean> {
    const page = this.#readPage(inbox)
    inbox.polling = page
    try {
      return await page
    } finally {
      inbox.polling = null
    }
  }

  // Resolves when the agent's poll has ended. Aborts a poll that waits.
  async #endOf(inbox: Inbox): Promise<void> {
    inbox.waiting?.abort()
    await inbox.polling
  }

  #waits({ agent }: Inbox): boolean {
    return this.#waiting !== null && (agent.isIdle || this.#waiting.isAll)
  }

  // Polls until a subscription or the end of the run interrupts it (F4).
  #beginToWait(inbox: Inbox): void {
    if (this.#waiting === null || !this.#waits(inbox)) return
    if (inbox.joining > 0 || inbox.polling !== null) return
    const ending = new AbortController()
    inbox.waiting = ending
    const polling = this.#wait(inbox, this.#waiting, ending.signal).then(() => {
      inbox.polling = null
    })
    polling.catch(() => {}) // whoever awaits it next gets the error
    inbox.polling = polling
  }

  async #wait(inbox: Inbox, { client, seconds }: Waiting, signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const [begun, before] = [performance.now(), inbox.gathered.length]
        await this.#readPage(inbox, client, { seconds, signal })
        const now = performance.now()
        for (const item of inbox.gathered.slice(before)) this.#wakes.seen(item.message_id, now)
        const hasNews = inbox.gathered.length > before
        this.waits[hasNews ? 'news' : 'empty'] += 1
        const isEarly = now - begun < seconds * 1000
        if (!hasNews && isEarly) await sleep(earlyPauseMs, undefined, { signal })
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #readPage(
    inbox: Inbox,
    client = this.#client,
    how: Patience | 'poll feed' = 'poll feed',
  ): Promise<boolean> {
    const { agent, cursor } = inbox
    const page = await readFeed(client, agent.token, cursor, how)
    for (const item of page.notifications) inbox.gathered.push(this.#shared(item))
    inbox.cursor = page.next_after
    return page.has_more
  }

  // Keeps an item once, which saves memory in a large swarm: the same message is in many feeds.
  #shared(item: Notification): Notification {
    const known = this.#known.get(item.message_id)
    if (known === undefined) {
      this.#known.set(item.message_id, item)
      return item
    }
    return sameNotification(known, item) ? known : item
  }
}

/** Returns whether two items are equal in all that the interface promises. */
export const sameNotification = (a: Notification, b: Notification): boolean =>
  a.seq === b.seq &&
  a.message_id === b.message_id &&
  a.thread_id === b.thread_id &&
  a.author_id === b.author_id &&
  a.created_at === b.created_at &&
  a.mentioned === b.mentioned

/**
 * How long messages take to reach the agents that wait for them: from when a message was due to
 * when a poll that waited is answered with it, once for each agent. The poll may be answered before
 * the publication is. So a message that was seen and is not yet known to be published is kept until
 * it is.
 */
export class Wakes {
  readonly #record: (dueAt: number, seenAt: number) => void
  readonly #dueAt = new Map<string, number>()
  readonly #early = new Map<string, number[]>()

  /** `record` is called with each wake, in milliseconds of performance.now(). */
  constructor(record: (dueAt: number, seenAt: number) => void) {
    this.#record = record
  }

  published(messageId: string, dueAt: number): void {
    this.#dueAt.set(messageId, dueAt)
    for (const seenAt of this.#early.get(messageId) ?? []) this.#record(dueAt, seenAt)
    this.#early.delete(messageId)
  }

  seen(messageId: string, seenAt: number): void {
    const dueAt = this.#dueAt.get(messageId)
    if (dueAt !== undefined) this.#record(dueAt, seenAt)
    else if (!this.#early.get(messageId)?.push(seenAt)) this.#early.set(messageId, [seenAt])
  }
}
