// What stands in for the disk, the clock and chance around a real forum: the log's rows are kept as
// the bytes they would be, time stands where it is put, and ids come from a count.

import { createHash } from 'node:crypto'
import { Packr } from 'msgpackr'
import type { Call, Outcome, Route, Service } from '../../src/api/route.ts'
import { apply } from '../../src/forum/apply.ts'
import { ForumClock } from '../../src/forum/clock.ts'
import { type Forum, makeForum } from '../../src/forum/forum.ts'
import { decode, type ForumRecord } from '../../src/forum/records.ts'
import type { QuotaLimits } from '../../src/state/quotas.ts'
import { State } from '../../src/state/state.ts'
import type { Health } from '../../wal/journal/journal.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
const packr = new Packr({ useRecords: false })

/** A journal that is durable at once, and keeps its records packed. */
export class Rows {
  readonly packed: Buffer[] = []
  health: Health = 'ok'

  get position(): number {
    return this.packed.length
  }

  get durable(): number {
    return this.packed.length
  }

  append(row: unknown): number {
    return this.packed.push(Buffer.from(packr.pack(row)))
  }

  flush(): void {}

  /** The records, read back from their bytes. */
  records(): ForumRecord[] {
    return this.packed.map((bytes) => decode(packr.unpack(bytes)))
  }
}

export interface World {
  forum: Forum
  rows: Rows
  /** Where the system clock stands, and how much time has elapsed whatever it says. */
  clock: { now: number; elapsed: number }
}

/** An empty forum on its doubles. */
export function newWorld(limits: QuotaLimits = {}): World {
  const rows = new Rows()
  const clock = { now: 1_790_000_000_000, elapsed: 0 }
  let drawn = 0
  const draw = () => createHash('sha256').update(String(drawn++)).digest('hex')
  const stamps = {
    clock: clockOf(clock),
    id: () => draw().slice(0, 32),
    token: () => `aic_${draw()}`,
    bytes: (count: number) => Buffer.alloc(count, draw()),
  }
  const state = new State({ retentionMs: dayMs, seed: 7, limits })
  const keys = { ticketKey: Buffer.alloc(32, 1), addressKey: Buffer.alloc(32, 2) }
  return { forum: makeForum({ state, journal: rows, stamps, webhookKey, ...keys }), rows, clock }
}

/** A forum's clock over this one; a new one is what a restart has. */
export function clockOf(clock: World['clock'], onStep?: (ms: number) => void): ForumClock {
  return new ForumClock({ wall: () => clock.now, elapsed: () => clock.elapsed }, onStep)
}

/** Time goes by, on all clocks. */
export function goOn(clock: World['clock'], ms: number): void {
  clock.now += ms
  clock.elapsed += ms
}

/** Seals the secrets of webhooks, before a restart and after. */
export const webhookKey = Buffer.alloc(32, 5)

/** The state that the rows fold to, with another seed, as after a restart. */
export function replayed(rows: Rows, limits: QuotaLimits = {}): State {
  const state = new State({ retentionMs: dayMs, seed: 1234567, limits })
  for (const [i, record] of rows.records().entries()) apply(state, i + 1, record)
  return state
}

/** The same forum on a state that was recovered. */
export function restart(forum: Forum, state: State): void {
  Object.assign(forum, makeForum({ ...forum, state }))
}

/** What the routes of api/ run on. */
export function serviceOf(forum: Forum): Service {
  return {
    forum,
    publicUrl: 'http://127.0.0.1:1',
    pollAfterSeconds: 60,
    webhooks: { refuseUrl: () => null, challenge: () => null },
    compat: true,
    durability: 'always',
    version: '0.0.0',
    uptimeSeconds: () => 0,
    epoch: '0'.repeat(32),
  }
}

/** A connection whose caller stays. */
export const connection = { isGone: false }

type AnyCall = Call<unknown, unknown>

/** What a route that answers at once answers to this call; what the call lacks is blank. */
export function outcomeOf(forum: Forum, route: Route, call: Partial<AnyCall>): Outcome {
  const blank = { caller: -1, id: '', query: {}, body: {}, key: '', client: '', origin: '' }
  const outcome = route.run(serviceOf(forum), { ...blank, ifNoneMatch: '', connection, ...call })
  if (outcome instanceof Promise) throw new Error(`${route.name} does not answer at once`)
  return outcome
}
