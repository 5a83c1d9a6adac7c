// Checked requests (http/checked-request.ts) between a reader and its main process: all of an
// event-loop iteration in one message, and so are their outcomes.
//
//   reader ──▶ main process   checked   rows of: id, place, caller, its token, path id, query, key,
//                                       address, origin, If-None-Match, bytes of the body, body,
//                                       unread
//   main process ──▶ reader   settled   rows of: id, and how it was settled:
//                                       0, decision; 1, code, position, detail, seconds;
//                                       2, status, body, position, entity tag, seconds

import assert from 'node:assert/strict'
import { Packr } from 'msgpackr'
import type { Answer } from '../api/route.ts'
import type { Positioned } from '../forum/forum.ts'
import type { CheckedRequest, SentCall, UnreadBody } from '../http/checked-request.ts'
import type { Exchange, Refused, Settled } from '../http/exchange.ts'
import type { Body } from '../http/incoming-body.ts'
import { RouteMeter } from '../http/meter.ts'
import { type Kind, message } from './messages.ts'

const packr = new Packr({ useRecords: false, copyBuffers: true })

/** A row of a message; whoever changes one of these functions changes the other. */
export type Row = readonly unknown[]

/** Takes the unread body, which is overwritten when it is packed. */
export function rowOfRequest(id: number, { place, call, unread }: CheckedRequest): Row {
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
  return [id, place, caller, token, ...texts, bodyBytes, unread === null ? body : null, unread]
}

function requestOfRow(row: Row): CheckedRequest {
  const [, place, caller, token, pathId] = row as [number, number, number, number, string]
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
  return { place, call, unread: row[12] as UnreadBody | null }
}

const how = { decided: 0, refused: 1, answered: 2 } as const

/** Takes the body of an answer, which is overwritten when it is packed. */
function rowOfSettled(id: number, settled: Settled): Row {
  if ('rejected' in settled) {
    const { rejected, position, detail, retryAfter } = settled
    return [id, how.refused, rejected, position, detail, retryAfter]
  }
  const { decision, status, body, position, etag, retryAfter } = settled
  if (decision !== undefined) return [id, how.decided, decision]
  return [id, how.answered, status, body, position, etag, retryAfter]
}

function settledOfRow(row: Row): Settled {
  if (row[1] === how.decided) {
    const decision = row[2] as Positioned
    return { status: 0, body: '', position: decision.position, decision }
  }
  if (row[1] === how.refused) {
    const [, , rejected, position, detail, retryAfter] = row
    return without({ rejected, position, detail, retryAfter }) as unknown as Refused
  }
  const [, , status, body, position, etag, retryAfter] = row
  const isOwn = typeof body !== 'string'
  return without({ status, body, isOwn, position, etag, retryAfter }) as unknown as Answer
}

/** What is absent is packed as undefined. */
function without(fields: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(fields)) if (fields[name] === undefined) delete fields[name]
  return fields
}

/** Packs rows as one message, and overwrites the bytes in them. */
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
export function eachSettled(payload: Buffer, take: (id: number, settled: Settled) => void): void {
  for (const row of packr.unpack(payload) as Row[]) take(row[0] as number, settledOfRow(row))
}

/** Has the edge run each request in a message; `settle` is given the rows of their outcomes. */
export function runEach(
  payload: Buffer,
  run: (exchange: Exchange, request: CheckedRequest) => void,
  settle: (row: Row) => void,
): void {
  for (const row of packr.unpack(payload) as Row[]) {
    run(new CheckedExchange(row[0] as number, settle), requestOfRow(row))
  }
}

/** Nobody looks at it: the reader counts the request, as it is the one that has the caller. */
const uncounted = new RouteMeter('checked')

/** A request whose caller is at a reader. The edge has nothing left to ask of it but to settle. */
class CheckedExchange implements Exchange {
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  readonly #id: number
  readonly #settle: (row: Row) => void

  constructor(id: number, settle: (row: Row) => void) {
    this.#id = id
    this.#settle = settle
  }

  settle(settled: Settled): void {
    this.#settle(rowOfSettled(this.#id, settled))
  }

  /** The reader has to be answered, even if its caller has gone. */
  get isGone(): boolean {
    return false
  }

  get meter(): RouteMeter {
    return uncounted
  }

  set meter(_: RouteMeter | null) {}

  get method(): string {
    return ''
  }

  get path(): string {
    return ''
  }

  get query(): string {
    return ''
  }

  get remoteAddress(): string {
    return ''
  }

  header(): string {
    return ''
  }

  allOf(): string {
    return ''
  }

  collect(_bytesMax: number, _done: (body: Body) => void): void {}

  hold(): void {}

  onHangUp(): void {}

  answer(): void {
    assert.fail('a checked request is settled')
  }
}
