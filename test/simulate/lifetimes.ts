// When threads may expire, and when they must have (docs/interface.md, "Expiry of threads"). That
// none expires before its time is checked by the model (expiry-model.ts).
//
// J1. For an hour after a jump of the forum's time, no thread expires that was there and not due
//     before.
// J2. When the clock has not jumped for an hour, everything that is due by the forum's time and by
//     the clock has expired, and soon after that its messages are erased.

import assert from 'node:assert/strict'
import type { RecordOf } from '../../src/forum/records.ts'
import { hourMs } from '../forum/doubles.ts'
import { endOf } from './expiry-model.ts'
import type { Model } from './model.ts'
import type { Thread } from './model-types.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Smaller jumps are not noticed by a start. */
const jumpMs = hourMs
/** How often a node looks at the clock: it does not see when it is set back and ahead meanwhile. */
const lookMs = 1_000

/** The machine, as far as it matters here. */
interface Machine {
  readonly model: Model
  readonly time: VirtualTime
  readonly forumTime: number
  count(outcome: string): void
  trace(line: () => string): void
}

export class Lifetimes {
  readonly #machine: Machine
  /** When the forum's time jumped with the clock, and what it was before. */
  readonly #jumps: { elapsedMs: number; forumTime: number }[] = []
  /** The first of the steps of the clock within `lookMs`, and the highest time before one. */
  #step = { elapsedMs: Number.NEGATIVE_INFINITY, forumTime: 0 }

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** Sets the clock ahead, or back. */
  setClock(ms: number): void {
    const { time } = this.#machine
    const { elapsedMs } = time
    const isSame = elapsedMs - this.#step.elapsedMs < lookMs
    const forumTime = Math.max(this.#machine.forumTime, isSame ? this.#step.forumTime : 0)
    this.#step = { elapsedMs: isSame ? this.#step.elapsedMs : elapsedMs, forumTime }
    time.wallMs += ms
    if (this.#machine.forumTime - forumTime >= jumpMs) this.#jumps.push({ elapsedMs, forumTime })
    this.#machine.trace(() => `the clock says ${time.wallMs}`)
  }

  /** Checks J1, before the model knows the record. */
  check({ thread: number }: RecordOf<'thread.expired'>): void {
    const { model, time } = this.#machine
    const thread = model.threads[number]
    const isByRetention = endOf(thread) > endOf(thread, model.retentionDays)
    this.#machine.count(`a thread expired${isByRetention ? ' by the retention of the node' : ''}`)
    const { at } = thread.messages.at(-1)!
    const jump = this.#jumps.find(({ elapsedMs, forumTime }) => {
      return time.elapsedMs - elapsedMs < hourMs && at <= forumTime
    })
    if (jump === undefined) return
    const withoutJump = jump.forumTime + time.elapsedMs - jump.elapsedMs
    const early = this.#endOf(thread) - withoutJump
    assert.ok(early <= 0, `J1: ${thread.id} expires ${early} ms too early`)
  }

  /** Lets time pass until everything that is due has expired. */
  async expireAll(rest: () => Promise<void>): Promise<void> {
    for (let rounds = 0; this.#isAnyDue(); rounds++) {
      assert.ok(rounds < 60, 'J2')
      await this.#machine.time.advance(hourMs / 12)
      await rest()
    }
  }

  #isAnyDue(): boolean {
    const { model, time, forumTime } = this.#machine
    const now = Math.min(forumTime, time.wallMs)
    return model.threads.some((thread) => {
      return thread.isExpired ? thread.left > 0 : this.#endOf(thread) <= now
    })
  }

  #endOf(thread: Thread): number {
    return endOf(thread, this.#machine.model.retentionDays)
  }
}
