// A request that waits for news (forum/feed/waiting.ts), with only what is needed to run it again.
//
// The node may hold fifty thousand of them. So none has a timer of its own, and nothing of the
// request is kept that the routes do not read.

import type { Holder } from '../../base/shares.ts'
import type { Ended, Waiter, Waiting } from '../../forum/feed/waiting.ts'
import { holderOf } from '../../kernel/network.ts'
import type { Responder } from './exchange.ts'

export class HeldRequest implements Waiter {
  readonly key: number
  heapIndex = 0
  number = -1
  entry = 0
  followed = 0
  seen = 0
  readonly caller: number
  readonly holder: Holder
  readonly holdsConnection: boolean
  readonly #waiting: Waiting
  readonly #responder: Responder
  readonly #run: () => void
  /** Why the request runs again, or is answered. */
  #why: Ended = 'news'

  constructor(
    waiting: Waiting,
    responder: Responder,
    { caller, client, seconds }: { caller: number; client: string; seconds: number },
    run: () => void,
  ) {
    this.#waiting = waiting
    this.#responder = responder
    this.#run = run
    this.caller = caller
    this.holder = holderOf(caller, client)
    this.holdsConnection = responder.onWait === undefined
    this.key = waiting.now() + seconds * 1000
    responder.startedMs = 0 // its duration would say nothing about the node
    responder.onHangUp(() => waiting.forget(this))
    responder.onWait?.(() => {
      this.#why = 'time' // also if it is running again, and waits for text from disk
      waiting.release(this)
    })
  }

  /** Holds the request until there is news of the topic. Returns false if it must be answered. */
  waitFor(topic: number | undefined): boolean {
    // The client may have hung up while the route ran; then nothing would call `forget`.
    if (this.#responder.isGone) this.#why = 'gone'
    if (topic !== undefined && this.#why === 'news') {
      const refusal = this.#waiting.hold(this, topic)
      if (refusal === null) return true
      this.#why = refusal
    }
    this.#waiting.ended[this.#why] += 1
    return false
  }

  resume(why: Ended): void {
    this.#why = why
    this.#run()
  }
}
