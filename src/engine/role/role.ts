// The role of a process among those that share one log: it decides alone, leads others, or follows.
// All changes of role happen here and in place, in main processes and in readers.
//
//              ┌─ledAlone─▶ solo ─────┐
//   starting ──┼─followed─▶ follower ─┼─stopped─▶ stopping ─failed─▶ failed
//              │               │ led  │ failed                        ▲
//              └─led──────▶ leader ───┴───────────────────────────────┘
//
//   durable ──▶ all readers have it ──▶ shown: answers, polls and wakeups are released
//
// R1. The shown position only grows. Everything up to it is durable, as reported by the log, the
//     leader or the main process, and the readers of this process know that
//     (cluster/readers/hub.ts, H1).
// R2. Nothing is shown after a failure, and no role is taken after a failure or a stop: a takeover
//     that a stop interrupts ends without leading (cluster/replication/lead.ts, L4).
// R3. A follower appends no records of its own, forwards requests that may write, and does none of
//     the work of a node that decides. A node that decides forwards nothing. No process is in
//     between.
// R4. `gate.standing` limits how long answers without a new record are valid (edge/http/gate.ts,
//     G4). It comes with the role: for a leader it is the lease, for readers that of their main
//     process.
// R5. The first failure counts: everything that waits is refused once, with the reason of that
//     failure, in this process and in its readers.
//
// Neighbours: forum-log.ts is the log as the forum sees it in each role; admission.ts, expiry.ts
// and wakeups.ts are the work of a node that decides; node/server.ts leads alone,
// cluster/replication/following.ts and lead.ts follow and lead, node/reader.ts follows its main
// process.

import assert from 'node:assert/strict'
import { assertEvent, assign, setup } from 'xstate'
import { JournalError } from '../../../wal/errors.ts'
import type { Journal } from '../../../wal/journal/types.ts'
import type { Config } from '../../config/config.ts'
import type { RoleName, Service } from '../../edge/api/route.ts'
import { Gate, type GateFailure, type Standing } from '../../edge/http/gate.ts'
import type { Edge } from '../../edge/http/handle.ts'
import type { Load } from '../../edge/http/load.ts'
import { receive } from '../../forum/apply.ts'
import * as commands from '../../forum/commands.ts'
import { clearCaches, type Forum } from '../../forum/forum.ts'
import type { Send } from '../../forum/webhooks/send.ts'
import { actor, blank, type ContextOf, type EventOf } from '../../kernel/actor.ts'
import { NodeAdmission } from './admission.ts'
import { startExpiry } from './expiry.ts'
import { DecidedLog, FollowedLog } from './forum-log.ts'
import { startWakeups, type WakeupConfig, type Wakeups } from './wakeups.ts'

/** The position up to which everything may be shown. */
const layout = { shown: 'f64' } as const

/** With `ledAlone`, `followed` and `led`, everything up to the position is durable already. */
const events = {
  ledAlone: { position: 'f64' },
  followed: { position: 'f64' },
  led: { position: 'f64' },
  durable: { position: 'f64' },
  failed: {},
  stopped: {},
} as const

const durable = { guard: 'isNews', actions: 'show' } as const

const machine = setup({
  types: { context: {} as ContextOf<typeof layout>, events: {} as EventOf<typeof events> },
  guards: {
    isNews: ({ context, event }) => event.type === 'durable' && event.position > context.shown,
  },
  actions: {
    begin: assign(({ event }) => {
      assertEvent(event, ['ledAlone', 'followed', 'led'])
      return { shown: event.position }
    }),
    show: assign(({ event }) => {
      assertEvent(event, 'durable')
      return { shown: event.position }
    }),
  },
}).createMachine({
  id: 'role',
  description: 'A process decides alone, leads or follows; nothing is shown after a failure.',
  context: blank(layout),
  initial: 'starting',
  states: {
    starting: {
      on: {
        ledAlone: { target: 'solo', actions: 'begin' },
        followed: { target: 'follower', actions: 'begin' },
        led: { target: 'leader', actions: 'begin' },
        failed: 'failed',
        stopped: 'stopping',
      },
    },
    solo: { on: { durable, failed: 'failed', stopped: 'stopping' } },
    follower: { on: { durable, led: 'leader', failed: 'failed', stopped: 'stopping' } },
    leader: { on: { durable, failed: 'failed', stopped: 'stopping' } },
    stopping: { on: { durable, failed: 'failed' } },
    failed: { type: 'final' },
  },
})

/** Declared like the actors; its codes are not on disk. */
export const roleKind = actor({
  machine,
  codes: { starting: 0, solo: 1, follower: 2, leader: 3, stopping: 4, failed: 5 },
  layout,
  events,
})
const { compiled } = roleKind

type RoleConfig = WakeupConfig &
  Pick<Config, 'title' | 'pollAfterSeconds' | 'access' | 'compat' | 'durabilityName'> & {
    nodeLimits: Pick<Config['nodeLimits'], 'memoryBytesMax'>
  }

export interface RoleParts {
  forum: Forum
  edge: Pick<Edge, 'open' | 'forward'>
  load: Load
  config: RoleConfig
  version: string
  publicUrl: string
  epoch: string
  /** When the process began to start, as a time of performance.now(). */
  startedAt: number
  /** Replaces the network for requests to webhooks. */
  send?: Send | undefined
  /**
   * The role that is reported to callers, if it is another: a reader reports that of its node.
   */
  name?: () => RoleName
  /** Called with the log when this node begins to decide, alone or as a leader. */
  onLead?: (journal: Journal) => void
}

/** What a follower needs besides the records. */
export interface Leader {
  /** Forwards requests that may write. */
  forward: NonNullable<Edge['forward']>
  /** The log of this process, if it has one; it reports what is durable. */
  journal?: Journal
  /** How long answers may be given from the state; by default always. */
  standing?: Standing
  /** Called when the shown position has advanced. */
  onShown?: () => void
}

/** The readers of this process (cluster/readers/readers.ts). */
export interface RoleReaders {
  /** Calls `show` with the position when all have its records, and lets them show it, too. */
  announce(durable: number): void
  useJournal(journal: Journal): void
  /** Refuses what waits at readers, as `Gate.giveUp` does here. */
  giveUp(): void
  fail(failure: GateFailure): void
}

export class Role {
  readonly gate = new Gate()
  readonly service: Service
  /** Rejects when the process cannot continue: its storage has failed, or another node leads. */
  readonly failed: Promise<never>
  /** The failure that `failed` rejects with; null until there is one. */
  failure: Error | null = null
  readonly #parts: RoleParts
  readonly #actor = { state: compiled.initialState, context: compiled.initialContext() }
  readonly #admission: NodeAdmission
  #name: RoleName = 'follower'
  #journal: Journal | null = null
  #readers: RoleReaders | null = null
  /** The work of a node that decides; null while it does none. */
  #work: { wakeups: Wakeups; stopExpiry: () => void } | null = null
  #onShown: () => void = () => {}
  #unwatch: () => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor(parts: RoleParts) {
    this.#parts = parts
    const { forum, edge, load, config, startedAt, name } = parts
    const { publicUrl, version, epoch } = parts
    const { memoryBytesMax } = config.nodeLimits
    const log = () => this.#journal ?? forum.journal
    const journal = {
      get durable() {
        return log().durable
      },
    }
    const free = () => clearCaches(forum)
    this.#admission = new NodeAdmission({ load, gate: this.gate, journal, memoryBytesMax, free })
    this.service = {
      ...{ forum, commands, publicUrl, version, epoch },
      title: config.title,
      pollAfterSeconds: config.pollAfterSeconds,
      // Never called while following: every request that would call these is forwarded.
      webhooks: { refuseUrl: unreachable, challenge: unreachable },
      access: config.access,
      compat: config.compat,
      search: null,
      durability: config.durabilityName,
      role: name ?? (() => this.name),
      uptimeSeconds: () => Math.floor((performance.now() - startedAt) / 1000),
    }
    this.failed = new Promise<never>((_, reject) => {
      this.#reject = reject
    })
    this.failed.catch(() => {}) // the code that started the process handles it
    forum.knowsEnd = () => this.#knowsEnd
    edge.open(this.service, this.gate)
  }

  /** The role that is reported to callers: the last one that was taken. */
  get name(): RoleName {
    return this.#name
  }

  /** Whether it may still become the leader (R2). */
  get mayLead(): boolean {
    return compiled.may(this.#actor, { type: 'led', position: 0 })
  }

  /** The log of this process; a reader has none. */
  get journal(): Journal {
    return this.#journal!
  }

  /** The position of the last record applied. */
  get position(): number {
    return this.#parts.forum.state.position
  }

  /** The position up to which everything may be shown. */
  get durable(): number {
    return this.#actor.context.shown
  }

  /**
   * Whether no caller has seen more than the state has. Followers may be ahead of the readers of a
   * leader, and behind each other; a leader that may have been replaced may be behind all.
   */
  get #knowsEnd(): boolean {
    if (this.service.role() === 'single') return true
    return this.#work !== null && this.gate.mayDecide
  }

  get warnings(): string[] {
    return this.#work === null ? [] : this.#admission.warnings
  }

  leadAlone(journal: Journal): void {
    compiled.tell(this.#actor, { type: 'ledAlone', position: journal.durable })
    this.#decide('single', journal)
  }

  /** Begins to decide for others, for as long as `standing` allows. */
  lead(journal: Journal, standing: Standing): void {
    compiled.tell(this.#actor, { type: 'led', position: journal.durable })
    this.gate.standing = standing
    this.#decide('leader', journal)
  }

  /** Begins to follow a leader. Everything that the state already holds is durable. */
  follow({ forward, journal, standing = this.gate.standing, onShown = () => {} }: Leader): void {
    const { forum, edge } = this.#parts
    compiled.tell(this.#actor, { type: 'followed', position: this.position })
    forum.journal = new FollowedLog(this.#actor.context)
    forum.isFollower = true
    edge.forward = forward
    this.gate.standing = standing
    this.#onShown = onShown
    this.#watch(journal)
  }

  /** From now on, tells these readers of each durable position before it is shown. */
  useReaders(readers: RoleReaders): void {
    this.#readers = readers
  }

  /** Appends and applies records of the leader (`receive` of forum/apply.ts). */
  receive(first: number, count: number, records: Uint8Array, append?: () => void): boolean {
    assert(this.#work === null, 'R3: a node that decides takes no records of others')
    return receive(this.#parts.forum, first, count, records, append)
  }

  /**
   * Must be called when the log is durable up to this position, which is then shown as soon as the
   * readers have been told.
   */
  becameDurable(position: number): void {
    if (!compiled.may(this.#actor, { type: 'durable', position })) return
    if (this.#readers === null) this.show(position)
    else this.#readers.announce(position)
  }

  /**
   * Releases answers, polls and wakeups up to this position, or up to the last applied record if
   * that is earlier.
   */
  show(durable: number): void {
    const position = Math.min(durable, this.position)
    if (!compiled.step(this.#actor, { type: 'durable', position })) return
    this.gate.open(position)
    this.#parts.forum.waiting.onDurable(position)
    this.#onShown()
  }

  /** Refuses what waits for the log now, here and at the readers, but nothing that comes later. */
  giveUp(): void {
    this.gate.giveUp()
    this.#readers?.giveUp()
  }

  /** Refuses everything that waits for the log, and rejects `failed`. */
  fail(error: Error, failure = failureOf(error)): void {
    if (!this.refuse(failure)) return
    this.failure = error
    // Requests that have arrived are answered first, because this rejection ends the process.
    setImmediate(() => this.#reject(error))
  }

  /**
   * Refuses everything that waits, because nothing becomes durable any more. After the first
   * failure it does nothing and returns false (R5).
   */
  refuse(failure: GateFailure): boolean {
    if (!compiled.step(this.#actor, { type: 'failed' })) return false
    this.gate.fail(failure)
    this.#readers?.fail(failure)
    return true
  }

  /** Stops taking roles, recording and sending; resolves when the attempts in flight have ended. */
  async stop(): Promise<void> {
    compiled.step(this.#actor, { type: 'stopped' })
    this.#unwatch()
    this.#work?.stopExpiry()
    await this.#work?.wakeups.stop()
  }

  #decide(name: RoleName, journal: Journal): void {
    const { forum, edge, config, publicUrl, send, onLead } = this.#parts
    this.#name = name
    this.#readers?.useJournal(journal) // before what follows may record something
    forum.journal = new DecidedLog(journal, this.#actor.context)
    forum.isFollower = false
    forum.admission = this.#admission
    edge.forward = null
    onLead?.(journal)
    const wakeups = startWakeups(forum, config, publicUrl, send)
    this.service.webhooks = wakeups
    this.#onShown = () => wakeups.onDurable(this.durable)
    this.#work = { wakeups, stopExpiry: startExpiry(forum) }
    wakeups.resume()
    this.#watch(journal)
    this.becameDurable(journal.durable)
  }

  /** Watches the memory, and the log if this process has one. */
  #watch(journal?: Journal): void {
    this.#unwatch()
    this.#unwatch = this.#admission.start()
    if (journal === undefined) return
    this.#journal = journal
    journal.onDurable = (position) => this.becameDurable(position)
    journal.onFailed = (error) => this.fail(error)
    if (journal.failure !== null) this.fail(journal.failure)
  }
}

/** The failure that callers see: another node may have replaced this one, or its storage failed. */
function failureOf(error: Error): GateFailure {
  const mayBeReplaced = error instanceof JournalError && error.exitCode === 78
  return mayBeReplaced ? 'no_leader' : 'storage_failed'
}

function unreachable(): never {
  throw new Error('a follower challenges no endpoints')
}
