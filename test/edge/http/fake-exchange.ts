// An in-memory request and its answers. Its body arrives when the test says so.

import type { Exchange } from '../../../src/edge/http/exchange.ts'
import { type Body, tooLarge } from '../../../src/edge/http/incoming-body.ts'
import type { RouteMeter } from '../../../src/edge/http/meter.ts'
import type { errors } from '../../../src/kernel/rejection.ts'

export interface Answered {
  status: number
  headers: string
  /** The text as it was at the time of the answer. */
  text: string | null
}

export class FakeExchange implements Exchange {
  meter: RouteMeter | null = null
  startedMs = 0
  moreHeaders = ''
  errorPage: Exchange['errorPage'] = null
  isGone = false
  readonly method: string
  readonly path: string
  readonly query: string
  readonly remoteAddress = '127.0.0.1'
  readonly answers: Answered[] = []
  isHeld = false
  readonly #headers: Record<string, string>
  #bytesMax = 0
  #done: ((body: Body) => void) | null = null
  #hungUp: () => void = () => {}

  constructor(method: string, path: string, headers: Record<string, string> = {}, query = '') {
    this.method = method
    this.path = path
    this.query = query
    this.#headers = headers
  }

  /** The error code of the only answer, or its status if it is not an error. */
  get code(): keyof typeof errors | number {
    const [{ status, text }] = this.answers
    return status < 400 ? status : JSON.parse(text!).error
  }

  header(name: string): string {
    return this.#headers[name] ?? ''
  }

  allOf(name: string): string {
    return this.header(name)
  }

  collect(bytesMax: number, done: (body: Body) => void): void {
    this.#bytesMax = bytesMax
    this.#done = done
  }

  hold(): void {
    this.isHeld = true
  }

  onHangUp(call: () => void): void {
    this.#hungUp = call
  }

  /** Simulates that the client hangs up. */
  hangUp(): void {
    this.isGone = true
    this.#hungUp()
  }

  answer(status: number, _type: string, headers: string, body: string | Uint8Array | null): void {
    const text = body === null ? null : Buffer.from(body as Uint8Array).toString()
    this.answers.push({ status, headers, text })
  }

  /** Delivers the whole body. */
  end(body: object): void {
    this.endWith(Buffer.from(JSON.stringify(body)))
  }

  /** Delivers these bytes as the body, if it is collected. The library then reuses their memory. */
  endWith(bytes: Buffer): void {
    this.#done?.(bytes.length > this.#bytesMax ? tooLarge : bytes)
    bytes.fill(0)
  }
}
