// What a node and the process of its index send each other, over a socket. Readers send searches
// over a connection of their own.
//
//   0  4  length of what follows
//   4  4  length of the message
//   8     the message, msgpack
//         texts, where the message has some
//
//   node ──▶ index                              index ──▶ node
//   hello    which forum, and where             engine   which one serves, if any
//   begin    which shards are of this log       shards   what the files hold
//   texts    messages to index                  want     the next ones it takes
//   removed  messages that were removed         progress how far it is
//   news     how many messages are durable      clean    removed texts are in no file any more
//   search                                      found
//   stop                                        damaged  a shard is made again

import type { Socket } from 'node:net'
import { Packr } from 'msgpackr'
import type { About } from './shard.ts'

export interface Hello {
  type: 'hello'
  dir: string
  /** The forum whose messages are indexed: another one has other numbers. */
  identity: string
  memoryBytes: number
  /** How many messages are durable. */
  count: number
  /** Where readers connect; '': there are none. */
  socket: string
}

export interface Begin {
  type: 'begin'
  /** The first numbers of the shards that are of this log. */
  kept: number[]
}

/** Messages, whose texts follow, one after the other. */
export interface Texts {
  type: 'texts'
  from: number
  /** Of the last one. */
  lastId: string
  /** By message: bytes of its JSON, without the comma; 0: it has no text any more. */
  bytes: number[]
  authors: number[]
  threads: number[]
  /** Bytes of the JSON of the thread that the message begins, which follows it; 0: of none. */
  threadBytes: number[]
  /** The messages that are not public, and who may read each. */
  members: [message: number, identities: number[]][]
  /** Whether the node has so much to do that the index is to rest between its work. */
  isBusy: boolean
}

export interface Removed {
  type: 'removed'
  /** The number of each message, and the position of the record that removed it. */
  messages: [message: number, position: number][]
  /** The position of the last removal of all. */
  through: number
}

export interface News {
  type: 'news'
  count: number
}

export interface Search {
  type: 'search'
  id: number
  /** What is looked for in public threads, in the language of the index (query.ts). */
  publicMatch: string
  /** What is looked for in private ones; '': nothing. */
  privateMatch: string
  /** Messages with lower numbers. */
  before: number
  limit: number
}

export interface Stop {
  type: 'stop'
}

export interface EngineFound {
  type: 'engine'
  /** Null: none loads. */
  name: string | null
  version: string
}

export interface Shards {
  type: 'shards'
  found: Pick<About, 'first' | 'end' | 'lastId'>[]
}

export interface Want {
  type: 'want'
  from: number
  limit: number
}

export interface Found {
  type: 'found'
  id: number
  /** Newest first. */
  messages: number[]
  /** Null: no older ones are left; otherwise all from this number on were looked at. */
  next: number | null
  /** All messages before this number are indexed. */
  covered: number
}

export interface Progress {
  type: 'progress'
  covered: number
  /** How many messages are indexed, of which some may come after `covered`. */
  indexed: number
  shards: number
  /** Of its files. */
  bytes: number
  residentBytes: number
  cpuSeconds: number
  /** Why it does not go on; '': it does. */
  trouble: string
}

export interface Damaged {
  type: 'damaged'
  /** The first message of the shard, which is made again. */
  first: number
  why: string
}

export interface Clean {
  type: 'clean'
  /** What was removed by records up to this position is in no file. */
  position: number
  /** Whether the process has had it in memory, and ends now. */
  isEnding: boolean
}

export type FromNode = Hello | Begin | Texts | Removed | News | Search | Stop
export type FromIndex = EngineFound | Shards | Want | Found | Progress | Damaged | Clean

const headBytes = 8
/** More than the longest message. */
const bytesMax = 64 << 20
const packr = new Packr({ useRecords: false })

/** Sends a message, with texts that are overwritten when they are sent. */
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
 * Calls `take` for each message that arrives; its texts are valid until it returns. Anything else
 * ends the connection with an error: native code of the index may have overwritten its memory.
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

/** The length of the first message with its texts, or of a head that is incomplete. */
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
