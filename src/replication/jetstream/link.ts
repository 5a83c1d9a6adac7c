// The link to the servers, for callers that wait for an answer, and the meaning of the
// client's errors: a refusal of the server that stays, or a call whose outcome is unknown and that
// can be made again.
//
//   connected ──▶ lost ──▶ connected      the client connects again by itself
//
// L1. When the connection is lost, calls that wait for an answer are rejected at once: the answer
//     may have been on its way, and never arrives. The outcome of these requests is unknown.
// L2. A request without a connection waits for one, at most for the time limit of an answer.
//     The client would keep it, and drop it when it begins to connect again.
// L3. A request that changes nothing is repeated while it is not answered: servers that elect
//     the leader of a stream drop what arrives meanwhile.
//
// Without it a write waited for the time limit of an answer when a server was killed: 5 s where it
// was published, 10 s where it was passed on.

import {
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { StreamGone, StreamUnavailable } from '../log-stream.ts'

/** The time limit of an answer. */
export const answerMs = 5_000
const askAgainMs = 1_000
/** Why a call was given up. */
export const lostConnection = 'the connection was lost'

/** A call that waits for a connection. */
interface Waiting {
  resolve(): void
  reject(): void
}

export class ServerLink {
  #isConnected = true
  #isClosed = false
  readonly #onLost = new Set<() => void>()
  readonly #waiting = new Set<Waiting>()

  constructor(connection: Pick<NatsConnection, 'status'>) {
    void this.#watch(connection)
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Calls `run` each time when the connection is lost, until the returned function is called. */
  onLost(run: () => void): () => void {
    this.#onLost.add(run)
    return () => this.#onLost.delete(run)
  }

  /** Resolves when there is a connection; rejects with `StreamUnavailable` if there is none. */
  async whenConnected(): Promise<void> {
    if (this.#isConnected) return
    if (this.#isClosed) throw notConnected()
    let timer: NodeJS.Timeout | undefined
    let waiting: Waiting | undefined
    const connected = new Promise<void>((resolve, reject) => {
      waiting = { resolve, reject: () => reject(notConnected()) }
      this.#waiting.add(waiting)
      timer = setTimeout(waiting.reject, answerMs)
    })
    try {
      await connected
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(waiting!)
    }
  }

  /** Makes a call; an error that may pass, or a lost connection, is `StreamUnavailable`. */
  async available<T>(call: () => Promise<T>): Promise<T> {
    await this.whenConnected()
    return available(() => this.unlessLost(call()))
  }

  /** As `available`, for a call that changes nothing (L3). */
  async asked<T>(call: () => Promise<T>): Promise<T> {
    await this.whenConnected()
    let asking: NodeJS.Timeout | undefined
    const again = new Promise<T>((resolve, reject) => {
      asking = setInterval(() => call().then(resolve, reject), askAgainMs)
    })
    try {
      return await available(() => this.unlessLost(call(), again))
    } finally {
      clearInterval(asking)
    }
  }

  /** The first outcome of some calls; rejects when the connection is lost. */
  async unlessLost<T>(...calls: Promise<T>[]): Promise<T> {
    let stopListening = () => {}
    const lost = new Promise<never>((_, reject) => {
      stopListening = this.onLost(() => reject(new Error(lostConnection)))
    })
    try {
      return await Promise.race([...calls, lost])
    } finally {
      stopListening()
    }
  }

  async #watch(connection: Pick<NatsConnection, 'status'>): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') this.#lose()
      if (type === 'reconnect') this.#connect()
    }
    this.#isClosed = true
    this.#lose()
    for (const { reject } of this.#waiting) reject()
  }

  #lose(): void {
    this.#isConnected = false
    for (const run of [...this.#onLost]) run()
  }

  #connect(): void {
    this.#isConnected = true
    for (const { resolve } of this.#waiting) resolve()
  }
}

function notConnected(): StreamUnavailable {
  return new StreamUnavailable('the stream: not connected')
}

// Codes of the servers' list of errors (nats-server, server/errors.json).
export const wrongLastSequence = 10071
const wrongLastMessageId = 10070
const streamNotFound = 10059
export const noMessageFound = 10037
const fullCodes = new Set([10002, 10023, 10047, 10077])
// No leader, or the servers restart: the same request succeeds later.
const passingCodes = new Set([10005, 10008, 10009])
// Too few servers: for the time being, as while they start, or for good.
const tooFewCodes = new Set([10005, 10074])

/** The code of the server's answer; 0 if the error is no answer. */
export function apiCode(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0
}

/** Whether the newest message is another one than the one expected. */
export function isOutOfPlace(error: unknown): boolean {
  return apiCode(error) === wrongLastSequence || apiCode(error) === wrongLastMessageId
}

/** Whether there are fewer servers than copies to keep. */
export function isTooFew(error: unknown): boolean {
  return tooFewCodes.has(apiCode(error)) || tooFewCodes.has(apiCode((error as Error).cause))
}

/** Whether the servers run without JetStream, or do not run it yet. */
export function hasNoJetStream(error: unknown): boolean {
  const { cause } = error as Error
  return cause instanceof Error && cause.name === 'JetStreamNotEnabled' // not exported
}

/** Whether there is no room: on the servers, of the account, or within the stream's limits. */
export function isFull(error: unknown): boolean {
  return fullCodes.has(apiCode(error))
}

/**
 * Runs a call; an error that may pass becomes `StreamUnavailable`, also that of a removed stream.
 */
export async function available<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const code = apiCode(error)
    if (code === streamNotFound) {
      throw new StreamGone('the stream was removed from the servers', { cause: error })
    }
    if (code !== 0 && !passingCodes.has(code)) throw error
    throw new StreamUnavailable(`the stream: ${(error as Error).message}`, { cause: error })
  }
}

type Making = Pick<StreamConfig, 'name' | 'subjects' | 'discard' | 'num_replicas'> &
  Partial<StreamConfig>

/** Makes the stream if it is missing: in files, without an age at which messages are removed. */
export async function makeStream(manager: JetStreamManager, stream: Making): Promise<void> {
  try {
    await manager.streams.info(stream.name)
  } catch (error) {
    if (apiCode(error) !== streamNotFound) throw error
    const kept = { retention: RetentionPolicy.Limits, storage: StorageType.File }
    await manager.streams.add({ ...kept, ...stream })
  }
}
