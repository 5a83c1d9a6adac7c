// What the main process and its readers send each other, over a socket between two processes of one
// program: both are always of the same version.
//
//   0  4  length of the payload
//   4  1  kind
//   5     payload
//
//   main process ──▶ reader                        reader ──▶ main process
//   setup       what it needs to start, msgpack    start    f64 the position it has loaded
//   frame       f64 first, u32 count, records      request  a forwarded request
//   durable     f64 position, and three times:     report   how it is, msgpack
//               now, and its standing (gate.ts)    checked  requests (checked-messages.ts)
//   answer      of a forwarded request
//   settled     outcomes of checked requests
//   checkpoint  f64 number, f64 position
//   role        of the node among those that share a log, msgpack
//   failed      nothing becomes durable any more; how to refuse what waits, msgpack
//   stop
//
// M1. A message with a text is overwritten at both ends when it was written or has been read, as
//     the text may be erased one day. So whoever takes a payload copies what is to stay.

import type { Socket } from 'node:net'
import { Packr } from 'msgpackr'
import { frameBytesMax } from '../../wal/journal/format.ts'

export const kinds = {
  setup: 1,
  frame: 2,
  durable: 3,
  answer: 4,
  checkpoint: 5,
  stop: 6,
  role: 7,
  failed: 8,
  settled: 9,
  start: 16,
  request: 17,
  report: 18,
  checked: 19,
} as const

export type Kind = (typeof kinds)[keyof typeof kinds]

/**
 * For how long either end may be silent: the main process waits no longer until a reader has taken
 * what it is sent, and a reader answers nothing after that time without news, by the clock of both.
 */
export const silenceMsMax = 2000

const headBytes = 5
const frameHeadBytes = 12
/** More than the longest message: a frame with its head. */
const payloadBytesMax = frameBytesMax + (1 << 20)
const packr = new Packr({ useRecords: false, copyBuffers: true })

/** A message around a payload, which is copied. */
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

/** A message of numbers. */
export function numbersMessage(kind: Kind, ...numbers: number[]): Buffer {
  const payload = Buffer.alloc(numbers.length * 8)
  for (const [i, number] of numbers.entries()) payload.writeDoubleLE(number, i * 8)
  return message(kind, payload)
}

/** The number at this place of such a message. */
export function numberAt(payload: Buffer, place: number): number {
  return payload.readDoubleLE(place * 8)
}

export function frameMessage(first: number, count: number, records: Uint8Array): Buffer {
  const head = Buffer.alloc(frameHeadBytes)
  head.writeDoubleLE(first)
  head.writeUInt32LE(count, 8)
  return message(kinds.frame, head, records)
}

/** The frame in a message; `records` is a view of it. */
export function frameOf(payload: Buffer): { first: number; count: number; records: Buffer } {
  const first = payload.readDoubleLE(0)
  return { first, count: payload.readUInt32LE(8), records: payload.subarray(frameHeadBytes) }
}

/** Writes messages as one, and overwrites them (M1). Nobody else has them. */
export function writeJoined(socket: Socket, messages: readonly Buffer[]): void {
  const whole = Buffer.concat(messages)
  for (const each of messages) each.fill(0)
  socket.write(whole, () => void whole.fill(0))
}

// Node reads both from the monotonic clock of the system, which all processes share.
const sinceOrigin = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** Milliseconds of a clock that all processes of the machine share, and that is never set. */
export function sharedNow(): number {
  return toShared(performance.now())
}

/** The same moment by the clock that all share; `ms` as performance.now(). */
export function toShared(ms: number): number {
  return ms + sinceOrigin
}

/** The same moment as performance.now() of this process. */
export function fromShared(ms: number): number {
  return ms - sinceOrigin
}

/** Finds the messages in what arrives, however it is cut. */
export class Splitter {
  readonly #onMessage: (kind: Kind, payload: Buffer) => void
  /** A message that has not arrived whole: its parts, and how many bytes it still lacks. */
  #parts: Buffer[] = []
  #have = 0
  #need = headBytes

  constructor(onMessage: (kind: Kind, payload: Buffer) => void) {
    this.#onMessage = onMessage
  }

  /** Takes what has arrived. Throws if it cannot be a message. */
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
