// The messages between the main process and its readers, over a socket between two processes of one
// program. Both ends are always of the same version.
//
//   0  4  length of the payload
//   4  1  kind
//   5     payload
//
//   main process ──▶ reader                        reader ──▶ main process
//   setup       what a start needs, msgpack        start    f64 the position it has loaded
//   frame       f64 first, u32 count, records      request  a forwarded request
//   durable     f64 position, and three times:     report   state and counters, msgpack
//               now, and its standing (gate.ts)    checked  requests (checked-messages.ts)
//   answer      to a forwarded request             read     f64 the bytes read so far, f64 the
//                                                           durable position among them
//   outcomes    outcomes of checked requests
//   checkpoint  f64 number, f64 position
//   role        of the node among those that share a log, msgpack
//   failed      nothing becomes durable any more; the refusal of what waits, msgpack
//   giveUp      refuse what waits now (edge/http/gate.ts, `giveUp`), msgpack null
//   seen        when identities were last seen (forum/identities/last-seen.ts), msgpack
//   stop
//
// M1. Both ends overwrite a message that contains text after writing or reading it, because the
//     text may be erased one day. So the receiver of a payload copies whatever it keeps.

import type { Socket } from 'node:net'
import { Packr } from 'msgpackr'
import { frameBytesMax } from '../../../wal/journal/format.ts'

export const kinds = {
  setup: 1,
  frame: 2,
  durable: 3,
  answer: 4,
  checkpoint: 5,
  stop: 6,
  role: 7,
  failed: 8,
  outcomes: 9,
  seen: 10,
  giveUp: 11,
  start: 16,
  request: 17,
  report: 18,
  checked: 19,
  read: 20,
} as const

export type Kind = (typeof kinds)[keyof typeof kinds]

/**
 * The longest silence that either end tolerates. The main process waits no longer for a reader to
 * accept what it was sent, and a reader that has received nothing for this time answers nothing.
 * Both measure by one shared clock.
 */
export const silenceMsMax = 2000

/**
 * A reader reads at least this much of what was sent to it before it processes requests that arrive
 * later: one read of a socket takes so much (D2 of main-port.ts).
 */
export const unreadBytesMax = 64 << 10

const headBytes = 5
const frameHeadBytes = 12
/** An upper bound of the longest payload, which is a frame with its head. */
const payloadBytesMax = frameBytesMax + (1 << 20)
const packr = new Packr({ useRecords: false, copyBuffers: true })

/** Returns a message with a copy of the payload. */
export function message(kind: Kind, ...payload: Uint8Array[]): Buffer {
  const bytes = payload.reduce((sum, { length }) => sum + length, 0)
  const whole = Buffer.allocUnsafe(headBytes + bytes)
  whole.writeUInt32LE(bytes)
  whole[4] = kind
  let at = headBytes
  for (const part of payload) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

export function packedMessage(kind: Kind, value: unknown): Buffer {
  return message(kind, packr.pack(value))
}

export function unpacked(payload: Uint8Array): unknown {
  return packr.unpack(payload)
}

/** Returns a message whose payload is these numbers. */
export function numbersMessage(kind: Kind, ...numbers: number[]): Buffer {
  const payload = Buffer.alloc(numbers.length * 8)
  for (const [i, number] of numbers.entries()) payload.writeDoubleLE(number, i * 8)
  return message(kind, payload)
}

export function numberAt(payload: Buffer, index: number): number {
  return payload.readDoubleLE(index * 8)
}

export function frameMessage(first: number, count: number, records: Uint8Array): Buffer {
  const head = Buffer.alloc(frameHeadBytes)
  head.writeDoubleLE(first)
  head.writeUInt32LE(count, 8)
  return message(kinds.frame, head, records)
}

/** Returns the frame in a message; `records` is a view of the payload. */
export function frameOf(payload: Buffer): { first: number; count: number; records: Buffer } {
  const first = payload.readDoubleLE(0)
  return { first, count: payload.readUInt32LE(8), records: payload.subarray(frameHeadBytes) }
}

/**
 * Writes messages in one piece, and overwrites them (M1). The caller must hold the only references.
 */
export function writeJoined(socket: Socket, messages: readonly Buffer[]): void {
  const whole = Buffer.concat(messages)
  for (const each of messages) each.fill(0)
  socket.write(whole, () => void whole.fill(0))
}

// Node reads both from the system's monotonic clock, which all processes share. Rounded to a
// microsecond, in binary, so that sums with whole milliseconds are exact.
const sinceOrigin =
  Math.round(Number(process.hrtime.bigint()) * (1024 / 1e6) - performance.now() * 1024) / 1024

/** Returns the milliseconds of a clock that all processes of the machine share and nobody sets. */
export function sharedNow(): number {
  return toShared(performance.now())
}

/** Converts a time of this process's performance.now() to the shared clock. */
export function toShared(ms: number): number {
  return ms + sinceOrigin
}

/** Converts a time of the shared clock to this process's performance.now(). */
export function fromShared(ms: number): number {
  return ms - sinceOrigin
}

/** Reassembles messages from chunks, which may be cut anywhere. */
export class Splitter {
  readonly #onMessage: (kind: Kind, payload: Buffer) => void
  /** An incomplete message: its parts, the bytes they have, and the bytes needed to go on. */
  #parts: Buffer[] = []
  #have = 0
  #need = headBytes

  constructor(onMessage: (kind: Kind, payload: Buffer) => void) {
    this.#onMessage = onMessage
  }

  /** Processes a chunk. Throws if it cannot be part of a message. */
  add(chunk: Buffer): void {
    let bytes = chunk
    if (this.#have > 0) {
      this.#parts.push(chunk)
      this.#have += chunk.length
      if (this.#have < this.#need) return
      bytes = Buffer.concat(this.#parts)
      for (const part of this.#parts) part.fill(0)
    }
    let at = 0
    for (;;) {
      const left = bytes.length - at
      const whole = left < headBytes ? headBytes : headBytes + lengthOf(bytes, at)
      if (left < whole) {
        this.#parts = left === 0 ? [] : [bytes.subarray(at)]
        this.#have = left
        this.#need = whole
        bytes.fill(0, 0, at)
        return
      }
      this.#onMessage(bytes[at + 4] as Kind, bytes.subarray(at + headBytes, at + whole))
      at += whole
    }
  }
}

function lengthOf(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32LE(at)
  if (length > payloadBytesMax) throw new Error(`a message of ${length} bytes is too long`)
  return length
}
