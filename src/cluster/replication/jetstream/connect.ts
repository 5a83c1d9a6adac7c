// Connects to the NATS servers, and opens the stream, the bucket of notes and the files on them.
//
// After `pingsOutMax` unanswered pings the client leaves a server for the one that it tried longest
// ago. It reconnects for as long as the process lives.
//
// C1. A transient fault is waited out: no server answers, or too few to elect a leader. Each reason
//     is reported once, and again each minute while it lasts. A fault that only an operator can fix
//     is an `EngineRejection`.

import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import {
  type ConnectionOptions,
  connect,
  type Msg,
  type NatsConnection,
  NoRespondersError,
  RequestError,
} from '@nats-io/transport-node'
import type { Notice } from '../../../../wal/journal/types.ts'
import { bodyBytesMax } from '../../../edge/http/incoming-body.ts'
import { type Calls, callMs, StreamUnavailable } from '../log-stream.ts'
import {
  accessOptions,
  type EngineAccess,
  reasonOf,
  refusalByServers,
  refusalOf,
} from './access.ts'
import { answerMs, hasNoJetStream, isTooFew, ServerLink } from './link.ts'
import { JetStreamLog } from './log.ts'
import { JetStreamLease, JetStreamNotes } from './notes.ts'
import { JetStreamObjects } from './objects.ts'

export interface EngineOptions extends EngineAccess {
  /** The name of the stream, which is the prefix of the buckets' names. */
  stream: string
  /** The number of servers that keep a copy. */
  replicas: number
  node: string
  /** The time without a renewal after which the lease has lapsed. */
  takeoverMs: number
  /** Whether to give up; called while no server can be reached. */
  isStopped?: () => boolean
  /** The time after which a reason that lasts is reported again; by default a minute. */
  sayAgainMs?: number
}

/** The servers refuse this node permanently, because of wrong settings. */
export class EngineRejection extends Error {
  override readonly name = 'EngineRejection'
}

type OnNotice = (notice: Notice) => void

const pingEveryMs = 1_000
const pingsOutMax = 2
const reconnectAfterMs = 250
const connectMs = 5_000
const againMs = 500
const payloadBytesMin = bodyBytesMax + 128 * 1024
/** How long servers may take to find each other after they have started. */
const gatherMsMax = 30_000

/**
 * Connects, and creates missing streams and buckets. Waits while the servers are unreachable or
 * have no majority, and reports the reason. Rejects with `EngineRejection` for wrong credentials,
 * servers without JetStream and too few servers, and with `StreamUnavailable` once `isStopped`.
 */
export async function connectEngine(
  options: EngineOptions,
  onNotice: OnNotice,
): Promise<JetStreamLog> {
  const connection = await whenAvailable(() => openConnection(options), options, onNotice)
  void report(connection, onNotice)
  const link = new ServerLink(connection)
  try {
    checkPayload(connection)
    const untilMs = performance.now() + gatherMsMax
    return await whenAvailable(
      () => openAll({ connection, link }, options, performance.now() > untilMs),
      options,
      onNotice,
    )
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** Repeats an attempt while it rejects with `StreamUnavailable`, and reports the reasons. */
async function whenAvailable<T>(
  attempt: () => Promise<T>,
  { servers, isStopped, sayAgainMs = 60_000 }: EngineOptions,
  onNotice: OnNotice,
): Promise<T> {
  const reportedMs = new Map<string, number>()
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof StreamUnavailable) || isStopped?.() === true) throw error
      const { message: why } = error
      const now = performance.now()
      if (now - (reportedMs.get(why) ?? Number.NEGATIVE_INFINITY) >= sayAgainMs) {
        onNotice({ event: 'engine_unreachable', level: 'warn', why, servers })
        reportedMs.set(why, now)
      }
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
  }
}

async function openConnection(options: EngineOptions): Promise<NatsConnection> {
  try {
    return await connect(connectionOptions(options))
  } catch (error) {
    const refusal = refusalOf(error) ?? (await refusalByServers(options))
    if (refusal !== null) throw new EngineRejection(refusal)
    throw new StreamUnavailable(reasonOf(error), { cause: error })
  }
}

/** Checks that the largest record, which has the largest body that is read, fits into a message. */
function checkPayload({ info }: NatsConnection): void {
  const { max_payload: bytes } = info!
  if (bytes >= payloadBytesMin) return
  throw new EngineRejection(
    `the servers' max_payload is ${bytes}; it must be at least ${payloadBytesMin}`,
  )
}

function connectionOptions(options: EngineOptions): ConnectionOptions {
  const { servers, node } = options
  return {
    servers: [...servers],
    name: `agent-forum ${node}`,
    timeout: connectMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectAfterMs,
    pingInterval: pingEveryMs,
    maxPingOut: pingsOutMax,
    // By default the client chooses the first server of its list, possibly the one just lost. If
    // that one is suspended, each attempt takes `connectMs`.
    reconnectToServer: (pool) =>
      pool.reduce((oldest, each) => {
        return each.lastConnect < oldest.lastConnect ? each : oldest
      }),
    ignoreClusterUpdates: true,
    noAsyncTraces: true, // each request would create two errors with stacks
    ...accessOptions(options),
  }
}

/** Notes are read from the server that leads the bucket, because copies on others may be stale. */
const notesOptions = { allow_direct: false }

interface Engine {
  connection: NatsConnection
  link: ServerLink
}

/**
 * Creates missing streams and buckets. `isGathered`: servers that are missing now will stay
 * missing.
 */
async function openAll(
  engine: Engine,
  options: EngineOptions,
  isGathered: boolean,
): Promise<JetStreamLog> {
  try {
    return await makeAll(engine, options)
  } catch (error) {
    if (error instanceof StreamUnavailable && !isGathered) throw error
    if (hasNoJetStream(error)) {
      throw new EngineRejection(
        'the servers run without JetStream, or the account of this node has no limits for it; ' +
          'enable it in their configuration',
      )
    }
    if (!isTooFew(error)) throw error
    const { message } = error as Error
    throw new EngineRejection(`${message}; fewer servers need a lower --replicate-replicas`)
  }
}

async function makeAll(
  { connection, link }: Engine,
  options: EngineOptions,
): Promise<JetStreamLog> {
  const { stream, replicas, takeoverMs } = options
  const client = jetstream(connection, { timeout: answerMs })
  const manager = await link.available(() => jetstreamManager(connection, { timeout: answerMs }))
  await link.available(() => JetStreamLog.make(manager, stream, replicas))
  const name = `${stream}-notes`
  const makeBucket = () =>
    link.available(() => new Kvm(client).create(name, { history: 1, replicas, ...notesOptions }))
  const bucket = await makeBucket()
  const files = { link, client, manager, name: `${stream}-checkpoints`, replicas }
  await link.available(() => JetStreamObjects.make(files))
  const notes = new JetStreamNotes({ link, manager, bucket, name, make: makeBucket })
  const parts = {
    notes,
    lease: new JetStreamLease(notes, takeoverMs),
    objects: new JetStreamObjects(files),
    calls: new NatsCalls(connection, link, stream),
  }
  return new JetStreamLog({ connection, link, client, manager, name: stream, ...parts })
}

async function report(connection: NatsConnection, onNotice: OnNotice): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') {
      onNotice({ event: 'engine_disconnected', level: 'warn', server: status.server })
    } else if (status.type === 'reconnect') {
      onNotice({ event: 'engine_connected', server: status.server })
    } else if (status.type === 'error') {
      onNotice({ event: 'engine_error', level: 'warn', why: status.error.message })
    }
  }
}

/**
 * Requests to the leader by NATS request and reply, of which the servers store nothing. Their
 * subject is `<name>.leader.<term>`: a leader listens only on that of its own term, so that a
 * request never reaches the leader of another term.
 */
class NatsCalls implements Calls {
  readonly #connection: NatsConnection
  readonly #name: string
  readonly #link: ServerLink

  constructor(connection: NatsConnection, link: ServerLink, name: string) {
    this.#connection = connection
    this.#link = link
    this.#name = name
  }

  async call(term: number, request: Uint8Array): Promise<Uint8Array | null> {
    // The client would buffer the request, and the caller would wait in vain.
    if (!this.#link.isConnected) return null
    try {
      const subject = this.#subjectOf(term)
      const options = { timeout: callMs }
      const answered = await this.#link.unlessLost(
        this.#connection.request(subject, request, options),
      )
      return answered.data
    } catch (error) {
      if (isUnheard(error)) return null
      throw new StreamUnavailable(`the leader: ${(error as Error).message}`, { cause: error })
    }
  }

  answer(term: number, answer: (request: Uint8Array) => Promise<Uint8Array>): { stop(): void } {
    const subscription = this.#connection.subscribe(this.#subjectOf(term), {
      callback: (error, message) => {
        if (error !== null) return
        // Without an answer the caller's request times out, and it reports an unknown outcome.
        this.#respond(message, answer(message.data)).catch(() => {})
      },
    })
    return { stop: () => subscription.unsubscribe() }
  }

  /** Sends the answer once there is a connection; a new one reaches the same caller. */
  async #respond(message: Msg, answer: Promise<Uint8Array>): Promise<void> {
    const bytes = await answer
    await this.#link.whenConnected()
    message.respond(bytes)
  }

  #subjectOf(term: number): string {
    return `${this.#name}.leader.${term}`
  }
}

function isUnheard(error: unknown): boolean {
  return (
    error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())
  )
}
