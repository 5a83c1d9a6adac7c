// Time that passes only in pauses: a timer ends as soon as nothing else is left to do, and the
// clock then shows its time. So a client that is patient for a minute is tested in no time.

import type { Test } from 'tap'

export class VirtualTime {
  now = 0
  /** The times of all timers, in the order in which they were set. */
  readonly timersMs: number[] = []

  /** Replaces timers and the clock until the end of the test. */
  constructor(t: Test) {
    const ended = new Set<object>()
    const set = (end: () => void, ms: number) => {
      this.timersMs.push(ms)
      const timer = {}
      setImmediate(() => {
        if (ended.has(timer)) return
        // As in Node, a time that does not fit into 31 bits, or is not a time, elapses at once.
        this.now += ms >= 1 && ms < 2 ** 31 ? ms : 1
        end()
      })
      return timer
    }
    t.intercept(globalThis, 'setTimeout', { value: set })
    t.intercept(globalThis, 'clearTimeout', { value: (timer: object) => ended.add(timer) })
    t.intercept(performance, 'now', { value: () => this.now })
  }
}
