// A machine on which a node runs, dies and restarts: simulated time, disk and network. It keeps
// every record that the node appended to its log, and the position up to which callers have seen
// them.
//
//   facts      every appended record, by position; after a crash, those that survived
//   promised   the position of the newest record that an answer or a wakeup showed: no crash may
//              lose it
//
// K1. After a restart the log holds a prefix of the facts that includes the promised one.
// K2. The secret of a node that has served is never lost.
// K3. A restart needs no operator. A restart that a crash interrupts can be repeated.

import assert from 'node:assert/strict'
import type { Logger } from 'pino'
import { type Config, parseConfig } from '../../src/config/config.ts'
import type { Handler } from '../../src/edge/http/exchange.ts'
import type { Forum, Positioned } from '../../src/forum/forum.ts'
import { decode, type ForumRecord } from '../../src/forum/records.ts'
import type { State } from '../../src/forum/state.ts'
import type { Post, Sent } from '../../src/forum/webhooks/send.ts'
import type { QuotaLimits } from '../../src/kernel/quotas.ts'
import { isRejection, type Rejection } from '../../src/kernel/rejection.ts'
import { type Node, startNode } from '../../src/node/server.ts'
import { Writer } from '../../wal/journal/writer.ts'
import { ticksThat } from '../edge/http/ticks.ts'
import { readingOf } from '../kernel/text/simulated-reading.ts'
import { SimulatedDisk } from '../wal/simulated-disk.ts'
import { useSecret } from './keys.ts'
import { Lifetimes } from './lifetimes.ts'
import { Model } from './model.ts'
import type { Fact, Operation } from './model-types.ts'
import { SeenClaims } from './seen-claims.ts'
import { SeenThreads } from './seen-threads.ts'
import { settled, VirtualTime } from './virtual-time.ts'

const begins = Date.UTC(2026, 8, 20)
const stepsMax = 20_000

interface MachineOptions {
  limits: QuotaLimits
  durability: string
  retentionDays: number
  isMembersOnly: boolean
}

/** A request to a webhook that has not been answered yet. */
export interface Calling {
  post: Post
  answer: (sent: Sent) => void
}

let running: Machine | null = null
let isRequest = false
const { append, flush } = Writer.prototype
// Each request is an event-loop iteration of its own here. The log must not flush at the end of a
// request, or every record would be a frame of its own.
Writer.prototype.flush = function (this: Writer): void {
  if (!isRequest) flush.call(this)
}
Writer.prototype.append = function (this: Writer, row: unknown): number {
  const position = append.call(this, row)
  if (running !== null) running.journal = this
  running?.appended(position, decode(row))
  return position
}

export class Machine {
  readonly random: () => number
  readonly time: VirtualTime
  readonly config: Config
  readonly trace: (line: () => string) => void
  /** Whether most messages are vast, so that their text does not fit in memory. */
  readonly isVast: boolean
  disk: SimulatedDisk
  model: Model
  facts: Fact[] = []
  promised = 0
  /** The records that the current step has appended. */
  fresh: Fact[] = []
  /** The node's journal, once it has appended a record. */
  journal: Writer | null = null
  calling: Calling[] = []
  /** Called when a receiver gets a request. */
  called: (post: Post) => void = () => {}
  /** Lets a receiver answer one request. Called when nothing else can happen. */
  answerCall: () => Promise<void> = async () => {}
  /** The reason why the node stopped by itself. */
  failure: Error | null = null
  /** Whether any answer was `storage_failed`, after which the node must stop by itself. */
  isFailing = false
  /** Whether the node has been told to stop, which answers all waiting polls. */
  isStopping = false
  /** What callers saw of public threads. */
  readonly seen = new SeenThreads((id) => {
    const thread = this.model.threads.find((each) => each.id === id)
    return thread?.visibility === 'public' && thread.ttlSeconds === 0
  })
  /** What callers saw of the claims of threads. */
  readonly seenClaims = new SeenClaims()
  readonly lifetimes = new Lifetimes(this)
  /** The number of occurrences of each outcome, by name. */
  readonly outcomes = new Map<string, number>()
  /** The position that survives a loss of power in every durability mode. */
  #base = 0
  /** The time of the last record that the system clock timed, and when the record was made. */
  #timed = { at: 0, elapsedMs: 0 }
  #node: Node | null = null
  #handler: Handler | null = null
  #durability = 'always'
  /** The node's secret, from the first time that it served. */
  #secret: string | null = null

  constructor(
    random: () => number,
    { limits, durability, retentionDays, isMembersOnly }: MachineOptions,
    trace: (line: () => string) => void,
  ) {
    this.random = random
    this.trace = trace
    this.time = new VirtualTime(random, begins)
    this.disk = new SimulatedDisk(this.below(2 ** 31))
    this.disk.manual = true
    this.isVast = this.chance(0.2)
    this.#durability = durability
    const args = ['--data', '/simulated', '--durability', durability, '--text-memory-mb', '1']
    args.push('--retention-days', `${retentionDays}`, '--guesses-per-hour-per-address', '0')
    if (isMembersOnly) args.push('--members-only')
    this.model = new Model([], retentionDays)
    this.config = { ...parseConfig(args, {}), limits }
    running = this
  }

  below(count: number): number {
    return Math.floor(this.random() * count)
  }

  chance(of: number): boolean {
    return this.random() < of
  }

  get isUp(): boolean {
    return this.#node !== null && this.failure === null
  }

  /** Whether all records are durable, and nothing happens until time passes or somebody acts. */
  get isIdle(): boolean {
    const { time, disk, journal } = this
    if (!this.isUp || journal === null || journal.failure !== null) return false
    return !time.isBusy && disk.pending === 0 && journal.durable >= this.model.position
  }

  get handler(): Handler {
    return this.#handler!
  }

  /**
   * The time of the system clock or, if that is behind, of the log, which then advances more
   * slowly.
   */
  get forumTime(): number {
    const wall = Math.floor(this.time.wallMs) // as Date.now is
    return Math.max(wall, this.model.now, Math.floor(this.#slowedTime))
  }

  get #slowedTime(): number {
    return this.#timed.at + ((this.time.elapsedMs - this.#timed.elapsedMs) * 24) / 25
  }

  /** Called when the node has appended a record. */
  appended(position: number, record: ForumRecord): void {
    const fact = { position, record }
    this.trace(() => `  ${position} ${JSON.stringify(record)}`)
    assert.equal(position, this.facts.length + 1)
    this.facts.push(fact)
    this.fresh.push(fact)
    if (record.type === 'thread.expired') this.lifetimes.check(record)
    this.model.add(fact)
    if (record.at > this.#slowedTime) this.#timeFrom(record.at)
  }

  #timeFrom(at: number): void {
    this.#timed = { at, elapsedMs: this.time.elapsedMs }
  }

  /** The state of the node, which is up. */
  get state(): State {
    let state: State | null = null
    void this.#node!.administer((forum) => {
      state = forum.state
      return { position: 0 }
    })
    return state!
  }

  /** Notes that an answer or a wakeup showed the record at this position, and so all before it. */
  promise(position: number): void {
    this.promised = Math.max(this.promised, position)
  }

  /** Starts the node. Returns false if it stopped before it served. */
  async start(): Promise<boolean> {
    this.failure = null
    this.isStopping = false
    let isOver = false
    const environment = {
      disk: this.disk,
      startReading: readingOf(this.disk),
      segmentBytes: (this.isVast ? 1024 : 16) * 1024,
      pause: () => (this.chance(0.5) ? null : nextTurn()),
      listen: async (_host: string, _port: number, handler: Handler) => {
        this.#handler = handler
        return { port: 1, stop: () => {} }
      },
      // The end of the tick runs at once, so that a request is compared as soon as it is handled.
      ticks: ticksThat((end) => {
        isRequest = true
        try {
          end()
        } finally {
          isRequest = false
        }
      }),
      send: (post: Post) =>
        new Promise<Sent>((answer) => {
          this.calling.push({ post, answer })
          this.called(post)
        }),
    }
    const note = (fields: Record<string, unknown>, event?: string) => this.#noted(event, fields)
    const isLevelEnabled = () => false
    const log = { info: note, warn: note, error: note, isLevelEnabled } as unknown as Logger
    startNode(this.config, '0.0.0', log, environment).then(
      (node) => {
        this.#node = node
        node.failed.catch((error) => {
          this.failure = error
          this.count('the storage failed')
        })
      },
      (error) => {
        this.failure = error
        isOver = true
      },
    )
    await this.until(() => this.#node !== null || isOver)
    if (this.isUp) this.#readSecret()
    this.trace(() => (this.isUp ? 'started' : `did not start: ${this.failure?.message}`))
    this.count(this.isUp ? 'started' : 'did not start')
    return this.isUp
  }

  #readSecret(): void {
    const secret = this.disk.bytesOf(`${this.config.data}/secret`).toString().trim()
    assert.equal(secret, this.#secret ?? secret, 'K2')
    this.#secret = secret
    useSecret(secret)
  }

  /** Begins a checkpoint, which is written while everything else continues. Resolves at its end. */
  async checkpoint(): Promise<void> {
    this.trace(() => 'checkpoint')
    await this.#node?.takeCheckpoint()
  }

  /** Gives the node an operator's command. A command that is already in effect changes nothing. */
  operate({ command, id, makes, hasEffect, changed }: Operation): void {
    this.trace(() => `${command} ${id}`)
    const had = hasEffect()
    this.fresh = []
    const blocked = command === 'block-identity' ? this.seenClaims.blocking(id) : () => {}
    const operating = this.#node!.moderate(command, { id, reason: 'simulated' })
    const [made] = this.fresh
    assert.ok(made === undefined || (!had && made.record.type === makes))
    assert.equal(hasEffect(), had || made !== undefined)
    const position = changed()
    void operating.then((outcome) => {
      if (isRejection(outcome)) {
        this.count(`${command} ${outcome.rejected}`)
        if (outcome.rejected === 'storage_failed' && made !== undefined) this.isFailing = true
        if (made === undefined) blocked(false)
        return
      }
      blocked(true)
      this.count(made === undefined ? `${command} again` : command)
      assert.equal(outcome.isNew, made !== undefined)
      assert.equal(outcome.position, position)
      this.promise(outcome.position)
    })
  }

  /** Gives the node a command about access. `judge` is called once the outcome is durable. */
  administer<T extends Positioned>(
    name: string,
    run: (forum: Forum) => T | Rejection,
    judge: (outcome: T | Rejection, made: readonly Fact[]) => void,
  ): void {
    this.trace(() => name)
    this.fresh = []
    const administering = this.#node!.administer(run)
    const made = [...this.fresh]
    void administering.then((outcome) => {
      const isLost = isRejection(outcome) && outcome.rejected === 'storage_failed'
      if (isLost && made.length > 0) this.isFailing = true
      judge(outcome, made)
      if (!isLost) this.promise(outcome.position ?? 0)
    })
  }

  /** Stops the node, as a signal does. */
  async stop(): Promise<void> {
    let isOver = false
    this.trace(() => 'stop')
    this.isStopping = true
    this.#node!.stop().then(() => {
      isOver = true
    })
    await this.until(() => isOver)
    this.count('stopped')
    if (this.failure === null) this.promise(this.facts.length)
  }

  /** Cuts the power or kills the process. */
  crash(how: 'power' | 'kill'): void {
    this.trace(() => `crash: ${how}`)
    this.count(`crash: ${how}`)
    this.time.forget()
    // The node stops at the end of the iteration in which it failed, which may not have come yet.
    const hasFailed = this.failure !== null || this.journal?.failure != null
    assert.ok(!this.isFailing || hasFailed, 'a node whose storage fails stops')
    this.journal = null
    this.calling = []
    this.#node = null
    this.#handler = null
    if (how === 'power' && this.#durability !== 'always') this.promised = this.#base
    this.disk = how === 'power' ? this.disk.losePower() : this.disk.dieAlone()
    this.disk.manual = true
    this.isFailing = false
  }

  count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  /** Lets time, disk and network proceed until the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    for (let steps = 0; ; steps++) {
      await settled()
      if (condition()) return
      assert.ok(steps < stepsMax, `waited in vain for ${condition}`)
      if (this.time.isBusy) await this.time.turn()
      else if (this.disk.pending > 0) this.disk.completeOne()
      else if (this.calling.length > 0) await this.answerCall()
      else await this.time.advance(this.time.untilTimer)
    }
  }

  #noted(event: string | undefined, fields: Record<string, unknown>): void {
    this.trace(() => `  ${event}: ${JSON.stringify(fields)}`)
    this.count(`log: ${event}`)
    if (event !== 'recovered') return
    const { position, checkpoint } = fields as { position: number; checkpoint: number }
    if (checkpoint > 0) this.count('restart: from a checkpoint')
    const { length } = this.facts
    assert.ok(position >= this.promised, `${this.promised} was promised, ${position} came back`)
    assert.ok(position <= length, `${length} records were appended, ${position} came back`)
    if (position < length) this.count('restart: the newest records were lost')
    this.facts.length = position
    this.model = new Model(this.facts, this.config.retentionDays)
    this.#timeFrom(this.model.now)
    // Before a start is complete, it syncs what it has replayed.
    this.promised = this.#base = position
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
