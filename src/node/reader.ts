// A reader: a process that runs beside the main process of a node, follows its log, keeps the state
// that reads need, and answers reads on the same port. It writes nothing to the data directory.
//
//   setup ──▶ newest checkpoint ──▶ records behind it ──▶ caught up: listens ──▶ stop, or lost
//                                                              ▲    │
//                                                              └────┴ lags: does not listen
//
// R1. A reader passes on what only the main process decides: writes, tickets, tokens that have
//     expired or that it does not know yet. So its state lacks what only commands read
//     (forum/state.ts).
// R2. It answers nothing while it has no news of the main process (main-port.ts, D3), receives no
//     connections while it lags, and ends with the main process.
// R3. It reads text that is not in memory from the page files of the main process. It adopts those
//     of a newer checkpoint when its state has reached their position, if they have every erasure
//     so far.
// R4. A reader that cannot continue ends, and another one starts from the newest checkpoint.
//
// Neighbours: cluster/readers/readers.ts starts readers; reader-process.ts is the program.

import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import type { Logger } from 'pino'
import { readManifest } from '../../wal/checkpoint/checkpoint-files.ts'
import type { Manifest } from '../../wal/checkpoint/manifest.ts'
import { readPageNow } from '../../wal/checkpoint/page-source.ts'
import { type Disk, realDisk } from '../../wal/disk.ts'
import { isOfSystem } from '../../wal/errors.ts'
import { inSlicesOf } from '../base/pauses.ts'
import { residentMemory } from '../base/process.ts'
import { MainPort } from '../cluster/readers/main-port.ts'
import { configOf, type ReaderSetup } from '../cluster/readers/setup.ts'
import { Forwarder } from '../cluster/replication/forwarding.ts'
import type { Config } from '../config/config.ts'
import type { RoleName } from '../edge/api/route.ts'
import type { AvailabilityView } from '../edge/http/edge-options.ts'
import type { Listener } from '../edge/http/exchange.ts'
import type { GateFailure } from '../edge/http/gate.ts'
import type { Edge } from '../edge/http/handle.ts'
import { Load } from '../edge/http/load.ts'
import { FollowedLog } from '../engine/role/forum-log.ts'
import { Role } from '../engine/role/role.ts'
import { CheckpointSchedule } from '../engine/storage/checkpoints.ts'
import { type Forum, makeForum } from '../forum/forum.ts'
import type { Seen } from '../forum/identities/last-seen.ts'
import { MessageSearch } from '../forum/search/find.ts'
import { ReaderSearch } from '../forum/search/reader-link.ts'
import type { State } from '../forum/state.ts'
import { systemStamps } from '../kernel/stamp.ts'
import { openTextDisk } from '../kernel/text/disk.ts'
import { hasErasedUnread } from '../kernel/text/erasing.ts'
import { textStoreName } from '../kernel/text/text.ts'
import { warmUp } from '../kernel/text/warm-up.ts'
import { chooseHttp } from './choose-http.ts'
import { handlerOf, newEdge } from './edge.ts'
import { endReads, lingerMs } from './end-reads.ts'
import { newState } from './recovery.ts'
import type { Environment } from './server.ts'

const reportEveryMs = 500
/** A reader that lags further accepts no connections until its lag is below half of this. */
const lagMs = 2000
const answersEndMs = 5000
const answersCheckMs = 10
const warmUpSliceMs = 1
/** Stands for the keys of the main process, which a reader does not need. */
const noKey = Buffer.alloc(32)

interface Opened {
  forum: Forum
  role: Role
  forwarder: Forwarder
}

/** Replacements for parts of the machine, as for a node (server.ts). */
export type ReaderEnvironment = Pick<Environment, 'disk' | 'listen' | 'ticks' | 'startReading'>

/** What a reader runs in. */
interface ReaderProcess {
  openLog(setup: ReaderSetup): Logger
  /** Ends the process because the reader cannot continue. */
  fail(error: Error): void
  /** Ends the process: the reader has finished. */
  exit(): void
}

/** Runs a reader, to which the main process tells everything through this socket. */
export function runReader(
  socket: Socket,
  { openLog, fail, exit }: ReaderProcess,
  environment: ReaderEnvironment = {},
): void {
  let reader: Reader | null = null
  const end = (ended: Promise<void> | undefined) => void (ended ?? Promise.resolve()).then(exit)
  const main = new MainPort(socket, {
    onSetup(received) {
      const setup = received as ReaderSetup
      reader = new Reader(setup, main, openLog(setup), environment)
      reader.start().catch(fail)
    },
    onNews: () => reader!.onNews(),
    onCheckpoint: (number, position) => reader!.onCheckpoint(number, position),
    onRole: (role) => reader!.onRole(role),
    onSeen: (seen) => reader!.onSeen(seen),
    onGiveUp: () => reader!.onGiveUp(),
    onFailed: (failure) => reader!.onFailed(failure),
    onStop: () => end(reader?.stop()),
    onLost: () => end(reader?.onLost()),
  })
}

class Reader {
  readonly #setup: ReaderSetup
  readonly #config: Config
  readonly #main: MainPort
  readonly #log: Logger
  readonly #environment: ReaderEnvironment
  readonly #directory: { disk: Disk; dir: string }
  readonly #load: Load
  readonly #edge: Edge
  #refusal: AvailabilityView['refusal'] = 'starting'
  /** The role of the main process. */
  #nodeRole: RoleName
  /** What it has as soon as a state is loaded. */
  #opened: Opened | null = null
  #listener: Listener | null = null
  #isListening = false
  /** The checkpoint whose files hold the text, and a newer one that is to be adopted. */
  #manifest: Manifest | null = null
  #newer: { number: number; position: number } | null = null
  /** What it was told of who was seen before a state was loaded. */
  readonly #seenBefore: Seen[] = []

  constructor(setup: ReaderSetup, main: MainPort, log: Logger, environment: ReaderEnvironment) {
    this.#environment = environment
    this.#setup = setup
    this.#nodeRole = setup.role
    this.#main = main
    this.#log = log
    this.#config = configOf(setup)
    this.#directory = { disk: environment.disk ?? realDisk, dir: this.#config.data }
    this.#load = new Load(setup.nodeLimits.load)
    const reader = this
    const availability: AvailabilityView = {
      get refusal() {
        return reader.#refusal ?? (main.isFresh ? null : 'overloaded')
      },
    }
    this.#edge = newEdge(this.#config, availability, this.#load, log, environment)
    setInterval(() => this.#report(), reportEveryMs).unref()
  }

  /** Loads the newest checkpoint, and asks the main process for the records after it. */
  async start(): Promise<void> {
    const { storeId } = this.#setup
    const checkpoints = new CheckpointSchedule(this.#config, this.#log, this.#environment)
    let state = newState(this.#config, 'reads')
    const fresh = () => {
      state = newState(this.#config, 'reads')
      return state
    }
    await checkpoints.load(storeId, fresh, () => {})
    if (state.position > 0) this.#manifest = checkpoints.newest
    state.text.readPage = (place) =>
      readPageNow(this.#directory, place) ?? this.#end('a page is gone')
    this.#opened = this.#open(state)
    for (const seen of this.#seenBefore.splice(0)) this.onSeen(seen)
    this.#log.info({ position: state.position }, 'reader_loaded')
    this.#main.start(state.position)
    await warmUp(state.text, {
      ...this.#directory,
      pause: inSlicesOf(warmUpSliceMs),
      isStopped: () => this.#refusal === 'shutting_down',
      onDamaged: () => {}, // the main process scrubs
    })
  }

  /** Called when something has become durable, or when the main process shows that it is alive. */
  onNews(): void {
    if (this.#refusal === 'starting') void this.#listen()
    const { stalenessMs } = this.#main
    if (stalenessMs > lagMs) this.#setListening(false)
    else if (stalenessMs < lagMs / 2) this.#setListening(true)
    this.#adopt()
  }

  onCheckpoint(number: number, position: number): void {
    this.#newer = { number, position }
    this.#adopt()
  }

  onSeen(seen: Seen): void {
    if (this.#opened === null) this.#seenBefore.push(seen)
    else this.#opened.forum.lastSeen.merge(seen, false)
  }

  onRole(role: RoleName): void {
    this.#nodeRole = role
  }

  onGiveUp(): void {
    this.#opened?.role.giveUp()
  }

  /** Nothing becomes durable any more, although the main process is alive: refuses what waits. */
  onFailed(failure: GateFailure): void {
    this.#opened?.role.refuse(failure)
  }

  /** Finishes requests in progress, within `answersEndMs` at most, and refuses the rest. */
  async stop(): Promise<void> {
    this.#refusal = 'shutting_down'
    this.#listener?.stop()
    if (this.#opened !== null) await endReads(this.#opened.forum)
    for (let ms = 0; ms < answersEndMs && this.#isAnswering; ms += answersCheckMs) {
      await sleep(answersCheckMs)
    }
    this.#opened?.role.refuse('shutting_down')
    await sleep(lingerMs)
  }

  /** The main process is gone, so what waits to become durable never will. */
  async onLost(): Promise<void> {
    this.#opened?.role.refuse('shutting_down')
    await this.stop()
  }

  /** Whether answers wait for the main process, or for durability. */
  get #isAnswering(): boolean {
    const { role, forwarder } = this.#opened ?? {}
    return (role?.gate.length ?? 0) > 0 || (forwarder?.inFlight ?? 0) > 0
  }

  /** Follows the main process on this state. */
  #open(state: State): Opened {
    const [config, load, main, edge] = [this.#config, this.#load, this.#main, this.#edge]
    const { epoch, epochBegin, publicUrl, version } = this.#setup
    const { trustProxy, nodeLimits } = config
    const newest = () => this.#manifest!
    const checkpoints = {
      get newest() {
        return newest()
      },
      scrub: { report: async () => false }, // the main process's scrub finds it, too
    }
    const forum = makeForum({
      state,
      journal: new FollowedLog(),
      stamps: systemStamps(),
      webhookKey: noKey,
      ticketKey: noKey,
      addressKey: noKey,
      sessionKey: this.#setup.sessionKey,
      epochBegin,
      waitingLimits: nodeLimits.waiting,
      guessesMax: config.guessesMax,
      retentionDays: config.retentionDays,
      textDisk: openTextDisk({
        dir: config.data,
        log: this.#log,
        environment: this.#environment,
        text: state.text,
        checkpoints,
      }),
      coldReadsLimits: nodeLimits.coldReads,
    })
    const name = () => this.#nodeRole
    const own = { publicUrl, version, epoch, startedAt: 0 }
    const role = new Role({ ...own, forum, edge, load, config, name })
    const forwarder = new Forwarder({
      link: main,
      gate: role.gate,
      journal: role,
      load,
      trustProxy,
      service: role.service,
      takesChecked: () => this.#nodeRole !== 'follower',
      whenLost: 'shutting_down',
    })
    role.follow({ forward: forwarder, standing: main.standing })
    main.role = role
    if (config.search) {
      const hasMessages = () => forum.state.messages.count > 0
      const index = new ReaderSearch(config.data, hasMessages)
      role.service.search = new MessageSearch(forum, index)
    }
    return { forum, role, forwarder }
  }

  /** Joins the other processes on the port, after the state has caught up. */
  async #listen(): Promise<void> {
    this.#refusal = null
    const { host, trustProxy } = this.#config
    const listen = this.#environment.listen ?? chooseHttp(this.#config, this.#log).listen
    const handle = handlerOf(this.#edge, this.#config, this.#log, () => this.#opened!.forum.state)
    this.#listener = await listen(host, this.#setup.port, handle, {
      load: this.#load,
      behindProxy: trustProxy !== null,
      sharing: 'joins',
    })
    this.#isListening = true
    this.#report()
  }

  #setListening(isListening: boolean): void {
    if (this.#listener === null || this.#refusal !== null) return
    if (isListening && this.#isListening) return
    // This is done even if the reader is not listening: its port may be about to open.
    if (!this.#listener.setOpen!(isListening) || this.#isListening === isListening) return
    this.#isListening = isListening
    const { stalenessMs } = this.#main
    const behindMs = Math.round(stalenessMs)
    if (isListening) this.#log.info({ behindMs }, 'caught_up')
    else this.#log.warn({ behindMs }, 'lags')
    this.#report()
  }

  /** Adopts the page files of a newer checkpoint (R3). */
  #adopt(): void {
    const { state } = this.#opened?.forum ?? {}
    const newer = this.#newer
    if (newer === null || state === undefined || state.position < newer.position) return
    this.#newer = null
    // These page files still have text that was erased since. The next checkpoint's do not.
    if (state.erasedPosition > newer.position) return
    try {
      const read = readManifest(this.#directory, newer.number)
      if (read.kind !== 'good') return
      const table = read.manifest.tables.get(textStoreName)!
      if (hasErasedUnread(state.text, table)) this.#end('text that could not be read is erased')
      this.#manifest = read.manifest
      state.text.thaw(table)
      state.text.erased.clear()
    } catch (error) {
      if (!isOfSystem(error)) throw error // a newer checkpoint has replaced it
    }
  }

  #report(): void {
    const load = this.#load
    const { forum, role, forwarder } = this.#opened ?? {}
    const { user, system } = process.cpuUsage()
    const { used_heap_size, external_memory } = getHeapStatistics()
    const text = forum?.state.text
    this.#main.report({
      reader: this.#setup.reader,
      isServing: this.#isListening && this.#refusal === null,
      position: role?.position ?? 0,
      staleness: this.#main.staleness.report(),
      forwarded: forwarder?.sent ?? 0,
      textReads: forum?.coldReads.blocksRead ?? 0,
      cpuSeconds: (user + system) / 1e6,
      residentBytes: residentMemory(),
      heapBytes: used_heap_size,
      externalBytes: external_memory,
      textBytes: text === undefined ? 0 : text.bytesInMemory + text.blocks.bytes,
      connections: load.connections(),
      bodyBytes: load.bodyBytes,
      answerBytes: load.answerBytes,
      refused: load.refused,
      waiting: forum?.waiting.length ?? 0,
      waitingEnded: forum?.waiting.ended ?? {},
      notLetIn: forum?.guesses.notLetIn ?? {},
      seen: forum?.lastSeen.takeNews() ?? [],
      routes: this.#edge.meter.routes.map(({ answers, times }) => {
        return { answers: [...answers], times: times.report() }
      }),
    })
  }

  /** Ends the process at once (R4). */
  #end(why: string): never {
    this.#log.warn({ why }, 'reader_cannot_go_on')
    process.exit(1)
  }
}
