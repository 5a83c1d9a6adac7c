// Time and chance enter here and nowhere else. What a record needs of them is in the record, so a
// replay of the log needs neither.

import { randomBytes, randomFillSync } from 'node:crypto'

export interface Stamps {
  /** Milliseconds since the epoch, as the system's clock says. It may step back; see `timeOf`. */
  clock(): number
  /** A new id: 128 random bits as 32 lowercase hex characters. */
  id(): string
  /** A new bearer token: `aic_` and 256 random bits in hex. */
  token(): string
  /** Random bytes, for all else that nobody may guess. */
  bytes(count: number): Buffer
}

const idBytes = 16
const tokenBytes = 32
const poolBytes = 512 * idBytes
const sampleMs = 1_000
const aheadMsMin = 60_000

/**
 * The system's clock and random source. A call per id would cost 3 us: ids come from a pool.
 * `onStep` hears by how much the clock has stepped, in milliseconds: back when that is less than 0,
 * else a minute ahead or more of the time that has passed.
 */
export function systemStamps(onStep: (ms: number) => void = () => {}): Stamps {
  let latest = 0
  // The clock and the time that has passed, taken once a second: a clock that nobody set keeps up.
  let sample = { now: 0, passed: 0 }
  const pool = Buffer.alloc(poolBytes)
  let used = poolBytes
  return {
    clock() {
      const now = Date.now()
      if (now < latest) onStep(now - latest)
      latest = now
      if (now - sample.now >= sampleMs || now < sample.now) {
        const passed = performance.now()
        const ahead = now - sample.now - (passed - sample.passed)
        if (sample.now > 0 && ahead >= aheadMsMin) onStep(Math.round(ahead))
        sample = { now, passed }
      }
      return now
    },
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

/** A seed for hashing what callers choose. */
export function randomSeed(): number {
  return randomBytes(4).readUInt32LE()
}
