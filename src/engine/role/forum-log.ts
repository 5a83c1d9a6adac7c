// The log as the forum of a process sees it, by the role of the process (role.ts). What is durable
// in it may be shown: it is durable in the log itself, and the readers of the process have it.

import assert from 'node:assert/strict'
import type { Health, Journal } from '../../../wal/journal/types.ts'
import type { ForumParts } from '../../forum/forum.ts'

type ForumLog = ForumParts['journal']

/** The log of a follower: commands cannot append to it (R3). */
export class FollowedLog implements ForumLog {
  /** Not `ok`, so that every write is refused. */
  readonly health: Health = 'overloaded'
  readonly #context: { readonly shown: number }

  constructor(context: { readonly shown: number } = { shown: 0 }) {
    this.#context = context
  }

  get durable(): number {
    return this.#context.shown
  }

  append(): number {
    assert.fail('R3: a follower appends no record of its own')
  }

  flush(): void {}

  separate(): boolean {
    return false
  }
}

/** The log of a node that decides, which commands append to. */
export class DecidedLog implements ForumLog {
  readonly #journal: Journal
  readonly #context: { readonly shown: number }

  constructor(journal: Journal, context: { readonly shown: number }) {
    this.#journal = journal
    this.#context = context
  }

  get health(): Health {
    return this.#journal.health
  }

  get durable(): number {
    return this.#context.shown
  }

  append(record: unknown): number {
    return this.#journal.append(record)
  }

  flush(): void {
    this.#journal.flush()
  }

  separate(position: number): boolean {
    return this.#journal.separate(position)
  }
}
