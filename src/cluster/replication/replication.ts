// Replication as seen by the start of a node: the stream, the node's place in the history, and its
// role. A node without replication does not load this file.

import type { Logger } from 'pino'
import { realDisk } from '../../../wal/disk.ts'
import type { Journal, JournalOptions } from '../../../wal/journal/journal.ts'
import { ConfigError } from '../../base/arguments.ts'
import type { Config } from '../../config/config.ts'
import type { ReplicationConfig } from '../../config/replication-flags.ts'
import { deriveKey, type Epoch, loadNodeId, loadSecret } from '../../engine/storage/node-files.ts'
import type { Term } from '../../forum/state.ts'
import { logNotices } from '../../operators/ops/log.ts'
import type { ReplicationStats } from '../../operators/ops/vitals.ts'
import { type Continuation, HistoryPlace } from './history-place.ts'
import { connectEngine, EngineRejection } from './jetstream/connect.ts'
import type { LogStream } from './log-stream.ts'
import { fingerprintOf } from './notes.ts'
import { Replica, type ReplicaParts } from './replica.ts'
import { Lives } from './start-again.ts'

/**
 * In takeover times: how long an empty log waits before it begins a stream, so that nodes that
 * start together can announce themselves.
 */
const takeoversBeforeEmpty = 2

/** Connects to the engine that carries the log; tests replace it. */
export type ConnectStream = (config: ReplicationConfig, node: string) => Promise<LogStream>

export interface ReplicationOptions {
  config: Config
  /** The replication settings of `config`, which are not null here. */
  replication: ReplicationConfig
  disk: JournalOptions['disk']
  connect: ConnectStream | undefined
  log: Logger
  /** Called when the start waits for the stream, with a sentence that says why, or ''. */
  onWait: (why: string) => void
  lives: Lives | undefined
}

/** The parts of the node that its replica needs. */
type Parts = Pick<ReplicaParts, 'role' | 'journal' | 'forum' | 'edge' | 'load' | 'checkpoints'> & {
  epoch: Epoch
}

export class Replication {
  readonly #options: ReplicationOptions
  #stream: LogStream | null = null
  #node = ''
  #secret = ''
  #place: HistoryPlace | null = null
  #continuation: Continuation | null = null
  #part: Replica | null = null
  readonly #lives: Lives

  constructor(options: ReplicationOptions) {
    this.#options = options
    this.#lives = options.lives ?? new Lives(new Promise(() => {}))
  }

  get warnings(): string[] {
    return this.#part?.warnings ?? []
  }

  /**
   * Connects to the engine, then does what `HistoryPlace.prepare` does. The directory is locked.
   */
  async prepare(storeId: string | null): Promise<string | null> {
    const { config, replication, disk = realDisk, log, onWait } = this.#options
    const directory = { disk, dir: config.data }
    this.#node = loadNodeId(directory)
    this.#secret = fingerprintOf(deriveKey(loadSecret(directory, config.secret), 'replication'))
    onWait('')
    this.#stream = await this.#connect(replication, onWait)
    onWait('')
    const isStopped = () => this.#lives.isStopped
    const { leads, isStandby, beginAt, takeoverMs } = replication
    this.#place = new HistoryPlace({
      ...{ stream: this.#stream, directory, node: this.#node, secret: this.#secret },
      begins: { empty: leads, log: leads || isStandby },
      beginAfterMs: takeoversBeforeEmpty * takeoverMs,
      ...{ beginAt, log, onWait, isStopped },
    })
    return this.#place.prepare(storeId)
  }

  /** Does what `HistoryPlace.agree` does: the log is part of the common history afterwards. */
  async agree(journal: Journal, term: Term): Promise<void> {
    this.#options.onWait('')
    this.#continuation = await this.#place!.agree(journal, term)
  }

  /** Makes the replica of this node, which `begin` starts. Returns its statistics. */
  join({ epoch, ...parts }: Parts): ReplicationStats {
    const { config, replication, log } = this.#options
    const lives = this.#lives
    const part = new Replica({
      ...parts,
      config: replication,
      stream: this.#stream!,
      node: this.#node,
      history: { epoch: epoch.id, epochBegin: epoch.begin, secret: this.#secret },
      trustProxy: config.trustProxy,
      log,
      lives,
    })
    this.#part = part
    return {
      node: this.#node,
      get role() {
        return parts.role.name === 'leader' ? 'leader' : 'follower'
      },
      term: () => parts.forum.state.term.number,
      lagPositions: () => part.lag.positions,
      lagSeconds: () => part.lag.seconds,
      isStale: () => !parts.role.gate.mayDecide,
      takeovers: () => lives.takeovers,
      fenced: () => lives.fenced,
      forwarded: () => part.forwarded,
    }
  }

  /** Follows or leads; resolves when requests may be answered. */
  async begin(): Promise<void> {
    await this.#part!.begin(this.#continuation)
  }

  /** Does what `Replica.quiesce` does. */
  async quiesce(): Promise<void> {
    await this.#part?.quiesce()
  }

  /** Releases the lease and disconnects from the stream. Call it when the log is closed. */
  async close(): Promise<void> {
    await this.#part?.close()
    await this.#stream?.close()
  }

  #connect(replication: ReplicationConfig, onWait: (why: string) => void): Promise<LogStream> {
    const { connect = (config) => this.#connectEngine(config, onWait) } = this.#options
    return Promise.race([connect(replication, this.#node), this.#lives.untilStopped])
  }

  async #connectEngine(
    replication: ReplicationConfig,
    onWait: (why: string) => void,
  ): Promise<LogStream> {
    const { servers, stream, replicas, credentials, tls, takeoverMs } = replication
    const engine = { servers, stream, replicas, credentials, tls, takeoverMs, node: this.#node }
    const isStopped = () => this.#lives.isStopped
    const onNotice = logNotices(this.#options.log)
    try {
      return await connectEngine({ ...engine, isStopped }, (notice) => {
        const isWaiting = notice.event === 'engine_unreachable'
        if (isWaiting) onWait(`waits for the servers ${servers.join(', ')}: ${notice.why}`)
        onNotice(notice)
      })
    } catch (error) {
      throw error instanceof EngineRejection ? new ConfigError(error.message) : error
    }
  }
}
