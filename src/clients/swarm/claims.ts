// --claims: when the corpus is published, its threads are tasks. Workers, who are the agents that
// write, claim them, publish a result under the fence of the claim, and release them.
//
//   claimed ──▶ result ──▶ released                       nearly all claims
//      ├──▶ renewed ──▶ result ──▶ released               work that takes longer than a claim
//      └──▶ expired ──▶ result, which must be refused     a worker that stops, and comes back late
//
// W1. Every worker tries all tasks that have no result, in an order of its own. So workers compete
//     for the same task, and one whose worker has stopped is done by another.
// W2. A claim is lost only when it is over. One that is refused while this process knows that it is
//     held is a wrong answer, as is a late result that is accepted.
// W3. A result is a message of the plan, in its thread and in the feeds of those who follow it, and
//     is verified as such. A worker whose task another one had before looks for a result first, so
//     each task has exactly one, however late an answer comes.
// W4. Of two claims of a thread, the one with the greater fence began when the other was over: by
//     the times of the node, and by the clock of this process, which knows that a worker held a
//     claim from the answer until it asked to release it, or until the time after its request.

import { setTimeout as sleep } from 'node:timers/promises'
import { claim, publishUnderClaim, readThread, release } from './calls.ts'
import type { Differences } from './differences.ts'
import { WrongAnswer } from './failures.ts'
import type { Agent, PlannedMessage, PlannedThread } from './plan.ts'
import { type Publishing, requestFor } from './publish.ts'
import type { Reading } from './verify-items.ts'

/** One in this many claims is renewed, and the worker of another one stops. */
const cycle = 50
/** The part of a claim for which a worker works before it renews it, and after that. */
const partWorked = 0.6
/** How long a worker that was refused pauses at most. */
const pauseMsMax = 200
/** The difference that clocks may have over a claim; the node's counts whole milliseconds. */
const clocksMs = 10
/** Spreads the tasks that workers try; a prime. */
const stride = 7919

/** A claim that was granted. Times are in milliseconds: of the node, and of performance.now(). */
export type Grant = {
  /** Of all grants, from 1. */
  number: number
  worker: Agent
  fence: number
  node: { from: number; until: number }
  held: { from: number; until: number }
  isReleased: boolean
  /** The result that was published under it. */
  result: PlannedMessage | null
}

/** `late`: results of workers that had stopped; all were refused. */
export type ClaimCounts = {
  granted: number
  renewed: number
  /** Another worker held the task. */
  refused: number
  /** Ended before the work was done, because the answer to a request took too long. */
  lost: number
  late: number
}

export class Claims {
  readonly counts: ClaimCounts = { granted: 0, renewed: 0, refused: 0, lost: 0, late: 0 }
  readonly grants = new Map<PlannedThread, Grant[]>()
  readonly #publishing: Publishing
  readonly #seconds: number
  readonly #open: PlannedThread[]
  readonly #done: () => void
  #requests = 0

  /** `seconds`: of each claim. `done` is called when a task has its result. */
  constructor(publishing: Publishing, seconds: number, done: () => void) {
    this.#publishing = publishing
    this.#seconds = seconds
    this.#open = [...publishing.plan.threads]
    this.#done = done
  }

  /** Works, with so many workers at most, until each task has a result. Throws WrongAnswer. */
  async work(workersMax: number): Promise<void> {
    const { agents, idle } = this.#publishing.plan
    const workers = agents.slice(0, Math.min(workersMax, agents.length - idle.length))
    await Promise.all(workers.map((worker, nth) => this.#workAs(worker, nth * stride)))
  }

  async #workAs(worker: Agent, first: number): Promise<void> {
    for (let nth = first; this.#open.length > 0; nth += stride) {
      const thread = this.#open[nth % this.#open.length]
      const grant = await this.#claim(worker, thread)
      if (grant !== null) await this.#act(thread, grant)
      else await this.#pause(Math.random() * pauseMsMax)
    }
  }

  async #act(thread: PlannedThread, grant: Grant): Promise<void> {
    const turn = grant.number % cycle
    if (await this.#isDone(thread)) await this.#release(thread, grant)
    else if (turn === 1) await this.#stop(thread, grant)
    else if (turn === 2) await this.#workLonger(thread, grant)
    else await this.#finish(thread, grant)
  }

  /** Whether an earlier worker has published a result; the answer to it may be on its way. */
  async #isDone(thread: PlannedThread): Promise<boolean> {
    const grants = this.grants.get(thread)!
    if (grants.length === 1) return false
    if (grants.some(({ result }) => result !== null)) return true
    const page = await readThread(this.#publishing.client, thread.id, 0)
    return page.thread.message_count > thread.messages.length
  }

  /** Claims a thread, or renews a claim. Resolves to null if another worker holds the thread. */
  async #claim(worker: Agent, thread: PlannedThread, old?: Grant): Promise<Grant | null> {
    const { client, plan } = this.#publishing
    const key = `swarm:${plan.runId}:claim:${this.#requests++}`
    const sentAt = performance.now()
    const granted = await claim(client, {
      ...{ token: worker.token, key, threadId: thread.id, seconds: this.#seconds },
      ...(old !== undefined && { fence: old.fence }),
    })
    if (granted === null) {
      if (old === undefined) this.counts.refused += 1
      return null
    }
    const { fence, expires_at: until } = granted
    const lengthMs = this.#seconds * 1000
    const heldUntil = sentAt + lengthMs - clocksMs
    if (old !== undefined) {
      if (fence !== old.fence) throw new WrongAnswer(`the renewal of ${old.fence} has ${fence}`)
      this.counts.renewed += 1
      old.node.until = until
      old.held.until = heldUntil
      return old
    }
    this.counts.granted += 1
    const grant: Grant = {
      number: this.counts.granted,
      ...{ worker, fence, isReleased: false, result: null },
      node: { from: until - lengthMs, until },
      held: { from: performance.now(), until: heldUntil },
    }
    const ofThread = this.grants.get(thread)
    if (ofThread === undefined) this.grants.set(thread, [grant])
    else ofThread.push(grant)
    return grant
  }

  async #finish(thread: PlannedThread, grant: Grant): Promise<void> {
    if (await this.#publish(thread, grant)) {
      this.#open.splice(this.#open.indexOf(thread), 1)
      this.#done()
    } else this.#mayLose(grant)
    await this.#release(thread, grant)
  }

  async #workLonger(thread: PlannedThread, grant: Grant): Promise<void> {
    const partMs = this.#seconds * 1000 * partWorked
    await this.#pause(partMs)
    if ((await this.#claim(grant.worker, thread, grant)) === null) return this.#mayLose(grant)
    await this.#pause(partMs)
    await this.#finish(thread, grant)
  }

  /** Lets the claim expire. */
  async #stop(thread: PlannedThread, grant: Grant): Promise<void> {
    await this.#pause(this.#seconds * 1000 + clocksMs)
    this.counts.late += 1
    if (!(await this.#publish(thread, grant))) return
    throw new WrongAnswer(`thread ${thread.label} accepted a result under ${grant.fence}, too late`)
  }

  /** Publishes the result. Resolves to false if the claim is lost. */
  async #publish(thread: PlannedThread, grant: Grant): Promise<boolean> {
    const { client, plan, feeds, searches } = this.#publishing
    const { worker: author, fence } = grant
    await this.#follow(author, thread)
    const text = `The result of task ${thread.label}, by ${author.name} under fence ${fence}.`
    const message: PlannedMessage = { author, text, id: '', mentioned: [], fence }
    const index = thread.messages.length
    const dueAt = performance.now()
    const request = requestFor(plan, thread, index, message)
    const published = await publishUnderClaim(client, { ...request, replay: false, dueAt })
    if (published === null) return false
    message.id = published.message_id
    thread.messages.push(message)
    plan.messageCount += 1
    grant.result = message
    searches?.published(thread, thread.messages.length - 1)
    feeds.published(message.id, dueAt)
    return true
  }

  /** A reply subscribes its author, so a worker follows the thread from a known position. */
  async #follow(worker: Agent, thread: PlannedThread): Promise<void> {
    const { feeds } = this.#publishing
    const { joinedAt } = feeds.inboxes[worker.index]
    if (thread.messages[0].author === worker || joinedAt.has(thread)) return
    thread.others.push(worker)
    worker.threads.push(thread)
    await feeds.join(worker, thread)
  }

  async #release(thread: PlannedThread, grant: Grant): Promise<void> {
    const { held, worker } = grant
    held.until = Math.min(held.until, performance.now())
    grant.isReleased = true
    await release(this.#publishing.client, worker.token, thread.id)
  }

  /** Throws WrongAnswer unless the claim may be over (W2). */
  #mayLose({ held, fence }: Grant): void {
    this.counts.lost += 1
    if (performance.now() >= held.until) return
    throw new WrongAnswer(`the claim with fence ${fence} was lost before it was over`)
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#publishing.client.closing })
  }
}

/** Compares the claims of a task with one another, and with its result (W4). */
export function verifyClaims(
  differences: Differences,
  thread: PlannedThread,
  grants: readonly Grant[],
  shown: Reading['shown'],
): boolean {
  const countBefore = differences.count
  const differs = (what: string) => differences.add(`thread ${thread.label}: ${what}`)
  const inOrder = [...grants].sort((a, b) => a.fence - b.fence)
  if (!inOrder.some(({ result }) => result !== null)) differs('nobody has done the task')
  for (const [index, { fence, node, held, isReleased, result }] of inOrder.entries()) {
    const at = result && shown.get(result.id)?.created_at
    if (at != null && (at < node.from || at >= node.until)) {
      differs(`its result is of ${at}, and its claim ${fence} from ${node.from} to ${node.until}`)
    }
    const next = inOrder[index + 1]
    if (next === undefined) break
    const overAt = isReleased ? (at ?? node.from) : node.until
    if (next.fence === fence) differs(`the fence ${fence} was granted twice`)
    else if (next.node.from < overAt || next.held.from < held.until) {
      differs(`the claims ${fence} and ${next.fence} were held at a time`)
    }
  }
  return differences.count === countBefore
}
