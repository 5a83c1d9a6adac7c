// One request of a batch, as the edge sees a request. The address, `Prefer`, and the token of a
// request that has none of its own are those of the batch.

import type { ItemAnswer } from './batch-answers.ts'
import type { ListedRequest } from './batch-list.ts'
import type { Exchange } from './exchange.ts'
import { type Body, tooLarge } from './incoming-body.ts'
import type { RouteMeter } from './meter.ts'
import { parseQuery } from './parse.ts'

const noBytes = Buffer.alloc(0)
const waitParameter = { name: 'wait', isNumber: true }
const retryHeader = /\r\nRetry-After: (\d+)/

/** What sent the batch. */
export interface Sender {
  /** Its Authorization header. */
  authorization: string
  /** A Prefer header. */
  prefer: string
  /** The address that clientAddress returns. */
  address: string
}

/** The batch that a request is a part of. */
export interface ItemBatch {
  readonly sender: Sender
  readonly isGone: boolean
  shows(position: number): void
  /** Called when the request begins to wait for news. */
  held(): void
  /** Called when its wait is ended, before it runs again. */
  resumed(): void
  /** Takes the answer. Its bytes are valid only until this returns. `wasHeld`: it has waited. */
  take(index: number, answer: ItemAnswer, wasHeld?: boolean): void
}

export class BatchItem implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #batch: ItemBatch
  readonly #index: number
  readonly #request: ListedRequest
  #hangUp: () => void = () => {}
  #endWait: () => void = () => {}
  /** Whether it has begun to wait, and whether it must not wait any more. */
  #isHeld = false
  #isWaitOver = false

  /** `seconds`: how long it may wait for news. */
  constructor(batch: ItemBatch, index: number, request: ListedRequest, seconds: number) {
    const mark = request.path.indexOf('?')
    const query = mark === -1 ? '' : request.path.slice(mark + 1)
    this.method = request.method.toLowerCase()
    this.path = mark === -1 ? request.path : request.path.slice(0, mark)
    // The first of several values counts.
    this.query = seconds === 0 ? query : `wait=${seconds}&${query}`
    this.#batch = batch
    this.#index = index
    this.#request = request
  }

  get isGone(): boolean {
    return this.#batch.isGone
  }

  get remoteAddress(): string {
    return this.#batch.sender.address
  }

  header(name: string): string {
    const { token, key, body } = this.#request
    const { authorization, prefer } = this.#batch.sender
    switch (name) {
      case 'authorization':
        return token === undefined ? authorization : `Bearer ${token}`
      case 'idempotency-key':
        return key ?? ''
      case 'content-type':
        return body === undefined ? '' : 'application/json'
      default:
        return name === 'prefer' ? prefer : ''
    }
  }

  allOf(name: string): string {
    return this.header(name)
  }

  hold(): void {}

  onHangUp(call: () => void): void {
    this.#hangUp = call
  }

  onWait(end: () => void): void {
    this.#isHeld = true
    this.#endWait = end
    if (this.#isWaitOver) end()
    this.#batch.held()
  }

  /** The client of the batch has hung up. */
  hangUp(): void {
    this.#hangUp()
  }

  /** Has the request answered now if it waits for news, or would begin to. */
  endWait(): void {
    this.#isWaitOver = true
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#batch.resumed()
    this.#endWait()
  }

  collect(bytesMax: number, done: (body: Body) => void): void {
    const { body = noBytes } = this.#request
    done(body.length > bytesMax ? tooLarge : body)
  }

  shows(position: number): void {
    this.#batch.shows(position)
  }

  answer(status: number, _type: string, headers: string, body: string | Uint8Array | null): void {
    const isLater = status === 429 || status === 503
    const [, seconds] = (isLater && retryHeader.exec(headers)) || []
    const retryAfter = seconds === undefined ? undefined : Number(seconds)
    const wasHeld = this.#isHeld
    this.#isHeld = false
    this.#batch.take(this.#index, { status, body: body ?? '{}', retryAfter }, wasHeld)
  }
}

/** Returns whether a request of a batch asks to wait by itself. */
export function waitsItself({ path }: ListedRequest): boolean {
  const mark = path.indexOf('?')
  if (mark === -1) return false
  const { wait } = parseQuery(path.slice(mark + 1), [waitParameter], { wait: undefined })
  return wait !== undefined && wait !== 0
}
