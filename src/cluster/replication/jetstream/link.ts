// The connection to the servers for callers that wait for answers, and the meaning of the client's
// errors: either a permanent refusal of the server, or a call whose outcome is unknown and which
// can be repeated.
//
//   connected ──▶ lost ──▶ connected      the client reconnects by itself
//
// L1. When the connection is lost, calls that wait for an answer are rejected at once, because an
//     answer that was on its way never arrives. The outcome of these calls is unknown.
// L2. A request without a connection waits for one, at most for the time limit of an answer. The
//     client itself would buffer the request, and drop it when it begins to reconnect.
// L3. A request that changes nothing is repeated until it is answered, because servers that are
//     electing a stream's leader drop requests.
//
// Without these rules a write waited for the time limit of an answer when a server was killed: 5 s
// where it was published, 10 s where it was forwarded.

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
/** The reason of an error after the connection was lost. */
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

  /** Calls `run` whenever the connection is lost, until the returned function is called. */
  onLost(run: () => void): () => void {
    this.#onLost.add(run)
    return () => this.#onLost.delete(run)
  }

  /**
   * Resolves when there is a connection; rejects with `StreamUnavailable` if none comes in time.
   */
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

  /** Makes a call; a transient error, or a lost connection, becomes `StreamUnavailable`. */
  async available<T>(call: () => Promise<T>): Promise<T> {
    await this.whenConnected()
    return available(() => this.unlessLost(call()))
  }

  /** Like `available`, for a call that changes nothing, which is repeated until answered (L3). */
  async availableRepeated<T>(call: () => Promise<T>): Promise<T> {
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

  /** Returns the first outcome of several calls; rejects when the connection is lost. */
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

// Error codes of the servers (nats-server, server/errors.json). The second code of a wrong sequence
// comes from newer servers, for a message that conflicts with one still being replicated.
const wrongLastSequenceCodes = new Set([10071, 10164])
const wrongLastMessageId = 10070
const streamNotFound = 10059
export const noMessageFound = 10037
const fullCodes = new Set([10002, 10023, 10047, 10077])
// There is no leader, or the servers restart: the same request succeeds later.
const passingCodes = new Set([10005, 10008, 10009])
// There are too few servers: temporarily, as while they start, or permanently.
const tooFewCodes = new Set([10005, 10074])

/** Returns the code of the server's answer; 0 if the error is not an answer. */
export function apiCode(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0
}

/** Whether the newest message, or the revision of a note, differs from the expected one. */
export function isOutOfPlace(error: unknown): boolean {
  const code = apiCode(error)
  return wrongLastSequenceCodes.has(code) || code === wrongLastMessageId
}

/** Whether there are fewer servers than copies to be kept. */
export function isTooFew(error: unknown): boolean {
  return tooFewCodes.has(apiCode(error)) || tooFewCodes.has(apiCode((error as Error).cause))
}

/** Whether the servers run without JetStream, or have not started it yet. */
export function hasNoJetStream(error: unknown): boolean {
  const { cause } = error as Error
  return cause instanceof Error && cause.name === 'JetStreamNotEnabled' // not exported
}

/** Whether a limit of the servers, the account or the stream is reached. */
export function isFull(error: unknown): boolean {
  return fullCodes.has(apiCode((error as Error).cause))
}

/**
 * Makes a call. A transient error becomes `StreamUnavailable`, and so do the errors for a removed
 * stream and for a reached limit (`isFull`).
 */
export async function available<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const code = apiCode(error)
    if (code === streamNotFound) {
      throw new StreamGone('the stream was removed from the servers', { cause: error })
    }
    if (code !== 0 && !passingCodes.has(code) && !fullCodes.has(code)) throw error
    throw new StreamUnavailable(`the stream: ${(error as Error).message}`, { cause: error })
  }
}

type Making = Pick<StreamConfig, 'name' | 'subjects' | 'discard' | 'num_replicas'> &
  Partial<StreamConfig>

/** Creates the stream if it is missing: stored in files, without a maximum age of messages. */
export async function makeStream(manager: JetStreamManager, stream: Making): Promise<void> {
  try {
    await manager.streams.info(stream.name)
  } catch (error) {
    if (apiCode(error) !== streamNotFound) throw error
    const kept = { retention: RetentionPolicy.Limits, storage: StorageType.File }
    await manager.streams.add({ ...kept, ...stream })
  }
}
