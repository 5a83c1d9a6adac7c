// Which threads are due, and the records by which they expire. docs/interface.md, "Expiry of
// threads".
//
//   newest message ──ttl_seconds, or --retention-days──▶ due ──thread.expired──▶ nobody sees it
//                  ◀───────────── a reply ──────────────┘
//   … ──a quarter of an hour at most──▶ thread.erased, for some of its messages, until it has none
//
// E1. Only a record ends a thread: until then everybody sees it, and a reply prolongs its life.
// E2. A turn ends at most `threadsPerTurn` threads, and erases at most `messagesPerTurn` messages,
//     in at most `pagesPerTurn` pages of text, which may be on disk.
// E3. Threads are erased in waves, because erased text leaves the disk with two checkpoints, which
//     follow at once (engine/storage/checkpoints.ts, T2). A wave begins a segment of the log, so
//     that the segments before it can go (forum/moderation/commands.ts, E1). It erases nothing
//     while a checkpoint is being taken, or while too many pages wait in memory for one.
// E4. A clock that is wrong must not end everything at once. After a jump of forum time, or a pause
//     of the node, nothing expires that was not due before, until an hour later; no earlier jump,
//     restart or takeover shortens that hour. Records may keep forum time ahead after the clock is
//     set back: threads expire by forum time or by the clock, whichever is earlier.
//
// The threads that are due are found by a heap that is derived from the state, on the node that
// decides; where no thread has an end, it is empty.

import { Heap, type HeapEntry } from '../../base/heap.ts'
import { partition } from '../../base/partition.ts'
import { notableMs, timeOf } from '../../kernel/clock.ts'
import { isRejection } from '../../kernel/rejection.ts'
import { pageOf } from '../../kernel/text/page-slots.ts'
import type { Forum } from '../forum.ts'
import type { State } from '../state.ts'
import { admitOwn, commit } from '../write.ts'

const checkMs = 1_000
const dayMs = 86_400_000
const doubtMs = 3_600_000
/** The pause between the beginnings of two waves of erasures. */
export const waveMs = 600_000
const threadsPerTurn = 64
const messagesPerTurn = 64
const pagesPerTurn = 8
/** The number of threads whose end is looked up in one turn. */
const lookupsPerTurn = 8_192
/** How many pages with erased text may wait for a checkpoint while text has no memory left. */
const erasedPagesMax = 64

interface Entry extends HeapEntry {
  /** No later than when the thread is due. */
  key: number
  thread: number
}

export class ThreadExpiry {
  readonly #forum: Forum
  readonly #due = new Heap<Entry>()
  /** The threads that have expired, of which the next wave erases the messages. */
  #expired: number[] = []
  /** The threads that the present wave has yet to erase. */
  #wave: number[] = []
  #nextWave = Number.NEGATIVE_INFINITY
  /** The number of threads whose end has been looked up. */
  #seen = 0
  /** The last reading of the time, and when it was read (E4). */
  #time: number
  #elapsed: number
  /** The jumps of the last hour that have not been taken back, with what each was ahead by. */
  readonly #jumps: { since: number; ms: number }[] = []

  constructor(forum: Forum) {
    this.#forum = forum
    this.#time = forum.state.position === 0 ? timeOf(forum) : undoubted(forum.state)
    this.#elapsed = forum.stamps.clock.elapsed()
  }

  /** Does one turn. Returns after how many milliseconds the next one must follow. */
  turn(): number {
    const isMore = [this.#lookUp(), this.#expire(), this.#erase()].includes(true)
    return isMore ? 0 : checkMs
  }

  /** Ends threads that are due. Returns whether there may be more. */
  #expire(): boolean {
    const at = this.#believedTime()
    let left = threadsPerTurn
    while (left > 0 && this.#due.size > 0 && this.#due.first.key <= at) {
      const { first } = this.#due
      const { thread } = first
      const end = this.#endOf(thread)
      if (end > at) {
        first.key = end
        this.#due.moved(first)
        continue
      }
      const permit = admitOwn(this.#forum)
      if (isRejection(permit)) return false
      commit(this.#forum, permit, { type: 'thread.expired', at: permit.at, thread })
      this.#due.delete(first)
      this.#expired.push(thread)
      left -= 1
    }
    return left === 0
  }

  /** Erases messages of threads that have expired. Returns whether more can be erased now. */
  #erase(): boolean {
    const { state, stamps, journal } = this.#forum
    if (this.#wave.length === 0) {
      const elapsed = stamps.clock.elapsed()
      if (this.#expired.length === 0 || elapsed < this.#nextWave) return false
      if (state.text.isFrozen || !journal.separate(state.position)) return false
      this.#nextWave = elapsed + waveMs
      this.#wave = this.#expired
      this.#expired = []
    }
    const pages = new Set<number>()
    for (let left = messagesPerTurn; left > 0 && this.#wave.length > 0; ) {
      const thread = this.#wave.at(-1)!
      const messages = this.#portion(thread, left, pages)
      if (messages === 0 && pages.size > pagesPerTurn) return true
      const permit = admitOwn(this.#forum)
      if (messages === 0 || isRejection(permit)) return false
      commit(this.#forum, permit, { type: 'thread.erased', at: permit.at, thread, messages })
      left -= messages
      if (state.threads.messageCount(thread) === 0) this.#wave.pop()
    }
    return this.#wave.length > 0
  }

  /** Looks up the ends of further threads. Returns whether there are more. */
  #lookUp(): boolean {
    const { threads } = this.#forum.state
    const end = Math.min(threads.count, this.#seen + lookupsPerTurn)
    for (; this.#seen < end; this.#seen++) {
      const thread = this.#seen
      const key = threads.isExpired(thread) ? null : this.#endOf(thread)
      if (key === null && threads.messageCount(thread) > 0) this.#expired.push(thread)
      if (key !== null && key < Number.POSITIVE_INFINITY) {
        this.#due.add({ key, heapIndex: 0, thread })
      }
    }
    return end < threads.count
  }

  /** Returns when the thread is due if no reply comes, or Infinity. */
  #endOf(thread: number): number {
    const { state, retentionDays = 0 } = this.#forum
    const ownEnd = state.endOf(thread) ?? Number.POSITIVE_INFINITY
    if (retentionDays === 0) return ownEnd
    const newest = state.messages.createdAt(state.threads.newestMessage(thread))
    return Math.min(ownEnd, newest + retentionDays * dayMs)
  }

  /**
   * Returns how many of the thread's newest messages can be erased now (E2, E3). Adds their pages
   * to those of this turn, and one more if that would be too many.
   */
  #portion(thread: number, messagesMax: number, pages: Set<number>): number {
    const { threads, messages, text } = this.#forum.state
    if (text.isFrozen) return 0
    if (text.erased.size >= erasedPagesMax && !text.pages.hasRoom) return 0
    const count = threads.messageCount(thread)
    let portion = 0
    for (; portion < Math.min(count, messagesMax); portion++) {
      pages.add(pageOf(messages.address(threads.message(thread, count - 1 - portion))))
      if (pages.size > pagesPerTurn) break
    }
    return portion
  }

  /** Returns what the time would be without the jumps of the last hour (E4). */
  #believedTime(): number {
    const { clock } = this.#forum.stamps
    const at = Math.min(timeOf(this.#forum), clock.wall())
    const elapsed = clock.elapsed()
    this.#noteStep(at - this.#time - (elapsed - this.#elapsed), elapsed)
    this.#time = at
    this.#elapsed = elapsed
    while (this.#jumps.length > 0 && elapsed - this.#jumps[0].since >= doubtMs) this.#jumps.shift()
    return this.#jumps.reduce((believed, { ms }) => believed - ms, at)
  }

  /** Notes a jump ahead, or takes the newest ones back as far as the time was set back. */
  #noteStep(ms: number, since: number): void {
    if (ms >= notableMs) this.#jumps.push({ since, ms })
    for (let back = -ms; back > 0 && this.#jumps.length > 0; ) {
      const newest = this.#jumps.at(-1)!
      const taken = Math.min(back, newest.ms)
      newest.ms -= taken
      back -= taken
      if (newest.ms === 0) this.#jumps.pop()
    }
  }
}

/**
 * Returns the time of the last record; or, if its last hour began with a gap of an hour or more in
 * the times of messages, the time before that gap, which may have been a jump of the clock (E4).
 * That time is as doubtful as the last if its own hour began with a gap, and so on.
 */
function undoubted({ messages, now }: State): number {
  let time = now
  for (let end = messages.count; ; ) {
    const later = partition(end, (each) => messages.createdAt(each) <= time - doubtMs)
    if (later === 0) return time
    const before = messages.createdAt(later - 1)
    const after = later < end ? messages.createdAt(later) : time
    if (after - before < doubtMs) return time
    time = before
    end = later
  }
}
