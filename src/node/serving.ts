// What a node serves with, once its state is recovered: the service that routes reach, the gate,
// and what it does while it leads. A node that is alone leads from the start; one whose log is
// replicated may lead later, in place.

import { JournalError } from '../../wal/errors.ts'
import type { Journal } from '../../wal/journal/journal.ts'
import type { Service } from '../api/route.ts'
import type { Config } from '../config/config.ts'
import type { Send } from '../delivery/send.ts'
import * as commands from '../forum/commands.ts'
import { clearCaches, type Forum } from '../forum/forum.ts'
import { Gate } from '../http/gate.ts'
import type { Load } from '../http/load.ts'
import type { Readers } from '../readers/readers.ts'
import { NodeAdmission } from './admission.ts'
import { type Leading, startLeading } from './leading.ts'

export interface ServingParts {
  forum: Forum
  /** The id of the present epoch. */
  epoch: string
  config: Config
  version: string
  publicUrl: string
  load: Load
  /** Posts to webhooks in place of the network. */
  send: Send | undefined
  role: Service['role']
  /** When the process began to start, as performance.now(). */
  startedAt: number
}

export class Serving {
  readonly gate = new Gate()
  readonly service: Service
  /** Rejects when the node cannot go on: its storage has failed, or another node leads. */
  readonly failed: Promise<never>
  /** The readers, which hear of everything that becomes durable; null: there are none. */
  readers: Pick<Readers, 'useJournal' | 'fail'> | null = null
  #journal: Journal | null = null
  readonly #parts: ServingParts
  #leading: Leading | null = null
  #unwatch: () => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor(parts: ServingParts) {
    this.#parts = parts
    const { forum, epoch, config, version, publicUrl, role, startedAt } = parts
    this.service = {
      forum,
      commands,
      publicUrl,
      pollAfterSeconds: config.pollAfterSeconds,
      // A follower passes on every request that would reach it.
      webhooks: { refuseUrl: unreachable, challenge: unreachable },
      compat: config.compat,
      durability: config.durabilityName,
      version,
      epoch,
      role,
      uptimeSeconds: () => Math.floor((performance.now() - startedAt) / 1000),
    }
    this.failed = new Promise<never>((_, reject) => {
      this.#reject = reject
    })
    this.failed.catch(() => {}) // the caller of startNode handles it
  }

  /** Warnings for the operator, one sentence each. */
  get warnings(): string[] {
    return this.#leading?.warnings ?? []
  }

  /** What says how far the log is durable, after `follow` or `lead`. */
  get journal(): Journal {
    return this.#journal!
  }

  /** Watches the memory where another node leads, as `lead` does where this one does. */
  follow(journal: Journal): void {
    this.#journal = journal
    const { forum, load, config } = this.#parts
    const { memoryBytesMax } = config.nodeLimits
    const free = () => clearCaches(forum)
    const admission = new NodeAdmission({ load, gate: this.gate, journal, memoryBytesMax, free })
    this.#unwatch = admission.start()
  }

  /** Leads from now on: releases answers and wakeups as this journal becomes durable. */
  lead(journal: Journal): void {
    const { gate, service } = this
    this.#journal = journal
    this.#unwatch()
    const leading = startLeading({ ...this.#parts, journal, gate, publicUrl: service.publicUrl })
    this.#leading = leading
    service.webhooks = leading.wakeups
    journal.onDurable = (durable) => this.show(durable)
    journal.onFailed = (error) => this.fail(error)
    this.readers?.useJournal(journal)
    if (journal.failure !== null) this.fail(journal.failure)
  }

  /** Releases answers, polls that wait, and wakeups up to this position. */
  show(durable: number): void {
    this.gate.open(durable)
    this.#parts.forum.waiting.onDurable(durable)
    this.#leading?.onDurable(durable)
  }

  /** Refuses what waits for the log, and rejects `failed`. */
  fail(error: Error): void {
    const isFenced = error instanceof JournalError && error.exitCode === 78
    const failure = isFenced ? 'no_leader' : 'storage_failed'
    this.gate.fail(failure)
    this.readers?.fail(failure)
    // Requests that arrived before are answered first: this rejection ends the process.
    setImmediate(() => this.#reject(error))
  }

  /** Records and sends nothing more; resolves when the attempts in flight have ended. */
  async stopLeading(): Promise<void> {
    this.#unwatch()
    await this.#leading?.stop()
  }
}

function unreachable(): never {
  throw new Error('a follower challenges no endpoints')
}
