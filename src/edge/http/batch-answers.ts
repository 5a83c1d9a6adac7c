// The answers to the requests of a batch as they come, and the body that they make together.
//
//   {"responses":[{"status":201,"body":{…}},{"status":429,"body":{…},"retry_after":7},…]}
//
// A1. The body has at most `answersBytesMax`. An answer that no longer fits, or for which the node
//     has no room, is replaced by the refusal `batch_full`. For that there is room from the start.
// A2. Bytes that are kept are counted in the load until `drop`, which overwrites them, because the
//     text in them may be erased one day.

import { type ErrorCode, type ErrorKind, errors } from '../../kernel/rejection.ts'
import { answersBytesMax } from '../api/batch.ts'
import { errorBody } from '../api/errors.ts'
import type { Load } from './load.ts'

const open = Buffer.from('{"responses":[')
const comma = ','
const close = Buffer.from(']}')

export interface ItemAnswer {
  status: number
  body: string | Uint8Array
  /** A number of seconds. */
  retryAfter?: number | undefined
}

export class BatchAnswers {
  /** How many are missing. */
  missing: number
  /** Whether one did not fit. */
  isFull = false
  readonly #parts: Buffer[]
  readonly #load: Load
  /** The bytes that are left for answers longer than `full`. */
  #room: number
  #keptBytes = 0

  constructor(count: number, load: Load) {
    this.missing = count
    this.#parts = new Array<Buffer>(count).fill(full)
    this.#load = load
    this.#room = answersBytesMax - open.length - count * full.length - close.length
  }

  /** Adds the answer to the request with this index. Copies the bytes of its body. */
  add(index: number, answer: ItemAnswer): void {
    this.missing -= 1
    const part = partOf(answer)
    const more = Math.max(0, part.length - full.length)
    if (more > this.#room || !this.#load.hasRoom(part.length)) {
      this.isFull = true
      return
    }
    this.#room -= more
    this.#parts[index] = part
    this.#keptBytes += part.length
    this.#load.answerBytes += part.length
  }

  /** Returns the body of the batch: all answers, joined. */
  joined(): Buffer {
    const [first, ...others] = this.#parts
    return Buffer.concat([open, first.subarray(comma.length), ...others, close])
  }

  drop(): void {
    this.#load.answerBytes -= this.#keptBytes
    this.#keptBytes = 0
    for (const part of this.#parts) if (part !== full) part.fill(0)
  }
}

/** Returns the answer that refuses one request of a batch. */
export function refusal(code: ErrorCode, detail?: string): ItemAnswer {
  const { status, retryAfter }: ErrorKind = errors[code]
  return { status, body: errorBody(code, detail), retryAfter }
}

/** Returns an answer as it stands in the list, after a comma, which the first loses (`joined`). */
function partOf({ status, body, retryAfter }: ItemAnswer): Buffer {
  const start = `${comma}{"status":${status},"body":`
  const end = retryAfter === undefined ? '}' : `,"retry_after":${retryAfter}}`
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const part = Buffer.allocUnsafe(start.length + bytes + end.length)
  part.write(start, 'latin1')
  if (typeof body === 'string') part.write(body, start.length)
  else part.set(body, start.length)
  part.write(end, start.length + bytes, 'latin1')
  return part
}

const full = partOf(refusal('batch_full'))
