// The messages between a node and the process of its index, over a socket. Readers send searches
// over connections of their own.
//
//   0  4  length of the rest
//   4  4  length of the message
//   8     the message, msgpack
//         texts, if the message has any
//
//   node ──▶ index                              index ──▶ node
//   hello    which forum, and where             engine   which one is in use, if any
//   begin    which shards are of this log       shards   the shards in the files
//   texts    messages to index                  want     a request for the next messages
//   removed  messages that were removed         progress how far the index is
//   news     the number of durable messages     clean    removed texts are no longer in any file
//   search                                      found
//   stop                                        damaged  a shard is built again

import type { Socket } from 'node:net'
import { Packr } from 'msgpackr'
import type { About } from './shard.ts'

export interface Hello {
  type: 'hello'
  dir: string
  /** The forum whose messages are indexed. Message numbers mean nothing in another one. */
  identity: string
  memoryBytes: number
  /** The number of durable messages. */
  count: number
  /** Where readers connect; '' if there are none. */
  socket: string
}

export interface Begin {
  type: 'begin'
  /** The first message numbers of the shards that are of this log. */
  kept: number[]
}

/** Messages. Their texts follow, one after the other. */
export interface Texts {
  type: 'texts'
  from: number
  lastId: string
  /** The size of each message's JSON in bytes, without the comma; 0: it no longer has text. */
  bytes: number[]
  authors: number[]
  threads: number[]
  /** The size of the JSON of the thread that each message begins, which follows its own, or 0. */
  threadBytes: number[]
  /** The messages in private threads, and the identities that may read each. */
  members: [message: number, identities: number[]][]
  /** Whether the node is so busy that the index must rest between batches. */
  isBusy: boolean
}

export interface Removed {
  type: 'removed'
  /** The number of each message, and the position of the record that removed it. */
  messages: [message: number, position: number][]
  /** The position of the newest removal. */
  through: number
}

export interface News {
  type: 'news'
  count: number
}

export interface Search {
  type: 'search'
  id: number
  /** The expression for public threads, in the language of the index (query.ts). */
  publicMatch: string
  /** The expression for private threads; '' if they are not searched. */
  privateMatch: string
  /** The number of parts in which each shard is searched (query.ts). */
  parts: number
  /** Only messages with lower numbers are found. */
  before: number
  limit: number
}

export interface Stop {
  type: 'stop'
}

export interface EngineFound {
  type: 'engine'
  /** Null if none loads. */
  name: string | null
  version: string
}

export interface Shards {
  type: 'shards'
  found: Pick<About, 'first' | 'end' | 'lastId' | 'erased'>[]
}

export interface Want {
  type: 'want'
  from: number
  limit: number
}

export interface Found {
  type: 'found'
  id: number
  /** The numbers of the messages, the newest first. */
  messages: number[]
  /** Null: no older ones are left. Otherwise all messages from this number on were looked at. */
  next: number | null
  /** All messages before this number are indexed. */
  covered: number
}

export interface Progress {
  type: 'progress'
  covered: number
  /** The number of messages that are indexed, some of which may come after `covered`. */
  indexed: number
  shards: number
  /** The size of its files. */
  bytes: number
  residentBytes: number
  cpuSeconds: number
  /** Why indexing has stopped; '' if it has not. */
  stallReason: string
}

export interface Damaged {
  type: 'damaged'
  /** The first message of the shard, which is built again. */
  first: number
  why: string
}

export interface Clean {
  type: 'clean'
  /** Text that was removed by records up to this position is in no file. */
  position: number
  /** Whether the process has had such text in memory, and therefore ends now. */
  isEnding: boolean
}

export type FromNode = Hello | Begin | Texts | Removed | News | Search | Stop
export type FromIndex = EngineFound | Shards | Want | Found | Progress | Damaged | Clean

const headBytes = 8
/** More than the longest message. */
const bytesMax = 64 << 20
const packr = new Packr({ useRecords: false })

/** Sends a message. Its texts are overwritten once they have been sent. */
export function send(socket: Socket, message: FromNode | FromIndex, texts?: Uint8Array): void {
  if (socket.destroyed) return
  const packed = packr.pack(message)
  const head = Buffer.allocUnsafe(headBytes)
  head.writeUInt32LE(4 + packed.length + (texts?.length ?? 0))
  head.writeUInt32LE(packed.length, 4)
  socket.cork()
  socket.write(Buffer.concat([head, packed]))
  if (texts !== undefined) socket.write(texts, () => void texts.fill(0))
  socket.uncork()
}

/**
 * Calls `take` for each message that arrives; its texts are valid until `take` returns. Anything
 * else closes the connection with an error: native code may have overwritten the index's memory.
 */
export function receive<T>(socket: Socket, take: (message: T, texts: Buffer) => void): void {
  let parts: Buffer[] = []
  let have = 0
  let need = headBytes
  socket.on('data', (chunk: Buffer) => {
    parts.push(chunk)
    have += chunk.length
    if (have < need) return
    let bytes = parts.length === 1 ? chunk : Buffer.concat(parts)
    for (;;) {
      let end: number
      let message: T
      try {
        need = neededBytes(bytes)
        if (bytes.length < need) break
        end = headBytes + bytes.readUInt32LE(4)
        message = unpacked(bytes.subarray(headBytes, end)) as T
      } catch (error) {
        const { message: why } = error as Error
        return void socket.destroy(new Error(`a bad message: ${why}`))
      }
      take(message, bytes.subarray(end, need))
      bytes = bytes.subarray(need)
    }
    parts = bytes.length === 0 ? [] : [bytes]
    have = bytes.length
  })
}

/** Returns the length of the first message with its texts, or of a head that is incomplete. */
function neededBytes(bytes: Buffer): number {
  if (bytes.length < headBytes) return headBytes
  const length = bytes.readUInt32LE(0)
  const packed = bytes.readUInt32LE(4)
  if (length > bytesMax) throw new Error(`${length} bytes are too many`)
  if (4 + packed > length) throw new Error(`${packed} of ${length} bytes are too many`)
  return 4 + length
}

function unpacked(bytes: Buffer): { type: string } {
  const message = packr.unpack(bytes)
  if (typeof message?.type !== 'string') throw new Error('it has no type')
  return message
}
