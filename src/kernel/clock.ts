// The forum's time: that of the system clock, but never less than the last record's time.
//
// An operator, NTP or a host may set the system clock ahead and then back. Records made in between
// carry the later time, and time must not go back behind a record; nor may it stand still until
// the system clock has caught up, because rate limits, retries and tickets wait for it:
//
//   forum time                          ╱  the system clock's again
//                 jump back ▶ ╷  __----╱
//                           ╱ ╵--     ╱    it continues from the last record, more slowly
//                jump ahead ▲        ╱
//                      ────╱─ ─ ─ ─ ╱      what the system clock would have said
//
// T1. Forum time is never before the last record, in this process or after a restart.
// T2. Where the system clock is behind, forum time is the last record's time plus 24/25 of the time
//     elapsed since that record was made. It never stands still, and the system clock catches up.
// T3. A jump during which no record was made leaves no trace.
//
// At 24/25 of the speed, a window or delay of a day takes at most an hour longer. At a lower speed
// the system clock would catch up sooner, but callers would wait longer.

export interface TimeSources {
  /** The system clock: milliseconds since the epoch. It may be set. */
  wall(): number
  /** Milliseconds elapsed since some moment. It only grows. */
  elapsed(): number
}

/** Operators are notified of jumps and lags of the system clock of at least this length. */
export const notableMs = 60_000

const slowedSpeed = 24 / 25

export class ForumClock {
  readonly #sources: TimeSources
  readonly #onStep: (ms: number) => void
  /** The newest record whose time came from the system clock: its time, and when it was made. */
  #anchor = { time: 0, elapsed: 0 }
  /** The time of the newest record seen so far. */
  #recorded = 0
  /** The result of the last call of `now`, and the readings that it is based on. */
  #last = { time: 0, wall: 0, elapsed: 0 }

  /** `onStep` receives the milliseconds by which the system clock was set; negative means back. */
  constructor(sources: TimeSources, onStep: (ms: number) => void = () => {}) {
    this.#sources = sources
    this.#onStep = onStep
  }

  /** The system clock's own time, for values that others compare with their clocks. */
  wall(): number {
    return this.#sources.wall()
  }

  /** Milliseconds elapsed since some moment, whatever the clocks say: for deadlines. */
  elapsed(): number {
    return this.#sources.elapsed()
  }

  /** Forum time: milliseconds since the epoch. `recorded` is the time of the last record. */
  now(recorded: number): number {
    const wall = this.#sources.wall()
    const elapsed = this.#sources.elapsed()
    const last = this.#last
    const step = wall - last.wall - (elapsed - last.elapsed)
    if (Math.abs(step) >= notableMs && last.wall > 0) this.#onStep(Math.round(step))
    if (recorded !== this.#recorded) {
      this.#recorded = recorded
      // A new record has the time that `now` returned last; one from before a restart does not.
      const madeAt = recorded === last.time ? last.elapsed : elapsed
      if (recorded > this.#slowed(madeAt)) this.#anchor = { time: recorded, elapsed: madeAt }
    }
    last.wall = wall
    last.elapsed = elapsed
    last.time = Math.max(wall, recorded, Math.floor(this.#slowed(elapsed)))
    return last.time
  }

  /** Returns how many milliseconds the system clock is behind forum time. */
  behindMs(recorded: number): number {
    return this.now(recorded) - this.#last.wall
  }

  /** Warnings about the system clock for operators, one sentence each. */
  warnings(recorded: number): string[] {
    const behindMs = this.behindMs(recorded)
    if (behindMs < notableMs) return []
    const seconds = Math.round(behindMs / 1000)
    return [`clock: ${seconds} s behind the forum's time, which slows down until it has caught up`]
  }

  /** Slowed time, including fractions, because many records may be made within one millisecond. */
  #slowed(elapsed: number): number {
    return this.#anchor.time + (elapsed - this.#anchor.elapsed) * slowedSpeed
  }
}

/** Returns forum time, that of a record made now, in milliseconds since the epoch. */
export function timeOf({ state, stamps }: Timed): number {
  return stamps.clock.now(state.now)
}

/** The part of a forum that tells its time. */
interface Timed {
  state: { readonly now: number }
  stamps: { readonly clock: ForumClock }
}
