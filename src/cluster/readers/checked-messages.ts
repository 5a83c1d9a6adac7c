// Checked requests (edge/http/checked-request.ts) between a reader and its main process. All
// requests of one event-loop iteration travel in one message, and so do their outcomes.
//
//   reader ──▶ main process   checked   rows of: id, route index, caller, its token, path id,
//                                       query, key, address, origin, If-None-Match, length of
//                                       the body, body, unread
//   main process ──▶ reader   outcomes  rows of: id, and kind of the outcome with its fields:
//                                       0, decision; 1, code, position, detail, seconds,
//                                       fields;
//                                       2, status, body, position, entity tag, seconds

import assert from 'node:assert/strict'
import { Packr } from 'msgpackr'
import type { Answer, Outcome } from '../../edge/api/route.ts'
import {
  type CheckedRequest,
  RemoteResponder,
  type SentCall,
  type UnreadBody,
} from '../../edge/http/checked-request.ts'
import type { Responder } from '../../edge/http/exchange.ts'
import type { Positioned } from '../../forum/forum.ts'
import type { Rejection } from '../../kernel/rejection.ts'
import { type Kind, message } from './messages.ts'

const packr = new Packr({ useRecords: false, copyBuffers: true })

/** A row of a message. The functions that write and read one kind of row must change together. */
export type Row = readonly unknown[]

/** Returns a request's row. Takes ownership of an unread body, which packing overwrites. */
export function rowOfRequest(id: number, { routeIndex, call, unread }: CheckedRequest): Row {
  const {
    caller,
    token,
    id: pathId,
    query,
    key,
    client,
    origin,
    ifNoneMatch,
    bodyBytes,
    body,
  } = call
  const texts = [pathId, query, key, client, origin, ifNoneMatch]
  return [id, routeIndex, caller, token, ...texts, bodyBytes, unread === null ? body : null, unread]
}

function requestOfRow(row: Row): CheckedRequest {
  const [, routeIndex, caller, token, pathId] = row as [number, number, number, number, string]
  const call: SentCall = {
    caller,
    token,
    id: pathId,
    query: row[5],
    key: row[6] as string,
    client: row[7] as string,
    origin: row[8] as string,
    ifNoneMatch: row[9] as string,
    bodyBytes: row[10] as number,
    body: row[11],
  }
  return { routeIndex, call, unread: row[12] as UnreadBody | null }
}

const how = { decided: 0, refused: 1, answered: 2 } as const

/** Returns an outcome's row. Takes ownership of an answer's body, which packing overwrites. */
function rowOfOutcome(id: number, outcome: Outcome): Row {
  if ('rejected' in outcome) {
    const { rejected, position, detail, retryAfter, fields } = outcome
    return [id, how.refused, rejected, position, detail, retryAfter, fields]
  }
  const { decision, status, body, position, etag, retryAfter } = outcome
  if (decision !== undefined) return [id, how.decided, decision]
  return [id, how.answered, status, body, position, etag, retryAfter]
}

function outcomeOfRow(row: Row): Outcome {
  if (row[1] === how.decided) {
    const decision = row[2] as Positioned
    return { status: 0, body: '', position: decision.position, decision }
  }
  if (row[1] === how.refused) {
    const [, , rejected, position, detail, retryAfter, fields] = row
    return without({ rejected, position, detail, retryAfter, fields }) as unknown as Rejection
  }
  const [, , status, body, position, etag, retryAfter] = row
  const isOwn = typeof body !== 'string'
  return without({ status, body, isOwn, position, etag, retryAfter }) as unknown as Answer
}

/** Deletes fields that are undefined, which is how absent fields are unpacked. */
function without(fields: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(fields)) if (fields[name] === undefined) delete fields[name]
  return fields
}

/** Packs rows into one message, and overwrites the byte arrays in them. */
export function rowsMessage(kind: Kind, rows: readonly Row[]): Buffer {
  const packed = packr.pack(rows)
  const whole = message(kind, packed)
  packed.fill(0)
  for (const row of rows) {
    for (const value of row) if (value instanceof Uint8Array) value.fill(0)
  }
  return whole
}

/** Calls `take` with the outcome of each request in a message. */
export function eachOutcome(payload: Buffer, take: (id: number, outcome: Outcome) => void): void {
  for (const row of packr.unpack(payload) as Row[]) take(row[0] as number, outcomeOfRow(row))
}

/** Has the edge run each request in a message; calls `complete` with the row of each outcome. */
export function runEach(
  payload: Buffer,
  run: (responder: Responder, request: CheckedRequest) => void,
  complete: (row: Row) => void,
): void {
  for (const row of packr.unpack(payload) as Row[]) {
    run(new CheckedResponder(row[0] as number, complete), requestOfRow(row))
  }
}

/** Completes a request whose caller is connected to a reader. */
class CheckedResponder extends RemoteResponder implements Responder {
  readonly #id: number
  readonly #complete: (row: Row) => void

  constructor(id: number, complete: (row: Row) => void) {
    super()
    this.#id = id
    this.#complete = complete
  }

  complete(outcome: Outcome): void {
    this.#complete(rowOfOutcome(this.#id, outcome))
  }

  answer(): void {
    assert.fail('a checked request is completed')
  }
}
