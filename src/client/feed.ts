// The feed as an endless sequence: messages by others in the threads that the caller follows.
//
// F1. Items come in the order of `seq`, each once, with none left out, across lost answers and
//     restarts.
// F2. An item is delivered only after its page, or a status read after the page, has shown the
//     epoch in which the feed began. In another epoch, after a restore, positions mean other
//     messages: the feed ends with `epoch_changed`, and the caller decides where to begin again.
// F3. Until the node has answered once, requests are retried as usual. After that they are retried
//     until the node is back or the signal aborts.
// F4. From `read`, the feed begins after what is marked as read. An item counts as handled when the
//     next one is requested. What is handled is marked in the background, by one request at a time
//     and at most one a second, and once more when the loop is left. A caller that is killed
//     receives again what it handled in the last second, and the item that it was handling.
// F5. A node that supports waiting polls holds a poll until there is news. If a node does not, or
//     already holds as many as it can, the feed pauses after an empty page.

import * as answers from './answers.ts'
import { ForumError } from './errors.ts'
import type { FeedOptions } from './options.ts'
import { pauseMs, type Request, sleep, type Transport } from './transport.ts'
import type { Notification, Status } from './types.ts'

const path = '/api/notifications'
const marksPauseMs = 1_000
const lastMarkMs = 5_000
const disorder = 'The feed has an item that does not follow the one before it.'

export class Feed implements AsyncIterable<Notification> {
  /** The `seq` of the last item delivered, from which a later feed continues. */
  cursor: number
  /** The epoch to which `cursor` belongs; undefined until the node has answered. */
  epoch: string | undefined
  readonly #transport: Transport
  readonly #options: FeedOptions

  constructor(transport: Transport, options: FeedOptions) {
    this.cursor = options.after === 'read' ? 0 : (options.after ?? 0)
    this.epoch = options.epoch
    this.#transport = transport
    this.#options = options
  }

  /** Throws ForumError, or the reason of the aborted signal. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Notification, void, undefined> {
    const { after: from = 0, epoch: _, wait: longest = 25, signal, ...chosen } = this.#options
    const patient = { signal, retries: Number.POSITIVE_INFINITY }
    let status = await this.#status({ signal })
    const marks = from === 'read' ? marksOf(this.#transport) : null
    let after = this.cursor || from
    try {
      for (let idle = 0; ; ) {
        const wait = status.capabilities.waiting_polls ? longest : 0
        const query = { after, ...chosen, wait: wait || undefined }
        const begunAt = performance.now()
        const page = await this.#transport.send('GET', path, answers.feed, { query, ...patient })
        const wasHeld = wait > 0 && performance.now() - begunAt > wait * 900
        if (page.epoch === undefined) status = await this.#status(patient)
        else this.#compare(page.epoch)
        for (const item of page.notifications) {
          if (!(item?.seq > this.cursor)) throw new ForumError(200, 'network', disorder)
          this.cursor = item.seq
          yield item
          marks?.add(item.seq)
        }
        // Where messages are chosen, a page leads past those that were examined in vain.
        after = Math.max(this.cursor, page.next_after) || from
        idle = page.notifications.length > 0 || wasHeld ? 0 : idle + 1
        if (idle === 0) continue
        const { poll_after_seconds: seconds } = page
        const isTime = typeof seconds === 'number' && seconds >= 0
        const pollAfterMs = Math.max((isTime ? seconds : 60) * 1000, pauseMs(1))
        await sleep(wait > 0 ? Math.min(pauseMs(idle), pollAfterMs) : pollAfterMs, signal)
      }
    } finally {
      const ending = marks?.end()
      if (!signal?.aborted) await ending
    }
  }

  async #status(request: Request): Promise<Status> {
    const status = await this.#transport.send('GET', '/api/status', answers.status, request)
    this.#compare(status.epoch)
    return status
  }

  /** Throws unless this is the epoch of the cursor. */
  #compare(epoch: string): void {
    this.epoch ??= epoch
    if (epoch === this.epoch) return
    const why = 'A backup was restored: positions after its end mean other messages now.'
    throw new ForumError(0, 'epoch_changed', why)
  }
}

/**
 * Marks what is handled as read, in the background (F4). `add` throws the error of an earlier mark.
 * `end` leaves to the next loop a mark that fails, or is not answered for a few seconds.
 */
function marksOf(transport: Transport) {
  const ended = new AbortController()
  let [handled, marked] = [0, 0]
  let failure: unknown = null
  let working: Promise<void> | null = null
  const mark = async (request: Request) => {
    const body = { through: handled }
    await transport.send('PUT', `${path}/read`, answers.readPlace, { ...request, body })
    marked = body.through
  }
  const work = async () => {
    try {
      while (handled > marked) {
        await mark({ signal: ended.signal, retries: Number.POSITIVE_INFINITY })
        await sleep(marksPauseMs, ended.signal)
      }
    } catch (error) {
      failure = error
    }
    working = null
  }
  return {
    add(seq: number): void {
      if (failure !== null) throw failure
      handled = seq
      working ??= work()
    },
    async end(): Promise<void> {
      ended.abort()
      await working
      if (handled <= marked) return
      await mark({ retries: 0, signal: AbortSignal.timeout(lastMarkMs) }).catch(() => {})
    },
  }
}
