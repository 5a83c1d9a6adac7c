// What agents do between messages in a scenario: so many polls, reads and searches for each
// message. A poll for which no agent is free is made up for after a later message.

import { readThread } from './calls.ts'
import type { Client } from './client.ts'
import type { AgentFeeds } from './feeds.ts'
import type { PlannedThread } from './plan.ts'
import type { Actions } from './scenario.ts'
import type { Searches } from './searches.ts'

/** `act` resolves to whether it could be done. */
type Action = { perMessage: number; due: number; act: () => Promise<boolean> }

/** Spreads reads over the threads; a prime. */
const stride = 7919

export class Mix {
  readonly #client: Client
  readonly #threads: PlannedThread[] = []
  readonly #actions: Action[]
  #reads = 0

  constructor(client: Client, feeds: AgentFeeds, searches: Searches | null, actions: Actions) {
    this.#client = client
    const { publish, poll = 0, read = 0, search = 0 } = actions
    const action = (weight: number, act: Action['act']) => {
      return { perMessage: weight / publish, due: 0, act }
    }
    this.#actions = [
      action(poll, () => feeds.pollNext()),
      action(read, () => this.#read()),
      action(search, async () => {
        await searches?.search()
        return true
      }),
    ]
  }

  /** Does what is due after a message. */
  async published(thread: PlannedThread, index: number): Promise<void> {
    if (index === 0) this.#threads.push(thread)
    for (const action of this.#actions) {
      action.due += action.perMessage
      while (action.due >= 1) {
        action.due-- // before the wait, in which other lanes come here
        if (await action.act()) continue
        action.due++
        break
      }
    }
  }

  async #read(): Promise<boolean> {
    const thread = this.#threads[(this.#reads++ * stride) % this.#threads.length]
    await readThread(this.#client, thread.id, 0)
    return true
  }
}
