// Collects the body of a request, chunk by chunk, for both HTTP servers.
//
// B1. `done` is called at most once, and never after `drop`.
// B2. Kept bytes are counted in the load until the body ends, for whatever reason. Then they are
//     overwritten, because the text in them may be erased one day. The receiver keeps no view.

import type { Load } from './load.ts'

const noBytes = Buffer.alloc(0)

/** The largest body that is read. All that the interface allows fit, even in `\u` escapes. */
export const bodyBytesMax = 256 * 1024
/** A body that is larger than its route allows. */
export const tooLarge = Symbol('too large')
/** A body for which the queues have no room now. */
export const overloaded = Symbol('overloaded')

/** How much of a body that is too large is read before the connection is closed. */
export const dropBytesMax = 16 << 20

/** A body that came as a part of a batch, and is parsed already (batch-list.ts). */
export class ParsedBody {
  /** Its JSON, as it was sent, and how many bytes that has. */
  readonly text: string
  readonly length: number
  /** Null: it is longer, or has more values or levels, than a body may. */
  readonly fields: Record<string, unknown> | null

  constructor(text: string, length: number, fields: Record<string, unknown> | null) {
    this.text = text
    this.length = length
    this.fields = fields
  }
}

export type Body = Buffer | ParsedBody | typeof tooLarge | typeof overloaded

export class IncomingBody {
  readonly #load: Load
  readonly #bytesMax: number
  readonly #done: (body: Body) => void
  /** The kept bytes, and spare capacity: a body may arrive byte by byte. */
  #room: Buffer = noBytes
  #kept = 0
  #bytes = 0
  #isDone = false
  /** Why the rest of the body is read and discarded; null: the body is kept. */
  #refusal: typeof tooLarge | typeof overloaded | null = null

  constructor(load: Load, bytesMax: number, done: (body: Body) => void) {
    this.#load = load
    this.#bytesMax = bytesMax
    this.#done = done
  }

  /** Whether so much was discarded that the connection is not worth keeping. */
  get isHopeless(): boolean {
    return this.#bytes > dropBytesMax
  }

  /** Copies a chunk, whose memory the caller may reuse afterwards. */
  add(chunk: Buffer): void {
    if (this.#isDone) return
    this.#bytes += chunk.byteLength
    if (this.#refusal === null) this.#keep(chunk)
    if (this.isHopeless) this.#finish(tooLarge)
  }

  end(): void {
    if (!this.#isDone) this.#finish(this.#refusal ?? this.#room.subarray(0, this.#kept))
  }

  /** Discards the body: nothing more will arrive. */
  drop(): void {
    this.#isDone = true
    this.#release()
  }

  #keep(chunk: Buffer): void {
    if (this.#bytes > this.#bytesMax) this.#refuse(tooLarge)
    else if (!this.#load.hasRoom(chunk.byteLength)) this.#refuse(overloaded)
    else {
      this.#copy(chunk)
      this.#load.bodyBytes += chunk.byteLength
    }
  }

  #copy(chunk: Buffer): void {
    const kept = this.#kept + chunk.byteLength
    if (kept > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(kept, 2 * this.#room.length))
      this.#room.copy(larger, 0, 0, this.#kept)
      this.#room.fill(0)
      this.#room = larger
    }
    chunk.copy(this.#room, this.#kept)
    this.#kept = kept
  }

  #refuse(why: typeof tooLarge | typeof overloaded): void {
    this.#refusal = why
    this.#release()
  }

  #finish(body: Body): void {
    if (body === overloaded) this.#load.refused.bodies += 1
    const room = this.#room
    this.#room = noBytes
    this.drop()
    this.#done(body)
    room.fill(0)
  }

  #release(): void {
    this.#load.bodyBytes -= this.#kept
    this.#kept = 0
    this.#room.fill(0)
    this.#room = noBytes
  }
}
