// The engine that carries the log, simulated in memory: the contents of a cluster of servers, and
// the network between it and its clients, which delays, loses and reorders, by seed.
//
//   client ── request ──▶ engine        in order for each connection; may be lost, and may arrive
//                                       after its caller has given up or died, or twice
//   client ◀── reply ──── engine        in any order; may be lost: the outcome is unknown
//   client ◀── message ── engine        in order for each reader, after any delay
//
// Nothing happens by itself: each step waits until the test completes it (`completeOne`).
//
// E1. A message that was acknowledged stays, until it is trimmed.
// E2. Conditions (`expectedLast`, a revision) are compared when the request arrives.

import type { StreamMessage, Unplaced } from '../../../src/cluster/replication/log-stream.ts'

export interface Step {
  kind: 'request' | 'reply' | 'delivery'
  /** The connection that the step belongs to. */
  from: Connection
  run: () => void
}

export interface Connection {
  /** Whether the connection is cut, so that nothing passes. */
  isCut: boolean
  /** Whether its process is stopped, and receives nothing. */
  isStopped: boolean
  /** Whether its process is dead, so that replies reach nobody. */
  isDead: boolean
  /** Runs a part of its process. */
  run(work: () => void): void
  /** Called when messages were added or trimmed. */
  streamChanged(): void
}

/** A node that answers the requests of other nodes. */
export interface Answerer {
  connection: Connection
  answer: (request: Uint8Array) => Promise<Uint8Array>
}

export class SimulatedEngine {
  /** Whether a majority of the servers is available; otherwise requests wait or are lost. */
  isAvailable = true
  /** The share of requests and of replies that is lost. */
  lossRate = 0
  /** The share of requests that arrive once more, some time later. */
  repeatRate = 0
  /** The share of answers that lack the newest messages, as from a server that no longer leads. */
  staleRate = 0
  /** The capacity of the stream, in bytes. */
  capacityBytes = Number.POSITIVE_INFINITY
  readonly notes = new Map<string, { value: string; revision: number }>()
  readonly objects = new Map<string, Buffer>()
  readonly connections = new Set<Connection>()
  /** The leader of each term that answers requests. */
  readonly answerers = new Map<number, Answerer>()
  lease: { holder: string; node: string; until: number } | null = null
  /** The number of occurrences of each outcome, by name. */
  readonly outcomes = new Map<string, number>()
  revision = 0
  readonly random: () => number
  readonly #steps: Step[] = []
  readonly #messages: StreamMessage[] = []
  /** Every message that was ever appended. */
  readonly everything: StreamMessage[] = []
  #trimmed = 0

  constructor(random: () => number) {
    this.random = random
  }

  get lastSequence(): number {
    return this.#trimmed + this.#messages.length
  }

  /** The message that a server believes to be the newest. */
  get seeminglyLast(): StreamMessage | null {
    const missing = this.#missing()
    if (missing > 0) this.count('last: an older one')
    return this.message(Math.max(this.firstSequence, this.lastSequence - missing))
  }

  /** The message that a server believes to have this sequence. */
  seemingly(sequence: number): StreamMessage | null {
    if (sequence <= this.lastSequence - this.#missing()) return this.message(sequence)
    if (sequence <= this.lastSequence) this.count('get: not there yet')
    return null
  }

  get firstSequence(): number {
    return this.#trimmed + 1
  }

  message(sequence: number): StreamMessage | null {
    return this.#messages[sequence - this.#trimmed - 1] ?? null
  }

  /** Becomes full soon, or has room again. */
  changeCapacity(): void {
    const used = this.#messages.reduce((sum, { bytes }) => sum + bytes.length, 0)
    const isFull = Number.isFinite(this.capacityBytes)
    const slack = Math.floor(this.random() * 2_000)
    this.capacityBytes = isFull ? Number.POSITIVE_INFINITY : used + slack
  }

  /** Ends all faults. */
  mend(): void {
    this.isAvailable = true
    this.lossRate = 0
    this.repeatRate = 0
    this.staleRate = 0
    this.capacityBytes = Number.POSITIVE_INFINITY
  }

  /** All messages that are kept, oldest first. */
  get messages(): readonly StreamMessage[] {
    return this.#messages
  }

  append(
    message: Unplaced,
    expectedLast: number,
    previous?: Unplaced,
  ): { sequence: number } | { rejected: 'wrong_sequence' | 'full' } {
    const last = this.#messages.at(-1)
    const isBehind =
      previous === undefined || (previous.last === last?.last && previous.term === last.term)
    if (expectedLast !== this.lastSequence || !isBehind) {
      this.count('publish: wrong sequence')
      return { rejected: 'wrong_sequence' }
    }
    const bytes = this.#messages.reduce((sum, kept) => sum + kept.bytes.length, 0)
    if (bytes + message.bytes.length > this.capacityBytes) {
      this.count('publish: full')
      return { rejected: 'full' }
    }
    const sequence = this.lastSequence + 1
    const appended = { ...message, sequence }
    this.#messages.push(appended)
    this.everything.push(appended)
    this.count('publish: appended')
    this.#changed()
    return { sequence }
  }

  trim(below: number): void {
    const kept = Math.min(below, this.lastSequence)
    if (kept <= this.firstSequence) return
    this.#messages.splice(0, kept - this.firstSequence)
    this.#trimmed = kept - 1
    this.count('trimmed')
    this.#changed()
  }

  /** Purges or loses the stream, or loses everything that the servers have stored. */
  lose(what: 'stores' | 'stream' | 'purge'): void {
    const { lastSequence } = this
    this.#messages.length = 0
    this.#trimmed = what === 'purge' ? lastSequence : 0
    if (what !== 'stores') return this.#changed()
    this.notes.clear()
    this.objects.clear()
    this.lease = null
    this.#changed()
  }

  /** Adds a step that the test completes later. */
  add(step: Step): void {
    this.#steps.push(step)
  }

  /** The number of steps of which any may be the next. */
  get pending(): number {
    return this.#possible().length
  }

  /** Completes one possible step, chosen at random. Returns whether there was one. */
  completeOne(): boolean {
    const possible = this.#possible()
    const step = possible[Math.floor(this.random() * possible.length)]
    if (step === undefined) return false
    this.#steps.splice(this.#steps.indexOf(step), 1)
    if (step.kind === 'request' && this.random() < this.repeatRate) {
      this.count('request repeated')
      this.#steps.push(step)
    }
    if (step.kind !== 'delivery' && this.random() < this.lossRate) this.count(`${step.kind} lost`)
    else if (step.from.isDead) step.run()
    else step.from.run(step.run)
    return true
  }

  /** Notes the death of the process behind a connection. What it has sent may or may not arrive. */
  died(connection: Connection): void {
    connection.isDead = true
    this.connections.delete(connection)
    for (const [term, answerer] of this.answerers) {
      if (answerer.connection === connection) this.answerers.delete(term)
    }
    const survives = this.random() < 0.5
    for (const step of [...this.#steps]) {
      if (step.from !== connection || (step.kind === 'request' && survives)) continue
      this.#steps.splice(this.#steps.indexOf(step), 1)
    }
  }

  count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  /** The number of the newest messages that the answering server lacks. */
  #missing(): number {
    return this.random() < this.staleRate ? Math.floor(this.random() * 4) : 0
  }

  #possible(): Step[] {
    if (!this.isAvailable) return []
    const requested = new Set<Connection>()
    return this.#steps.filter((step) => {
      if (step.from.isCut || step.from.isStopped) return false
      if (step.kind !== 'request') return true
      if (requested.has(step.from)) return false
      requested.add(step.from)
      return true
    })
  }

  #changed(): void {
    for (const connection of this.connections) connection.streamChanged()
  }
}
