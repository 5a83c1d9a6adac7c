// A node with a replicated log, through all its lives in one process. When its place in the common
// history changes, it is stopped and started again.
//
//   started ──another node leads, and it is a standby──▶ stopped ──▶ started: it follows
//           ──its log has to be mended────────────────▶ stopped ──▶ started on the mended log
//           ──the stream was removed or purged────────▶ stopped ──▶ started; one node begins it

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { JournalError } from '../../../wal/errors.ts'
import { letHeapGrow } from '../../base/process.ts'
import type { Config } from '../../config/config.ts'
import { tryPort } from '../../edge/http/port-error.ts'
import { StreamEmptied } from './replicated-journal.ts'
import { Lives, StartAgain } from './start-again.ts'

/** The pause between two lives, so that repeated failures do not keep a core busy. */
const pauseMs = 200

/** A node that serves, from one start to its stop. */
export interface Life {
  url: string
  /** Finishes requests and stops; resolves when everything is on disk. */
  stop(): Promise<void>
  /** Rejects when the storage fails, or the node's place in the history has changed. */
  failed: Promise<never>
}

/**
 * Calls `startLife` until a life serves. Resolves to null if `stopped` resolves before that.
 * Rejects with an error of `startLife` that starting again cannot remedy.
 */
export async function startReplicatedNode(
  config: Config,
  log: Logger,
  stopped: Promise<unknown>,
  startLife: (config: Config, lives: Lives) => Promise<Life>,
): Promise<Life | null> {
  letHeapGrow()
  const lives = new Lives(stopped)
  const { host, port } = config
  // All lives listen on one port, which callers know. The system would not assign a port that it
  // had chosen itself a second time while it keeps connections of the previous life (TIME_WAIT).
  const lifeConfig = {
    ...config,
    port: port === 0 ? await tryPort(host, 0).catch(() => 0) : port,
  }
  const isStandby = config.replication?.isStandby === true
  const start = () => startLife(lifeConfig, lives)
  const node = new ReplicatedNode({ isStandby, lives, log, startLife: start })
  return (await node.start()) ? node : null
}

interface ReplicatedNodeParts {
  /** Whether the node follows when another one leads, instead of exiting. */
  isStandby: boolean
  lives: Lives
  log: Logger
  startLife: () => Promise<Life>
}

class ReplicatedNode implements Life {
  url = ''
  readonly failed: Promise<never>
  readonly #parts: ReplicatedNodeParts
  readonly #lives: Lives
  readonly #log: Logger
  #node: Life | null = null
  #changing: Promise<unknown> = Promise.resolve()
  #fail: (error: unknown) => void = () => {}

  constructor(parts: ReplicatedNodeParts) {
    this.#parts = parts
    this.#lives = parts.lives
    this.#log = parts.log
    this.failed = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => {}) // the caller handles it
  }

  /** Starts lives until one serves; returns false if the node was stopped meanwhile. */
  async start(): Promise<boolean> {
    while (!this.#lives.isStopped) {
      try {
        this.#enter(await this.#parts.startLife())
        return true
      } catch (error) {
        if (this.#lives.isStopped) return false
        if (!this.#isPassing(error)) throw error
        this.#log.info({ why: reasonOf(error) }, 'starts_again')
        await sleep(pauseMs)
      }
    }
    return false
  }

  async stop(): Promise<void> {
    this.#lives.isStopped = true
    await this.#changing
    await this.#node?.stop()
  }

  #enter(node: Life): void {
    this.#node = node
    this.url = node.url
    node.failed.catch((error) => {
      this.#changing = this.#change(node, error).catch((failure) => this.#fail(failure))
    })
  }

  /** Handles the failure of a life: begins another one, or rejects so that the process ends. */
  async #change(node: Life, error: unknown): Promise<void> {
    if (this.#lives.isStopped) return
    if (!this.#isPassing(error)) throw error
    this.#log.info({ why: reasonOf(error) }, 'starts_again')
    await node.stop()
    this.#node = null
    await this.start()
  }

  /** Whether starting again can remedy the error. Counts and logs that another node leads. */
  #isPassing(error: unknown): boolean {
    if (error instanceof StartAgain || error instanceof StreamEmptied) return true
    if (!(error instanceof JournalError && error.exitCode === 78)) return false
    this.#lives.fenced += 1
    this.#log.warn({ why: error.finding }, 'fenced')
    return this.#parts.isStandby
  }
}

function reasonOf(error: unknown): string {
  return error instanceof JournalError ? error.finding : (error as Error).message
}
