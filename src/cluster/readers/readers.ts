// Supervises the reader processes of a node: starts them, restarts those that exit, and lets them
// take over the port.
//
// Y1. While any reader serves, this process accepts no connections, so that its time goes to
//     writes. While none does, it serves alone.
// Y2. A reader that exits is restarted: at once at first, and at growing intervals while it keeps
//     failing.
// Y3. Readers exit with this process, because their only connection to it closes.
// Y4. Where the log is replicated, they follow this node, whether it leads or follows: they show
//     what its journal calls durable, and it may forward to the leader what they forward to it.

import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Disk, realDisk } from '../../../wal/disk.ts'
import type { Journal } from '../../../wal/journal/types.ts'
import { Backoff } from '../../base/pauses.ts'
import { letHeapGrow } from '../../base/process.ts'
import { startProcess } from '../../base/program-files.ts'
import type { Config, SettingTexts } from '../../config/config.ts'
import { variablePrefix } from '../../config/settings.ts'
import type { Listener } from '../../edge/http/exchange.ts'
import type { GateFailure } from '../../edge/http/gate.ts'
import type { Edge } from '../../edge/http/handle.ts'
import type { Load } from '../../edge/http/load.ts'
import type { Role, RoleReaders } from '../../engine/role/role.ts'
import type { ReadersStats } from '../../operators/ops/vitals.ts'
import { ReaderHub } from './hub.ts'
import { kinds, packedMessage } from './messages.ts'
import { ReaderCounts, type ReaderReport } from './report.ts'
import type { ReaderSetup } from './setup.ts'

const restartMsMin = 100
const restartMsMax = 10_000
const endMs = 8000
const endCheckMs = 10

export interface ReadersParts {
  config: Config
  /** The texts of the settings from which the configuration was made. */
  texts: SettingTexts
  log: Logger
  role: Role
  disk: Disk | undefined
  edge: Pick<Edge, 'handle' | 'run' | 'meter'>
  load: Load
  listener: Listener
  /** Starts a reader's process, with a socket to it as its descriptor 3. */
  startReader?: (() => ChildProcess) | undefined
}

export class Readers implements ReadersStats, RoleReaders {
  restarts = 0
  readonly #counts: ReaderCounts
  readonly #parts: ReadersParts
  readonly #hub: ReaderHub
  readonly #children = new Map<number, ChildProcess>()
  #serving = 0
  #isStopping = false

  constructor(parts: ReadersParts) {
    letHeapGrow()
    this.#parts = parts
    const { role, config, edge, load, disk = realDisk } = parts
    const { journal, gate, service } = role
    const handler = edge.handle.bind(edge)
    const { waiting, guesses } = service.forum
    const [{ meter }, { ended: waitingEnded }, { notLetIn }] = [edge, waiting, guesses]
    this.#counts = new ReaderCounts({ meter, load, waitingEnded, notLetIn })
    const ownConnections = load.connections
    load.connections = () => ownConnections() + this.#sum(({ connections }) => connections)
    this.#hub = new ReaderHub({
      journal,
      gate,
      handler,
      run: edge.run.bind(edge),
      show: (durable) => role.show(durable),
      log: { disk, dir: config.data, storeId: journal.storeId },
      onReport: (report, before) => {
        this.#counts.add(before, report)
        this.#passOnSeen(report, before === null)
      },
      onChange: () => this.#onChange(),
    })
    for (let reader = 1; reader <= config.readers; reader++) {
      this.#start(reader, new Backoff(restartMsMin, restartMsMax))
    }
  }

  get counts(): { configured: number; serving: number } {
    return { configured: this.#parts.config.readers, serving: this.#serving }
  }

  get running(): ReaderReport[] {
    return [...this.#hub.readers].flatMap(({ report }) => report ?? [])
  }

  get cpuSeconds(): number {
    return this.#counts.cpuSeconds
  }

  get forwarded(): number {
    return this.#counts.forwarded
  }

  get textReads(): number {
    return this.#counts.textReads
  }

  get staleness(): ReadersStats['staleness'] {
    return this.#counts.staleness
  }

  /** The number of polls that wait, in all processes. */
  get waiting(): number {
    return this.#parts.role.service.forum.waiting.length + this.#sum(({ waiting }) => waiting)
  }

  get heldSeconds(): number {
    return this.#hub.heldSeconds
  }

  /** Warnings for the operator, one sentence each. */
  get warnings(): string[] {
    const { configured, serving } = this.counts
    return serving === configured ? [] : [`readers: ${serving} of ${configured} serve`]
  }

  /** Passes on which identities this process and a reader have seen; to a new reader, all. */
  #passOnSeen({ seen }: ReaderReport, isFirst: boolean): void {
    const { lastSeen } = this.#parts.role.service.forum
    lastSeen.merge(seen, true)
    const news = lastSeen.takeNews()
    const told = isFirst ? lastSeen.all() : news
    if (told.length > 0) this.#hub.tell(kinds.seen, told)
  }

  announce(durable: number): void {
    this.#hub.announce(durable)
  }

  /** Continues the log with another journal, after the node's role has changed (hub.ts). */
  useJournal(journal: Journal): void {
    this.#hub.useJournal(journal)
    this.#hub.tell(kinds.role, this.#parts.role.name)
  }

  /** Refuses what waits at readers for a position that the node cannot decide on now. */
  giveUp(): void {
    this.#hub.tell(kinds.giveUp, null)
  }

  /** Nothing becomes durable any more: refuses what waits for that at readers, too. */
  fail(failure: GateFailure): void {
    this.#hub.tell(kinds.failed, failure)
  }

  checkpointTaken(number: number, position: number): void {
    this.#hub.checkpointTaken(number, position)
  }

  /** Whether every reader has reported that it has applied the record at this position. */
  haveApplied(position: number): boolean {
    return [...this.#hub.readers].every(({ report }) => (report?.position ?? -1) >= position)
  }

  /** Asks the readers to finish; resolves when their processes have ended, or after `endMs`. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#hub.stop()
    for (let ms = 0; ms < endMs && this.#children.size > 0; ms += endCheckMs) {
      await sleep(endCheckMs)
    }
    this.#hub.close()
  }

  #start(reader: number, pauses: Backoff): void {
    const { log, startReader = spawnReader } = this.#parts
    const child = startReader()
    const begun = performance.now()
    this.#children.set(reader, child)
    let why = ''
    const end = (reason: string) => {
      why = reason
      child.kill('SIGKILL')
    }
    // If no more files can be opened, the child has no `stdio`, and emits `error` soon after.
    const socket = child.stdio?.[3] as Socket | undefined
    const port = socket === undefined ? null : this.#hub.add(socket, end)
    port?.send(packedMessage(kinds.setup, this.#setupOf(reader)))
    child.once('error', ({ message }) => {
      end(message)
      port?.giveUp(message)
    })
    child.once('close', (code, signal) => {
      port?.giveUp('its process has ended')
      this.#children.delete(reader)
      if (this.#isStopping) return
      const served = performance.now() - begun
      if (served > restartMsMax) pauses.reset()
      log.warn({ reader, pid: child.pid, code, signal, why }, 'reader_ended')
      this.restarts += 1
      const again = () => {
        if (!this.#isStopping) this.#start(reader, pauses)
      }
      setTimeout(again, pauses.next()).unref()
    })
    if (child.pid !== undefined) log.info({ reader, pid: child.pid }, 'reader_started')
  }

  #sum(read: (report: ReaderReport) => number): number {
    return this.running.reduce((sum, report) => sum + read(report), 0)
  }

  #setupOf(reader: number): ReaderSetup {
    const { config, texts, role, listener } = this.#parts
    const { nodeLimits } = config
    const { version, epoch, publicUrl, forum } = role.service
    return {
      reader,
      version,
      texts,
      nodeLimits,
      epoch,
      publicUrl,
      sessionKey: forum.sessionKey,
      epochBegin: forum.epochBegin ?? null,
      storeId: role.journal.storeId,
      role: role.name,
      port: listener.port,
    }
  }

  #onChange(): void {
    const { listener, log, config } = this.#parts
    const { serving } = this.#hub
    if (!this.#isStopping) listener.setOpen!(serving === 0)
    if (serving === this.#serving) return
    this.#serving = serving
    if (!this.#isStopping) log.info({ serving, readers: config.readers }, 'readers_serving')
  }
}

function spawnReader(): ChildProcess {
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith(variablePrefix))
  return startProcess('reader', process.execArgv, {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    env: Object.fromEntries(env),
  })
}
