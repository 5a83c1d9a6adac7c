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

/**
 * The system's clock and random source. A call per id would cost 3 us: ids come from a pool.
 * `onStepBack` hears by how much the clock has stepped back, in milliseconds.
 */
export function systemStamps(onStepBack: (ms: number) => void = () => {}): Stamps {
  let latest = 0
  const pool = Buffer.alloc(poolBytes)
  let used = poolBytes
  return {
    clock() {
      const now = Date.now()
      if (now < latest) onStepBack(latest - now)
      latest = now
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
