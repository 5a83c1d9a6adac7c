// What replication requires of the engine that carries the log: a stream of messages with
// compare-and-set, a lease, small notes, and objects for checkpoints. jetstream/ implements it on
// NATS JetStream; the simulation implements it in memory, with delays, losses and races.
//
//   log     1 ──▶ 2 ──▶ 3 ──▶ …      sequences without gaps; each message holds whole records
//           first..last of each message is followed by the next one's, without gaps (S1)
//
// S1. The messages of the stream are one history: each begins where the previous one ends.
// S2. Terms never decrease. The first message of a term holds one record, `leader.began`, and was
//     appended only because no other message had come in between: each term has one leader. A
//     number alone does not identify a term, because a stream that was lost is begun again, perhaps
//     with the log of another store. So each message names its term, and the first message of a
//     term also names the preceding term (compare.ts, N1).
// S3. A majority of the engine's servers has every message that `publish` acknowledged.
// S4. The lease tells a standby when to try, and its holder for how long no standby tries
//     (lease-keeper.ts). S2 decides which node leads.
//
// This file also finds messages of the stream by binary search, where each probe is a round trip to
// the servers.
//
// F1. A lagging server answers as if newer messages did not exist yet. So a message that was seen
//     bounds the search, and an absent message before it counts as trimmed only if the stream
//     begins after it. Otherwise the request is repeated.

export interface StreamMessage {
  /** Its place in the stream, counted from 1. */
  sequence: number
  /** The positions of its first and last record. */
  first: number
  last: number
  /** The term of the leader that published it, counted from 1. */
  term: number
  name: TermName
  /**
   * The records as a frame of the log holds them: for each, 4 bytes of length and a msgpack value.
   */
  bytes: Uint8Array
}

/** Distinguishes a term from other terms of the same number. */
export interface TermName {
  /** The id of the store that the log belongs to. */
  store: string
  /** Chosen at random when the term began. */
  nonce: string
  /** Only in the first message of a term: the nonce of the preceding term; '' if there was none. */
  previousNonce?: string
}

/** A message without its place. One object is one message, however often it is published. */
export type Unplaced = Omit<StreamMessage, 'sequence'>

/**
 * The outcome of `publish`: the message's place, or why it is not in the stream and never will be.
 */
export type Published = { sequence: number } | { rejected: 'wrong_sequence' | 'full' }

/**
 * Rejects a call whose outcome is unknown: no answer in time, no connection, or no majority. A
 * published message may still arrive later, if its compare-and-set holds then.
 */
export class StreamUnavailable extends Error {
  override readonly name: string = 'StreamUnavailable'
}

/** The stream, its bucket or its objects were removed from the servers. */
export class StreamGone extends StreamUnavailable {
  override readonly name = 'StreamGone'
}

/** The engine. All calls reject with `StreamUnavailable`. */
export interface LogStream {
  /** The maximum size of a message's content, in bytes. */
  readonly messageBytesMax: number
  /**
   * Appends a message if the sequence of the newest one is `expectedLast`; 0: there is none. With
   * `previous`, a message whose outcome is not known yet, the newest message must be that one,
   * as it was published last. Sequences alone would not suffice: if another node's message takes
   * the place of the first of two messages in flight, the expectation of the second still holds.
   */
  publish(message: Unplaced, expectedLast: number, previous?: Unplaced): Promise<Published>
  /** Returns the newest message; null if there was never one, or all were removed. */
  last(): Promise<StreamMessage | null>
  /** Returns the sequence of the oldest message that is kept, or of the next one if none is. */
  firstSequence(): Promise<number>
  /** Returns a message; null if it was trimmed or does not exist yet. */
  get(sequence: number): Promise<StreamMessage | null>
  /**
   * Delivers the messages from `from` on as they are acknowledged, in order and without gaps. If
   * `onMessage` returns a promise, the next message follows when that has resolved. `onError` is
   * called at most once, and ends the delivery: `onMessage` has thrown or rejected, messages were
   * trimmed, or the stream cannot be read. The caller then reads again from the next message.
   */
  read(
    from: number,
    onMessage: (message: StreamMessage) => void | Promise<void>,
    onError: (error: Error) => void,
  ): { stop(): void }
  /** Removes the messages before this sequence, but never the newest one. */
  trim(below: number): Promise<void>
  readonly lease: Lease
  readonly notes: Notes
  readonly objects: Objects
  readonly calls: Calls
  close(): Promise<void>
}

/** The holder of the lease, as far as a standby needs to know it. */
export interface LeaseHolder {
  version: 1
  node: string
  term: number
  /** When it took the lease, in milliseconds since the epoch; informational. */
  since: number
}

/** The lease lapses `--takeover-seconds` after it was taken or renewed. */
export interface Lease {
  /** Takes a free lease, or renews the node's own; returns whether the node holds it. */
  hold(holder: LeaseHolder): Promise<boolean>
  /** Returns the holder; null: the lease has lapsed or was released. */
  read(): Promise<LeaseHolder | null>
  /** Releases the lease if this node holds it, so that a standby need not wait. */
  release(node: string): Promise<void>
}

/** Small values stored beside the stream and shared by the nodes. Each has its own `version`. */
export interface Notes {
  read(key: string): Promise<Note | null>
  /**
   * Writes a note if its revision is still `revision`, where 0 means that there is no note; without
   * `revision`, unconditionally. Returns the new revision, or null if the note was changed
   * meanwhile.
   */
  write(key: string, value: unknown, revision?: number): Promise<number | null>
  /** Removes a note; with `revision`, only if that is still its revision. */
  remove(key: string, revision?: number): Promise<void>
  /**
   * Returns the keys that begin with `prefix`, possibly with those of removed notes, for which
   * `read` returns null.
   */
  keys(prefix: string): Promise<string[]>
}

export interface Note {
  value: unknown
  revision: number
}

/**
 * Pieces of files, stored beside the stream, of at most `messageBytesMax` each. A name consists of
 * letters, digits, and dots between them.
 */
export interface Objects {
  /** Writes an object, or replaces it. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** Returns an object, or null if there is none. */
  get(name: string): Promise<Uint8Array | null>
  remove(name: string): Promise<void>
  list(): Promise<string[]>
}

/** Requests between nodes, which pass through the engine and are not stored. */
export interface Calls {
  /**
   * Sends a request to the leader of a term. Returns null if the term has no leader, so that the
   * request has reached no node. Rejects with `StreamUnavailable` if the outcome is unknown, such
   * as after `callMs` without an answer.
   */
  call(term: number, request: Uint8Array): Promise<Uint8Array | null>
  /** Answers the requests to the leader of a term, until it is stopped. */
  answer(term: number, answer: (request: Uint8Array) => Promise<Uint8Array>): { stop(): void }
}

/**
 * How long a caller waits for the answer to a request: longer than the leader waits for an endpoint
 * that it challenges (forum/webhooks/send.ts). It is what a caller loses when a killed server takes
 * the request with it.
 */
export const callMs = 7_000

/**
 * Returns the first kept message that passes `test`. The test must be monotonic: `newest` passes
 * it, and so does every message after one that passes. Messages may be trimmed meanwhile, from the
 * oldest on. Rejects with `StreamUnavailable`.
 */
export async function firstWhere(
  stream: LogStream,
  newest: StreamMessage,
  test: (message: StreamMessage) => boolean,
): Promise<StreamMessage> {
  let found = newest
  for (let low = await stream.firstSequence(); low < found.sequence; ) {
    const middle = Math.floor((low + found.sequence) / 2)
    const message = await keptMessage(stream, middle)
    if (message !== null && test(message)) found = message
    else low = middle + 1
  }
  return found
}

/**
 * Returns a message that precedes a known one; null: it was trimmed. Rejects with
 * `StreamUnavailable`.
 */
export async function keptMessage(
  stream: LogStream,
  sequence: number,
): Promise<StreamMessage | null> {
  const message = await stream.get(sequence)
  if (message !== null || sequence < (await stream.firstSequence())) return message
  throw new StreamUnavailable(`the stream: a server does not have message ${sequence} yet`)
}
