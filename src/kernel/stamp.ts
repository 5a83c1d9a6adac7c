// Time and randomness enter the forum here and nowhere else. A record contains every time and
// random value that its effect depends on, so a replay of the log needs neither.

import { randomBytes, randomFillSync } from 'node:crypto'
import { ForumClock, type TimeSources } from './clock.ts'

export interface Stamps {
  /** Forum time; see `timeOf`. */
  clock: ForumClock
  /** A new id: 128 random bits as 32 lowercase hex characters. */
  id(): string
  /** A new bearer token: `aic_` and 256 random bits in hex. */
  token(): string
  /** Random bytes, for everything else that must be unguessable. */
  bytes(count: number): Buffer
}

const idBytes = 16
const tokenBytes = 32
const poolBytes = 512 * idBytes

const systemTime: TimeSources = { wall: () => Date.now(), elapsed: () => performance.now() }

/**
 * Makes stamps from the system's clock and random source. One call of that source per id would cost
 * 3 µs, so ids are cut from a pool of random bytes. `onStep` is that of ForumClock.
 */
export function systemStamps(onStep?: (ms: number) => void): Stamps {
  const pool = Buffer.alloc(poolBytes)
  let used = poolBytes
  return {
    clock: new ForumClock(systemTime, onStep),
    id() {
      if (used === poolBytes) {
        randomFillSync(pool)
        used = 0
      }
      used += idBytes
      return pool.toString('hex', used - idBytes, used)
    },
    token: () => `aic_${randomBytes(tokenBytes).toString('hex')}`,
    bytes: randomBytes,
  }
}

/** A random seed for hashing values that callers choose. */
export function randomSeed(): number {
  return randomBytes(4).readUInt32LE()
}
