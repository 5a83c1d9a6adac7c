// The journal of a leader: its own log, and the stream that carries it to other nodes.
//
//   append ─▶ own log ─▶ frame written ─▶ synced here ───────────────┐
//                             │                                       ├─▶ durable
//                             └─▶ published ─▶ acknowledged there ────┘   (both)
//
// R1. The stream has every record that is durable, and therefore every one that is shown.
// R2. `sync`, and therefore a checkpoint, waits for the stream: no checkpoint of a leader is ahead
//     of the stream.
// R3. When another node leads, or the stream has lost acknowledged records, nothing becomes durable
//     any more, as after a failed sync.

import { JournalError } from '../../../wal/errors.ts'
import type { Health, Journal, JournalStats, OnFrame } from '../../../wal/journal/types.ts'
import type { LogStream, TermName } from './log-stream.ts'
import { type Ended, Publisher } from './publisher.ts'

export interface ReplicatedJournalOptions {
  local: Journal
  stream: LogStream
  term: number
  name: TermName
  /** The sequence of the stream's newest message, which ends with the last record of the log. */
  sequence: number
  /** The bytes of records that the stream may lack before writes are refused. */
  lagBytesMax?: number
}

/** After this time without an acknowledgement, new writes are refused instead of queued. */
const stalledMsMax = 5_000
const lagBytesPreset = 64 << 20

export class ReplicatedJournal implements Journal {
  onDurable: (durable: number) => void = () => {}
  onFailed: (error: JournalError) => void = () => {}
  onFrame: OnFrame | null = null
  readonly publisher: Publisher
  readonly #options: ReplicatedJournalOptions
  readonly #local: Journal
  #failure: JournalError | null = null
  #shown: number

  constructor(options: ReplicatedJournalOptions) {
    const { local, stream, term, name, sequence } = options
    this.#options = options
    this.#local = local
    this.publisher = new Publisher({
      stream,
      term,
      name,
      sequence,
      position: local.position,
      onAcknowledged: () => this.#advance(),
      onEnded: (why) => this.#fail(endError(why)),
    })
    this.#shown = this.durable
    local.onDurable = () => this.#advance()
    local.onFailed = (error) => this.#fail(error)
    local.onFrame = (first, count, records) => {
      this.publisher.add(first, count, records)
      this.onFrame?.(first, count, records)
    }
    if (local.failure !== null) this.#fail(local.failure)
  }

  get storeId(): string {
    return this.#local.storeId
  }

  get position(): number {
    return this.#local.position
  }

  get written(): number {
    return this.#local.written
  }

  get durable(): number {
    return Math.min(this.#local.durable, this.publisher.acknowledged)
  }

  get failure(): JournalError | null {
    return this.#failure
  }

  get health(): Health {
    if (this.#failure !== null) return 'storage_failed'
    const { health } = this.#local
    if (health !== 'ok') return health
    const { publisher } = this
    if (publisher.isFull) return 'storage_full'
    const { lagBytesMax = lagBytesPreset } = this.#options
    if (publisher.bytes > lagBytesMax) return 'overloaded'
    return publisher.stalledMs > stalledMsMax ? 'overloaded' : 'ok'
  }

  get warnings(): string[] {
    const warnings = [...this.#local.warnings]
    const { publisher } = this
    if (publisher.isFull) warnings.push('replication: the stream is full')
    if (publisher.stalledMs > stalledMsMax) {
      const seconds = Math.floor(publisher.stalledMs / 1000)
      warnings.push(
        `replication: nothing was acknowledged for ${seconds} s, ${publisher.bytes} bytes wait`,
      )
    }
    return warnings
  }

  append(record: unknown): number {
    return this.#local.append(record)
  }

  appendEncoded(records: Uint8Array, count: number): number {
    return this.#local.appendEncoded(records, count)
  }

  flush(): void {
    this.#local.flush()
  }

  stats(): JournalStats {
    return this.#local.stats()
  }

  async sync(): Promise<void> {
    const { position } = this
    await this.#local.sync()
    try {
      await this.publisher.whenAcknowledged(position)
    } catch (error) {
      throw new JournalError(74, (error as Error).message, { cause: error })
    }
  }

  separate(position: number): boolean {
    return this.#local.separate(position)
  }

  dropBefore(position: number): Promise<void> {
    return this.#local.dropBefore(position)
  }

  /**
   * Resolves when the stream has everything, or after `ms`; in that case `sync` fails from now on.
   */
  async drain(ms: number): Promise<void> {
    this.#local.flush()
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms)
    })
    await Promise.race([this.publisher.whenAcknowledged(this.position).catch(() => {}), patience])
    clearTimeout(timer)
    if (this.publisher.acknowledged < this.position) this.publisher.stop()
  }

  async close(): Promise<void> {
    await this.#local.close()
    this.publisher.stop()
  }

  #advance(): void {
    if (this.#failure !== null) return
    const { durable } = this
    if (durable <= this.#shown) return
    this.#shown = durable
    this.onDurable(durable)
  }

  #fail(error: JournalError): void {
    if (this.#failure !== null) return
    this.#failure = error
    this.publisher.stop()
    this.onFailed(error)
  }
}

/** The failure of a node that may not lead and is not a standby. */
export function ledByAnother(term?: number): JournalError {
  const inTerm = term === undefined ? '' : `, in term ${term}`
  return new JournalError(78, `another node leads now${inTerm}`, {
    advice: 'start this one with --standby, or with --follow',
  })
}

/**
 * The node starts again at once, to determine which node begins the stream (history-place.ts). That
 * may be another node, so waiting answers are refused as after a takeover, and callers repeat their
 * requests.
 */
export class StreamEmptied extends JournalError {
  constructor() {
    super(78, 'the stream has no message any more: it was removed or purged on the servers')
  }
}

function endError(why: Ended): JournalError {
  if (why.kind === 'fenced') return ledByAnother(why.term)
  if (why.kind === 'emptied') return new StreamEmptied()
  return new JournalError(
    74,
    `the stream ends at position ${why.position}, before what it had acknowledged`,
    { advice: 'start again to publish the rest of the log, if the stream is the right one' },
  )
}
