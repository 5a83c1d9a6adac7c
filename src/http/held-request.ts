// A request that waits for news (forum/waiting.ts): what is needed to run it again, and no more.
//
// The node may hold fifty thousand of them. So there is no timer for each, and nothing of the
// request is kept that the routes do not read.

import type { Holder } from '../base/shares.ts'
import { holderOf } from '../forum/network.ts'
import type { Ended, Waiter, Waiting } from '../forum/waiting.ts'
import type { Exchange } from './exchange.ts'

export class HeldRequest implements Waiter {
  readonly key: number
  place = 0
  number = -1
  entry = 0
  followed = 0
  seen = 0
  readonly caller: number
  readonly holder: Holder
  readonly #waiting: Waiting
  readonly #exchange: Exchange
  readonly #run: (held: HeldRequest) => void
  /** Why it was run again, or is answered. */
  #why: Ended = 'news'

  constructor(
    waiting: Waiting,
    exchange: Exchange,
    { caller, client, seconds }: { caller: number; client: string; seconds: number },
    run: (held: HeldRequest) => void,
  ) {
    this.#waiting = waiting
    this.#exchange = exchange
    this.#run = run
    this.caller = caller
    this.holder = holderOf(caller, client)
    this.key = waiting.now() + seconds * 1000
    exchange.startedMs = 0 // its duration would say nothing about the node
    exchange.onHangUp(() => waiting.forget(this))
  }

  /** Holds the request until there is news of the topic; false: it is to be answered now. */
  waitFor(topic: number | undefined): boolean {
    // It may have hung up while it ran: nobody would forget it then.
    if (this.#exchange.isGone) this.#why = 'gone'
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
    this.#run(this)
  }
}
