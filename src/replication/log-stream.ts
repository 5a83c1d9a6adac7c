// The requirements of replication on the engine that carries the log: a stream of messages with
// compare-and-set, a lease, small notes, and objects for checkpoints. jetstream/ implements it on
// NATS JetStream; the simulation implements it in memory, with delays, losses and races.
//
//   log     1 ──▶ 2 ──▶ 3 ──▶ …      sequences without gaps; each message holds whole records
//           first..last of one are followed by the next one's, without gaps (S1)
//
// S1. The messages of the stream are one history: each begins behind the one before it.
// S2. Terms never decrease. The first message of a term holds one record, `leader.began`, and was
//     appended only because no other message had come in between: there is one leader in a term.
//     A number alone does not name a term: a stream that was lost is begun again, perhaps with the
//     log of another store. So each message names its term, and the first one of a term also the
//     term that it goes on behind (compare.ts, N1).
// S3. A majority of the engine's servers has every message that `publish` acknowledged.
// S4. The lease gives a standby the time to try, and its holder the time during which no other one
//     tries (lease-keeper.ts). The leader is decided by S2.
//
// Finds messages of the stream by a binary search: a look at one is a question to the servers.
//
// F1. A server may answer late, as if newer messages were not there yet. So a message that was seen
//     bounds the search, and one before it is taken for trimmed only where the stream begins behind
//     it. Anything else is requested again.

export interface StreamMessage {
  /** Its place in the stream, counted from 1. */
  sequence: number
  /** The positions of its first and its last record. */
  first: number
  last: number
  /** The term of the leader that published it, counted from 1. */
  term: number
  /** Missing where a program has written it that did not name terms. */
  name?: TermName | undefined
  /** The records as in a frame of the log: for each 4 bytes length and a msgpack value. */
  bytes: Uint8Array
}

/** Distinguishes a term from another one of the same number. */
export interface TermName {
  /** The id of the store whose log it is. */
  store: string
  /** Chosen at random when the term began; '': by a program that did not name terms. */
  nonce: string
  /** In the first message of a term: the nonce of the term before it; '' also if there was none. */
  behind?: string
}

/** A message before it has a place; an object is one message, however often it is published. */
export type Unplaced = Omit<StreamMessage, 'sequence'>

/** The outcome of `publish`: where it is; or why it is not in the stream, and never will be. */
export type Published = { sequence: number } | { rejected: 'wrong_sequence' | 'full' }

/**
 * Rejects a call whose outcome is unknown: no answer in time, no connection, no majority. A message
 * may still arrive later, where its compare-and-set holds.
 */
export class StreamUnavailable extends Error {
  override readonly name: string = 'StreamUnavailable'
}

/** The stream, its bucket or its objects were removed on the servers. */
export class StreamGone extends StreamUnavailable {
  override readonly name = 'StreamGone'
}

/** All calls reject with `StreamUnavailable`. */
export interface LogStream {
  /** The most bytes that a message may hold. */
  readonly messageBytesMax: number
  /**
   * Appends a message if `expectedLast` is the sequence of the newest one; 0: there is none. With
   * `behind`, a message whose outcome is not known yet, the newest must also be that one, as it was
   * published last. Sequences alone would not do: if another node's message takes the place of the
   * first of two that are in flight, the second one's expectation still holds.
   */
  publish(message: Unplaced, expectedLast: number, behind?: Unplaced): Promise<Published>
  /** The newest message; null while there has never been one, and when all were removed. */
  last(): Promise<StreamMessage | null>
  /** The sequence of the oldest message that is kept; that of the next one if none is. */
  firstSequence(): Promise<number>
  /** A message, or null if it is trimmed or does not exist yet. */
  get(sequence: number): Promise<StreamMessage | null>
  /**
   * Delivers the messages from `from` on, in order and without gaps, as they are acknowledged; the
   * next one when the promise for this one, if there is one, has resolved. `onError` is called at
   * most once, and nothing follows it: `onMessage` has thrown or rejected, messages are trimmed, or
   * the stream cannot be read; read again from the next one.
   */
  read(
    from: number,
    onMessage: (message: StreamMessage) => void | Promise<void>,
    onError: (error: Error) => void,
  ): { stop(): void }
  /** Removes the messages before this sequence; never the newest. */
  trim(below: number): Promise<void>
  readonly lease: Lease
  readonly notes: Notes
  readonly objects: Objects
  readonly calls: Calls
  close(): Promise<void>
}

/** The holder of the lease, as a standby needs to know it. */
export interface LeaseHolder {
  version: 1
  /** The id of the node. */
  node: string
  term: number
  /** When it took the lease, in milliseconds since the epoch; for people. */
  since: number
}

/** It lapses by itself `--takeover-seconds` after it was taken or renewed. */
export interface Lease {
  /** Takes a free lease, or extends the node's own; returns whether the node has it. */
  hold(holder: LeaseHolder): Promise<boolean>
  /** Its holder; null: it has lapsed, or was given back. Called more than twice in that time. */
  read(): Promise<LeaseHolder | null>
  /** Gives it back, if this node has it, so that a standby need not wait. */
  release(node: string): Promise<void>
}

/** Small values beside the stream, which nodes share. Each carries its own `version`. */
export interface Notes {
  read(key: string): Promise<Note | null>
  /**
   * Writes a note if its revision is still `revision` (0: if there is none); without `revision`
   * in any case. Returns its new revision, or null if it was changed meanwhile.
   */
  write(key: string, value: unknown, revision?: number): Promise<number | null>
  remove(key: string): Promise<void>
  /** The keys that begin with `prefix`; `read` says which of their notes are removed. */
  keys(prefix: string): Promise<string[]>
}

export interface Note {
  value: unknown
  revision: number
}

/**
 * Pieces of files beside the stream, of at most `messageBytesMax` each. A name consists of letters,
 * digits, and dots between them.
 */
export interface Objects {
  /** Writes an object; one that is there already is replaced. */
  put(name: string, bytes: Uint8Array): Promise<void>
  /** An object, or null if there is none. */
  get(name: string): Promise<Uint8Array | null>
  remove(name: string): Promise<void>
  /** The names of all objects. */
  list(): Promise<string[]>
}

/** Requests from node to node, which pass through the engine and are kept nowhere. */
export interface Calls {
  /**
   * Sends a request to the leader of a term. Null: it has no leader, and reached no node.
   * Rejects with `StreamUnavailable` if the outcome is unknown: no answer within `callMs`.
   */
  call(term: number, request: Uint8Array): Promise<Uint8Array | null>
  /** Answers the requests to the leader of a term, for as long as it is not stopped. */
  answer(term: number, answer: (request: Uint8Array) => Promise<Uint8Array>): { stop(): void }
}

/**
 * The time that a caller waits for the answer to a request: as long as for one of the engine's. One
 * that is lost on the way, with a server that was killed, costs its caller this time.
 */
export const callMs = 5_000

/**
 * The first message that is kept and passes a test which all later ones pass, too: `newest`, which
 * passes it, or one before. Rejects with `StreamUnavailable`; messages may be trimmed meanwhile,
 * from the oldest on.
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

/** A message before one that was seen; null: it is trimmed. Rejects with `StreamUnavailable`. */
export async function keptMessage(
  stream: LogStream,
  sequence: number,
): Promise<StreamMessage | null> {
  const message = await stream.get(sequence)
  if (message !== null || sequence < (await stream.firstSequence())) return message
  throw new StreamUnavailable(`the stream: a server does not have message ${sequence} yet`)
}
