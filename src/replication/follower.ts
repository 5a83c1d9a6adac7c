// Applies the records of another node's log to this node's state, and shows them when they may be
// shown: as soon as nothing can take them back.
//
//   records ──receive──▶ applied, not shown ──advance──▶ durable: answers and waiting polls leave
//
// L1. Records are applied once, in order and without a gap: those that are known are passed over.
// L2. Nothing is shown beyond the durable position, by the same gate as where a node leads.
// L3. What depends on text that has changed in place is forgotten when the change is applied.
//
// Neighbours: forwarding.ts passes writes on; whoever receives the records decides when they are
// durable: when the main process says so (readers), or when they are in this node's own log.

import assert from 'node:assert/strict'
import { Unpackr } from 'msgpackr'
import { eachEncoded } from '../../wal/journal/format.ts'
import type { Health, Journal } from '../../wal/journal/journal.ts'
import { apply } from '../forum/apply.ts'
import { type Forum, forgetErased } from '../forum/forum.ts'
import { decode } from '../forum/records.ts'
import type { Gate } from '../http/gate.ts'

type ForumJournal = Pick<Journal, 'append' | 'flush' | 'health' | 'durable' | 'separate'>

/** The log as the forum of a follower sees it: commands can append nothing. */
export class FollowedLog implements ForumJournal {
  durable = 0
  /** Not `ok`, so that whoever would write is refused. */
  readonly health: Health = 'overloaded'

  append(): number {
    assert.fail('a follower appends no record of its own')
  }

  flush(): void {}

  separate(): boolean {
    return false
  }
}

export class Follower {
  readonly #forum: Forum
  readonly #gate: Gate
  readonly #log: FollowedLog
  readonly #unpackr = new Unpackr({ useRecords: false, copyBuffers: true, int64AsType: 'number' })

  /** Makes the forum follow from now on; what its state holds already is durable. */
  constructor(forum: Forum, gate: Gate) {
    this.#forum = forum
    this.#gate = gate
    this.#log = new FollowedLog()
    this.#log.durable = forum.state.position
    forum.journal = this.#log
    forum.isFollower = true
  }

  /** The position of the last record applied. */
  get position(): number {
    return this.#forum.state.position
  }

  get durable(): number {
    return this.#log.durable
  }

  /**
   * Applies `count` records as they stand in a frame; the first one has the position `first`.
   * Returns false, having applied nothing, if others are missing before them: they are to be sent
   * again, from `position` + 1 on. Throws `NewerRecord` of forum/records.ts.
   */
  receive(first: number, count: number, records: Uint8Array): boolean {
    const { state } = this.#forum
    if (first > state.position + 1) return false
    const { erasedPosition } = state
    let position = first
    const isWhole = eachEncoded(records, count, (start, end) => {
      const at = position++
      if (at <= state.position) return // L1
      apply(state, at, decode(this.#unpackr.unpack(records as Buffer, { start, end })))
    })
    assert(isWhole, 'the records fill their bytes')
    if (state.erasedPosition !== erasedPosition) forgetErased(this.#forum) // L3
    return true
  }

  /** Everything up to this position is durable, for whoever decides that. */
  advance(durable: number): void {
    const shown = Math.min(durable, this.position)
    if (shown <= this.#log.durable) return
    this.#log.durable = shown
    this.#gate.open(shown)
    this.#forum.waiting.onDurable(shown)
  }
}
