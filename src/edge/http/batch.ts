// Carries out the requests of POST /api/batch (edge/api/batch.ts), and sends their answers as one.
//
//   list ──▶ read ──▶ each request begins ──▶ all are answered ──▶ all is durable ──▶ sent
//             │          │        ▲
//             ▼          └ pauses ┘  while too many are unanswered
//          refused
//
// B1. Requests begin in the order of the list, and each is handled like one that came alone: the
//     edge makes every check, and its own route answers it (batch-item.ts).
// B2. The work is done in slices of `sliceMs`, plus at most one request or one step of reading, as
//     heavy work (heavy-work.ts). So other requests keep their share of the loop, and batches take
//     turns.
// B3. Where another process decides, a request that writes is forwarded by itself, and a read
//     begins only when every request before it is answered. So it shows what they have written.
// B4. When a read begins, fewer than `readsMax` requests are running, because one caller may have
//     no more reads from disk or in slices at once; when a write begins, fewer than `writesMax`. A
//     request that waits for news is not running, and runs again when its wait is ended.
// B5. If an answer does not fit (batch-answers.ts), the reads after it are not carried out.
// B6. A batch is answered once, when everything that its answers show is durable. If that becomes
//     impossible, the whole batch is refused, and the idempotency keys show what was done.
// B7. All lists together have at most `listsBytesMax`, of which a network has a share. They are
//     counted in the load until their batch ends.

import { Shares } from '../../base/shares.ts'
import type { Forum } from '../../forum/forum.ts'
import { holderOf, nobody } from '../../kernel/network.ts'
import type { ErrorCode } from '../../kernel/rejection.ts'
import { listBytesMax } from '../api/batch.ts'
import { preferenceApplied } from '../api/follow-up.ts'
import { refuse, sendOutcome } from './answers.ts'
import { BatchAnswers, type ItemAnswer, refusal } from './batch-answers.ts'
import { BatchItem, type ItemBatch, type Sender, waitsItself } from './batch-item.ts'
import { type ListedRequest, notAList, readList } from './batch-list.ts'
import type { AnyCall } from './checked-request.ts'
import type { Exchange, Handler } from './exchange.ts'
import type { Gate, GateFailure } from './gate.ts'
import { type Body, ParsedBody, tooLarge } from './incoming-body.ts'
import type { Load } from './load.ts'
import { bodyText, minimal } from './parse.ts'
import type { Prepared } from './prepared-route.ts'
import type { Tick } from './tick.ts'

/** Less than half of the 10 ms for which a batch may hold the loop. */
const sliceMs = 4
const listsBytesMax = 64 << 20
const readsMax = 8
const writesMax = 256

const listTooLarge = `A batch may have at most ${listBytesMax >> 20} MiB.`
const waitsAlone = 'wait must be 0 in a batch; polls wait together by the field wait beside them.'
const cannotWait = 'wait must be 0 unless every request polls the feed or a thread.'

interface BatchesParts {
  edge: { handle: Handler; readonly forward: unknown }
  /** Returns whether a request can wait for news. */
  mayWait(method: string, path: string): boolean
  tick: Tick
  load: Load
  gate: Gate
  forum: Forum
}

export class Batches {
  readonly #parts: BatchesParts
  readonly #lists = new Shares(listsBytesMax)

  constructor(parts: BatchesParts) {
    this.#parts = parts
  }

  /** Answers a request for a batch that has passed the checks of its head. */
  take(exchange: Exchange, prepared: Prepared, call: AnyCall): void {
    const authorization = exchange.header('authorization')
    const prefer = call.isMinimal ? minimal : ''
    const sender = { authorization, prefer, address: call.client }
    exchange.collect(listBytesMax, (body) => {
      this.#begin(new Batch(this.#parts, { exchange, prepared, call, sender }), body)
    })
  }

  #begin(batch: Batch, body: Body): void {
    const { load } = this.#parts
    const { exchange, sender } = batch
    if (body === tooLarge) return refuse(exchange, 'too_large', listTooLarge)
    const bytes = typeof body === 'symbol' ? 0 : body.length
    const holder = holderOf(nobody, sender.address)
    if (typeof body === 'symbol' || !load.hasRoom(bytes) || !this.#lists.mayTake(holder, bytes)) {
      load.refused.bodies += 1
      return refuse(exchange, 'overloaded')
    }
    const text = body instanceof ParsedBody ? body.text : bodyText(body)
    if (text === null) return refuse(exchange, notAList.code, notAList.detail)
    this.#lists.take(holder, bytes)
    load.bodyBytes += bytes
    batch.begin(text, () => {
      this.#lists.giveBack(holder, bytes)
      load.bodyBytes -= bytes
    })
  }
}

interface Received {
  exchange: Exchange
  prepared: Prepared
  call: AnyCall
  sender: Sender
}

/** `pause`: nothing can be done until a request is answered. */
type Step = 'pause' | undefined

class Batch implements ItemBatch {
  readonly exchange: Exchange
  readonly sender: Sender
  readonly #parts: BatchesParts
  readonly #prepared: Prepared
  readonly #call: AnyCall
  #answers: BatchAnswers | null = null
  /** The requests that began with time to wait. */
  readonly #waiting: BatchItem[] = []
  /** The number of requests that have begun, and are neither answered nor waiting for news. */
  #running = 0
  /** The position that must be durable before it is answered. */
  #position = 0
  #steps: Generator<Step, void> | null = null
  #isPaused = false
  /** Called when it ends; null once it has ended. */
  #onEnd: (() => void) | null = null

  constructor(parts: BatchesParts, { exchange, prepared, call, sender }: Received) {
    this.#parts = parts
    this.exchange = exchange
    this.#prepared = prepared
    this.#call = call
    this.sender = sender
  }

  get isGone(): boolean {
    return this.#onEnd === null || this.exchange.isGone
  }

  /** Carries out the requests of a list. Calls `onEnd` once. */
  begin(text: string, onEnd: () => void): void {
    this.#onEnd = onEnd
    this.exchange.onHangUp(() => this.#end())
    this.#steps = this.#carryOut(text)
    this.#goOn()
  }

  shows(position: number): void {
    this.#position = Math.max(this.#position, position)
  }

  held(): void {
    this.#running -= 1
    if (this.#isPaused) this.#goOn()
  }

  resumed(): void {
    this.#running += 1
  }

  take(index: number, answer: ItemAnswer, wasHeld = false): void {
    if (this.isGone) return
    if (!wasHeld) this.#running -= 1
    this.#answers!.add(index, answer)
    if (this.#isPaused) this.#goOn()
  }

  /** Does the next steps in slices, until it pauses or has ended. */
  #goOn(): void {
    this.#isPaused = false
    this.#parts.tick.addSlices((now) => this.#doSlice(now))
  }

  #doSlice(now: () => number): boolean {
    const end = now() + sliceMs
    do {
      if (this.isGone) {
        this.#end()
        return false
      }
      const { value, done } = this.#steps!.next()
      this.#isPaused = value === 'pause'
      if (done || this.#isPaused) return false
    } while (now() < end)
    return true
  }

  *#carryOut(text: string): Generator<Step, void> {
    const list = yield* readList(text, this.#prepared.checkBody)
    if ('code' in list) return this.#refuse(list.code, list.detail)
    const { requests, wait } = list
    if (wait > 0 && !requests.every((request) => this.#mayWait(request))) {
      return this.#refuse('invalid_field', cannotWait)
    }
    const answers = new BatchAnswers(requests.length, this.#parts.load)
    this.#answers = answers
    for (const [index, request] of requests.entries()) {
      while (!this.#mayBegin(request)) yield 'pause'
      // Once one is answered, no further one waits.
      this.#beginOne(index, request, answers.missing === requests.length ? wait : 0)
      yield
    }
    while (this.#waiting.length > 0 && answers.missing === requests.length) yield 'pause'
    for (const item of this.#waiting) {
      while (this.#running >= readsMax) yield 'pause'
      item.endWait()
      yield
    }
    while (answers.missing > 0) yield 'pause'
    this.#answer(answers)
  }

  /** Whether the request polls something that can have news. */
  #mayWait(request: ListedRequest): boolean {
    const { method, path } = new BatchItem(this, 0, request, 0)
    return !waitsItself(request) && this.#parts.mayWait(method, path)
  }

  #mayBegin({ method }: ListedRequest): boolean {
    if (method !== 'GET') return this.#running < writesMax
    return this.#running < (this.#parts.edge.forward === null ? readsMax : 1)
  }

  #beginOne(index: number, request: ListedRequest, seconds: number): void {
    this.#running += 1
    const isLeftOut = this.#answers!.isFull && request.method === 'GET'
    if (isLeftOut) return this.take(index, refusal('batch_full'))
    if (waitsItself(request)) return this.take(index, refusal('invalid_query', waitsAlone))
    const item = new BatchItem(this, index, request, seconds)
    if (seconds > 0) this.#waiting.push(item)
    this.#parts.edge.handle(item)
  }

  /** Sends the answers when everything that they show is durable. */
  #answer(answers: BatchAnswers): void {
    const { gate, forum } = this.#parts
    const position = this.#position
    const leave = (failure: GateFailure | null) => {
      if (this.isGone) return
      if (failure !== null) return this.#refuse(failure)
      const headers = preferenceApplied(this.#call)
      const outcome = { status: 200, body: answers.joined(), isOwn: true, position, headers }
      sendOutcome(this.exchange, this.#prepared.route, outcome)
      this.#end()
    }
    if (position <= forum.journal.durable) leave(null)
    else gate.keep(position, leave)
  }

  #refuse(code: ErrorCode, detail?: string): void {
    refuse(this.exchange, code, detail)
    this.#end()
  }

  #end(): void {
    const onEnd = this.#onEnd
    if (onEnd === null) return
    this.#onEnd = null
    for (const item of this.#waiting) item.hangUp()
    this.#answers?.drop()
    onEnd()
  }
}
