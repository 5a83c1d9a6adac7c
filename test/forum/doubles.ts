// Test doubles for the disk, the clock and randomness around a real forum. The log's rows are kept
// as packed bytes, time stands still until a test advances it, and ids come from a counter.

import { createHash } from 'node:crypto'
import { Packr } from 'msgpackr'
import { openToAll } from '../../src/edge/api/access.ts'
import type { Call, Outcome, Route, Service } from '../../src/edge/api/route.ts'
import { apply } from '../../src/forum/apply.ts'
import * as commands from '../../src/forum/commands.ts'
import { type Forum, makeForum } from '../../src/forum/forum.ts'
import { decode, type ForumRecord } from '../../src/forum/records.ts'
import { State } from '../../src/forum/state.ts'
import { ForumClock } from '../../src/kernel/clock.ts'
import type { QuotaLimits } from '../../src/kernel/quotas.ts'
import type { Health } from '../../wal/journal/journal.ts'
import type { ColdText } from './cold-text.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
const packr = new Packr({ useRecords: false })

/** A journal whose records are durable immediately and are kept packed. */
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

  separate(): boolean {
    return true
  }

  /** The records after the first `skipped`, decoded from their bytes. */
  records(skipped = 0): ForumRecord[] {
    return this.packed.slice(skipped).map((bytes) => decode(packr.unpack(bytes)))
  }
}

export interface World {
  forum: Forum
  rows: Rows
  /**
   * The time of the system clock, and the elapsed time, which is unaffected when that clock is set.
   */
  clock: { now: number; elapsed: number }
}

/** Returns an empty forum on its doubles. With `textDisk`, its text can be moved there. */
export function newWorld(limits: QuotaLimits = {}, textDisk?: ColdText): World {
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
  const cold = textDisk === undefined ? {} : { textBytesMax: 0 }
  const state = new State({ retentionMs: dayMs, seed: 7, limits, ...cold })
  const [ticketKey, addressKey, sessionKey] = [1, 2, 3].map((fill) => Buffer.alloc(32, fill))
  const keys = { ticketKey: ticketKey!, addressKey: addressKey!, sessionKey: sessionKey! }
  const parts = { state, journal: rows, stamps, webhookKey, ...keys }
  if (textDisk === undefined) return { forum: makeForum(parts), rows, clock }
  textDisk.state = state
  return { forum: makeForum({ ...parts, textDisk }), rows, clock }
}

/** Returns a forum's clock on top of this one. A restart makes a new one. */
export function clockOf(clock: World['clock'], onStep?: (ms: number) => void): ForumClock {
  return new ForumClock({ wall: () => clock.now, elapsed: () => clock.elapsed }, onStep)
}

/** Advances all clocks. */
export function goOn(clock: World['clock'], ms: number): void {
  clock.now += ms
  clock.elapsed += ms
}

/** The key that seals the secrets of webhooks. A restart keeps it. */
export const webhookKey = Buffer.alloc(32, 5)

/** Returns the state to which the rows fold, with a different seed, as after a restart. */
export function replayed(rows: Rows, limits: QuotaLimits = {}): State {
  const state = new State({ retentionMs: dayMs, seed: 1234567, limits })
  for (const [i, record] of rows.records().entries()) apply(state, i + 1, record)
  return state
}

/** Moves the forum to a recovered state. */
export function restart(forum: Forum, state: State): void {
  Object.assign(forum, makeForum({ ...forum, state }))
}

/** Returns the service on which the routes of api/ run. */
export function serviceOf(forum: Forum): Service {
  return {
    forum,
    commands,
    publicUrl: 'http://127.0.0.1:1',
    title: 'Agent Forum',
    role: () => 'single',
    pollAfterSeconds: 60,
    webhooks: { refuseUrl: () => null, challenge: () => null },
    access: openToAll,
    compat: true,
    search: null,
    durability: 'always',
    version: '0.0.0',
    uptimeSeconds: () => 0,
    epoch: '0'.repeat(32),
  }
}

/** A connection that stays open. */
export const connection = { isGone: false }

type AnyCall = Call<unknown, unknown>

/** Returns the outcome of a route that answers at once. Missing parts of the call are blank. */
export function outcomeOf(forum: Forum, route: Route, call: Partial<AnyCall>): Outcome {
  const blank = {
    caller: -1,
    token: 0,
    session: null,
    id: '',
    query: {},
    body: {},
    key: '',
    client: '',
    origin: '',
  }
  const outcome = route.run(serviceOf(forum), {
    ...blank,
    ...{ ifNoneMatch: '', isMinimal: false, connection, found: undefined },
    ...call,
  })
  if (outcome instanceof Promise) throw new Error(`${route.name} does not answer at once`)
  if (outcome === null) throw new Error(`${route.name} needs text from disk`)
  return outcome
}
