// The forum's time: what the system clock says, but never less than the last record's time.
//
// An operator, NTP or a host may set the system clock ahead and then back. Records made in between
// carry the later time, and time must not go back behind a record; nor may it stand still until
// the system clock has caught up, because rate limits, retries and tickets wait for it:
//
//   forum time                          ╱  the system clock's again
//                 jump back ▶ ╷  __----╱
//                           ╱ ╵--     ╱    it goes on from the last record, more slowly
//                jump ahead ▲        ╱
//                      ────╱─ ─ ─ ─ ╱      what the system clock would have said
//
// T1. It is never before the last record, in this process or after a restart.
// T2. Where the system clock is behind, forum time is the last record's time plus 24/25 of the time
//     elapsed since that record was made: it never stands still, and the system clock catches up.
// T3. A jump during which no record was made leaves no trace.
//
// At 24/25 of the speed a window or delay of a day takes an hour longer at most. At a lower speed
// the system clock would catch up sooner, and callers would wait longer.

export interface TimeSources {
  /** The system clock: milliseconds since the epoch. It may be set. */
  wall(): number
  /** Milliseconds elapsed since some moment. It only grows. */
  elapsed(): number
}

/** Jumps, and differences from the system clock, from which on operators are notified. */
export const notableMs = 60_000

const slowedSpeed = 24 / 25

export class ForumClock {
  readonly #sources: TimeSources
  readonly #onStep: (ms: number) => void
  /** The newest record whose time came from the system clock, and when it was made. */
  #anchor = { time: 0, elapsed: 0 }
  /** The time of the newest record that was seen. */
  #recorded = 0
  /** What the last call found. */
  #last = { time: 0, wall: 0, elapsed: 0 }

  /** `onStep`: by how many milliseconds the system clock was set; back if negative. */
  constructor(sources: TimeSources, onStep: (ms: number) => void = () => {}) {
    this.#sources = sources
    this.#onStep = onStep
  }

  /** The system clock's own time, for what others compare with theirs. */
  wall(): number {
    return this.#sources.wall()
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
      // A record is made at the time that was asked for last; a restart's last one was made before.
      const madeAt = recorded === last.time ? last.elapsed : elapsed
      if (recorded > this.#slowed(madeAt)) this.#anchor = { time: recorded, elapsed: madeAt }
    }
    last.wall = wall
    last.elapsed = elapsed
    last.time = Math.max(wall, recorded, Math.floor(this.#slowed(elapsed)))
    return last.time
  }

  /** By how many milliseconds the system clock is behind forum time. */
  behindMs(recorded: number): number {
    return this.now(recorded) - this.#last.wall
  }

  /** What an operator has to be told of the system clock, as sentences. */
  warnings(recorded: number): string[] {
    const behindMs = this.behindMs(recorded)
    if (behindMs < notableMs) return []
    const seconds = Math.round(behindMs / 1000)
    return [`clock: ${seconds} s behind the forum's time, which slows down until it has caught up`]
  }

  /** Kept with its fraction: many records may be made in a millisecond. */
  #slowed(elapsed: number): number {
    return this.#anchor.time + (elapsed - this.#anchor.elapsed) * slowedSpeed
  }
}
