// Begins a term of the replicated log: whoever has its first message appended leads.
//
//   look at the end ─▶ is it where this node's log ends? ─▶ compare-and-set ─▶ append to the log
//
// L1. The stream has the record before this node's log has it: a term that is in any log is in the
//     stream, so that no two logs have different records of one term.
//     The record has a nonce, so that two nodes that begin a term of one number, each in a stream
//     that the other does not see, are known to be two (term-name.ts).
//     Before that, it is in a note of this node (holders.ts, H1).
// L2. Nothing is appended to this node's log meanwhile: it leads only afterwards.

import { randomBytes } from 'node:crypto'
import { Packr } from 'msgpackr'
import { recordHeaderBytes } from '../../wal/journal/format.ts'
import { Backoff } from '../base/backoff.ts'
import type { LeaderBegan, ReplicateMode } from '../forum/records/leadership.ts'
import { encode } from '../forum/records.ts'
import { announce } from './holders.ts'
import {
  type LogStream,
  type StreamMessage,
  StreamUnavailable,
  type TermName,
  type Unplaced,
} from './log-stream.ts'
import { isOfTerm, type LogEnd } from './term-name.ts'

const nonceBytes = 16

export interface Beginning {
  /** The id of this node. */
  node: string
  mode: ReplicateMode
  /** The last record of its log. */
  end: LogEnd
  /** Whether it was decided that this node begins the stream (holders.ts, H2). */
  isFirst: boolean
  /** The id of the epoch that begins with the term; '': none does. */
  epoch: string
  /** The time of the record, in milliseconds since the epoch. */
  at: number
}

export interface Begun {
  /** The record, and the message with it, which this node must append to its log now. */
  record: LeaderBegan
  name: TermName
  message: StreamMessage
}

/**
 * Begins the next term behind the end of the log; null if the stream ends elsewhere: another node
 * leads, or this one has to follow first. Waits while the stream cannot be reached, unless
 * `isStopped`.
 */
export async function beginTerm(
  stream: LogStream,
  { node, mode, end, isFirst, epoch, at }: Beginning,
  isStopped: () => boolean = () => false,
): Promise<Begun | null> {
  const backoff = new Backoff()
  let isAnnounced = false
  const { position, store, nonce: behind } = end
  const term = end.term + 1
  const nonce = randomBytes(nonceBytes).toString('hex')
  const record: LeaderBegan = { type: 'leader.began', at, term, node, mode, epoch, nonce }
  const name = { store, nonce }
  const bytes = packed(encode(record))
  const place = { first: position + 1, last: position + 1 }
  const sent: Unplaced = { ...place, term, name: { ...name, behind }, bytes }
  while (!isStopped()) {
    try {
      const last = await stream.last()
      // It may be there already, if its acknowledgement was lost.
      if (last !== null && isSame(last, sent)) return { record, name, message: last }
      const isEnd = last === null ? isFirst : last.last === position && isOfTerm(last, end)
      if (!isEnd) return null
      if (!isAnnounced) await announce(stream, node, { store, position, term })
      isAnnounced = true
      const expected = last?.sequence ?? (await stream.firstSequence()) - 1
      const published = await stream.publish(sent, expected)
      if ('sequence' in published) return { record, name, message: { ...sent, ...published } }
      await backoff.pause()
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error
      await backoff.pause()
    }
  }
  return null
}

function isSame(found: StreamMessage, sent: Unplaced): boolean {
  return (
    found.term === sent.term &&
    found.first === sent.first &&
    Buffer.compare(found.bytes, sent.bytes) === 0
  )
}

/** One record as it stands in a frame. */
function packed(row: unknown): Uint8Array {
  const value = new Packr({ useRecords: false }).pack(row)
  const header = Buffer.alloc(recordHeaderBytes)
  header.writeUInt32LE(value.length)
  return Buffer.concat([header, value])
}
