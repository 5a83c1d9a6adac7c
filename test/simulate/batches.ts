// Batches of requests (docs/interface.md, "Many at once"). The model predicts the answer to each
// request of a batch when the node begins it, and again whenever it runs after having been parked.
//
// N1. The node begins the requests of a batch in the order of the list, each once.
// N2. An answer stands where its request stood. It is answered as if it had come alone, and the
//     batch promises everything that its answers show.
// N3. A list with an error is refused, and none of its requests is begun.
// N4. Whenever all records are durable and nothing is left to do, every batch has been answered.
// N5. A batch yields to whatever else happens, and is cut off by crashes, between any two requests.

import assert from 'node:assert/strict'
import { BatchItem } from '../../src/edge/http/batch-item.ts'
import { Edge } from '../../src/edge/http/handle.ts'
import { Tick } from '../../src/edge/http/tick.ts'
import { Asked, type Asking, askedBy, type Request, SimulatedExchange } from './asking.ts'
import type { Machine } from './machine.ts'

/** Longer than a slice of a batch. */
const pauseMs = 5

interface Batch {
  requests: readonly Request[]
  asked: readonly Asked[]
  /** How many have been begun. */
  begun: number
  isWrong: boolean
}

/** The batch whose exchange was last asked whether its client is gone. */
let lookedAt: Batch | null = null
/** Decides, before the next step of a batch, whether it has to wait. */
let mayPause: () => boolean = () => false

const { handle } = Edge.prototype
Edge.prototype.handle = function (this: Edge, exchange): void {
  const asked = exchange instanceof BatchItem ? askedFor(exchange) : null
  if (asked === null) handle.call(this, exchange)
  else asked.watch(() => handle.call(this, exchange))
}

const { addSlices } = Tick.prototype
Tick.prototype.addSlices = function (this: Tick, slice): void {
  addSlices.call(this, () => {
    let elapsedMs = 0
    const now = () => {
      elapsedMs += mayPause() ? pauseMs : 0
      return elapsedMs
    }
    const isMore = slice(now)
    if (isMore && elapsedMs === 0) this.addSlices(slice)
    else if (isMore) setImmediate(() => this.addSlices(slice))
    return false
  })
}

/** Returns which request of which batch the node begins. */
function askedFor(item: BatchItem): Asked {
  lookedAt = null
  assert.ok(!item.isGone) // passed on to the exchange of the batch
  const { requests, asked, begun, isWrong } = lookedAt! as Batch
  assert.ok(!isWrong, 'N3')
  assert.ok(begun < requests.length, 'N1')
  const { method, path } = requests[begun]
  assert.deepEqual([item.method, item.path], [method, path], 'N1')
  ;(lookedAt! as Batch).begun += 1
  askedBy.set(item, asked[begun])
  return asked[begun]
}

export class Batches {
  readonly #machine: Machine
  readonly #open = new Set<Batch>()

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** Sends these requests as one batch; all come from the same address. */
  send(asking: readonly Asking[]): void {
    const machine = this.#machine
    mayPause = () => this.#open.size > 0 && machine.chance(0.1)
    const requests = asking.map(({ request }) => request)
    const isWrong = machine.chance(0.05)
    const asked = asking.map((each) => new Asked(machine, each, 'in a batch: '))
    const batch: Batch = { requests, asked, begun: 0, isWrong }
    const token = this.#commonToken(requests)
    const listed = requests.map((request) => this.#listed(request, token))
    if (isWrong) listed.push({ method: 'POST', path: '/api/batch' })
    const [{ address }] = requests
    const body = { requests: listed }
    const request = { method: 'post', path: '/api/batch', token, body, address } as const
    machine.trace(() => `a batch of ${requests.length}`)
    const exchange = new SimulatedExchange(request, (status, text) => {
      assert.ok(this.#open.delete(batch), 'a batch is answered once')
      if (status !== 200) return this.#refuse(batch, status, text)
      answer(batch, text)
      machine.count('post /api/batch 200')
    })
    const isGone = () => {
      lookedAt = batch
      return false
    }
    Object.defineProperty(exchange, 'isGone', { get: isGone })
    this.#open.add(batch)
    machine.handler(exchange)
  }

  /** Drops all batches, because the node is dead and will not answer them. */
  forget(): void {
    this.#open.clear()
  }

  /** Checks N4, if nothing is left to do. */
  check(): void {
    if (this.#machine.isIdle) assert.equal(this.#open.size, 0, 'N4')
  }

  /** Returns the token of the batch itself, which stands for the tokens of some of its requests. */
  #commonToken(requests: readonly Request[]): string | undefined {
    if (this.#machine.chance(0.3)) return undefined
    const tokens = requests.map(({ token }) => token)
    return tokens.includes(undefined) ? undefined : tokens[this.#machine.below(tokens.length)]
  }

  #listed({ method, path, query, token, key, body }: Request, common?: string): object {
    const own = token === common && this.#machine.chance(0.7) ? undefined : token
    const whole = query === undefined ? path : `${path}?${query}`
    return { method: method.toUpperCase(), path: whole, token: own, key, body }
  }

  #refuse({ asked, begun, isWrong }: Batch, status: number, text: string): void {
    const machine = this.#machine
    const { error } = JSON.parse(text)
    machine.count(`post /api/batch ${error}`)
    for (const each of asked) each.lose()
    if (isWrong && status === 400) return assert.deepEqual([error, begun], ['invalid_field', 0])
    assert.equal(status, 503, text)
    if (error === 'shutting_down') return assert.ok(machine.isStopping)
    assert.equal(error, 'storage_failed')
    machine.isFailing = true
  }
}

function answer({ asked, begun, isWrong }: Batch, text: string): void {
  const { responses } = JSON.parse(text) as { responses: Response[] }
  assert.equal(text, JSON.stringify({ responses }))
  assert.ok(!isWrong, 'N3')
  assert.deepEqual([begun, responses.length], [asked.length, asked.length])
  for (const [i, { status, body, retry_after: seconds }] of responses.entries()) {
    assert.ok(seconds === undefined || status === 429 || status === 503, text)
    asked[i].answer(status, JSON.stringify(body))
  }
}

interface Response {
  status: number
  body: object
  retry_after?: number
}
