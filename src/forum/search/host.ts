// Runs the index for its node: starts its process when there are messages, gives it the messages
// that it requests, and starts it again when it ends.
//
//   started ──hello──▶ shards ──begin, removed──▶ texts as they are wanted ──▶ stop
//     ▲                                                        │
//     └──── later, while it keeps failing ◀──── it ends ◀──────┘
//
// H1. The node starts and answers without the index; a stop waits for it for at most `stopMsMax`. A
//     process that cannot be started, or sends bytes that are not a message, is started again
//     later.
// H2. Messages are given one batch at a time, on request. While the event loop is busy, the batch
//     says so, and the index rests.
// H3. A removal is complete when files without the text have replaced the others, and the process
//     that had the text in memory has ended. The state says which removals there were, so no crash
//     forgets one.
// H4. Where the directory holds what the index has not made, there is no index, and a warning.
//     Where the name of the readers' socket is taken, readers have no search, and a warning.

import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import path from 'node:path'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Backoff } from '../../base/pauses.ts'
import { startProcess } from '../../base/program-files.ts'
import { isForeign } from '../../base/sockets.ts'
import type { Forum } from '../forum.ts'
import { Feeder } from './feeder.ts'
import { IndexFiles } from './index-files.ts'
import { SearchLink } from './link.ts'
import { ProgressLog } from './progress-log.ts'
import {
  type FromIndex,
  type FromNode,
  type Progress,
  receive,
  type Shards,
  send,
  type Want,
} from './protocol.ts'

const restartMsMin = 100
const restartMsMax = 10_000
const stopMsMax = 5000
/** How long new messages are gathered before the index is told of them. */
const gatherMs = 10
const retryMs = 1000
/** The event loop counts as busy if its utilization is higher. */
const busyPart = 0.5

/** The directory of the index within that of the node. */
export const indexName = 'search'
export const readersSocket = 'search.sock'

export interface HostOptions {
  forum: Forum
  log: Logger
  /** The data directory. */
  dir: string
  /** Identifies what the numbers of messages depend on: the store and the epoch. */
  identity: string
  memoryBytes: number
  /** Whether readers send searches, too. */
  hasReaders: boolean
}

export class SearchHost {
  readonly link = new SearchLink()
  /** The engine in use; null: none has started yet; '': none loads. */
  engine: string | null = null
  /** Why there is no index, if there is none. */
  absence = 'no engine loads'
  restarts = 0
  progress: Omit<Progress, 'type'> = {
    covered: 0,
    indexed: 0,
    shards: 0,
    bytes: 0,
    residentBytes: 0,
    cpuSeconds: 0,
    stallReason: '',
  }
  /** Messages that expire from the start of the process on, also while `#begin` waits. */
  #forgotten: [message: number, position: number][] = []
  readonly #options: HostOptions
  readonly #feeder: Feeder
  readonly #progressLog: ProgressLog
  /** The index that must not exist, where none can be built; otherwise null. */
  #absent: AbsentIndex | null = null
  #child: ChildProcess | null = null
  #socket: Socket | null = null
  /** Whether the process has been told which of its shards are of this log. */
  #hasBegun = false
  #want: Want | null = null
  #isFeeding = false
  #isStopped = false
  #gathering: NodeJS.Timeout | null = null
  readonly #restartPauses = new Backoff(restartMsMin, restartMsMax)
  /** Starts the next process after a pause; null: no process has ended unexpectedly. */
  #restart: NodeJS.Timeout | null = null
  #announcedCount = 0
  /** Removals up to this position are known to the process, and are complete. */
  #announcedErasure = 0
  #cleanThrough = -1
  #endingClean = -1
  #loop = performance.eventLoopUtilization()

  constructor(options: HostOptions) {
    this.#options = options
    this.#feeder = new Feeder(options.forum)
    this.#progressLog = new ProgressLog(options.log)
    const { state } = options.forum
    state.onForgotten = (...forgotten) => this.#child && this.#forgotten.push(forgotten)
    const socket = path.join(options.dir, readersSocket)
    if (options.hasReaders && isForeign(socket)) {
      options.log.warn({ socket, hint: socketHint }, 'search_socket_foreign')
    }
    const foreign = foreignIn(options.dir)
    if (foreign !== undefined) {
      this.absence = `${indexName}/ holds files of somebody else`
      this.#giveUp('search_directory_foreign', foreignHint(foreign))
    }
    this.onDurable()
  }

  /** Whether searches can be answered, now or soon. */
  get isAvailable(): boolean {
    return this.engine !== ''
  }

  /** Call this when something has become durable. */
  onDurable(): void {
    if (this.#hasBegun) this.#announceRemovals() // so that the next search no longer finds them
    if (this.#gathering !== null || this.#isStopped || !this.isAvailable) return
    this.#gathering = setTimeout(() => {
      this.#gathering = null
      this.#announceNews()
    }, gatherMs).unref()
  }

  /** Returns whether the index has no more text that was removed by the record at this position. */
  isGone(position: number): boolean {
    if (this.#absent !== null) return this.#absent.isGone()
    return !this.#isNeeded || this.#cleanThrough >= position
  }

  /** Ends the process, which first saves what it is building. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.link.stop()
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    const child = this.#child
    if (child === null) return
    this.#send({ type: 'stop' })
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
      child.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  get #isNeeded(): boolean {
    return this.#feeder.durable > 0
  }

  #announceNews(): void {
    if (this.#isStopped || !this.isAvailable) return
    if (this.#child === null) {
      if (this.#isNeeded && this.#restart === null) this.#start()
      return
    }
    if (!this.#hasBegun) return
    const count = this.#feeder.durable
    if (count > this.#announcedCount) {
      this.#announcedCount = count
      this.#send({ type: 'news', count })
    }
    this.#announceRemovals()
    void this.#feed()
  }

  #start(): void {
    const { dir, identity, memoryBytes, hasReaders } = this.#options
    const flags = ['--disable-warning=ExperimentalWarning', '--v8-pool-size=1']
    const child = startProcess('search', flags, {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      cwd: dir, // the path of the socket is short enough there
      env: {},
    })
    this.#child = child
    this.#hasBegun = false
    this.#announcedErasure = 0
    let socketError = ''
    child.once('error', (error) => this.#onEnd(child, error.message))
    child.once('close', (code, signal) => {
      this.#onEnd(child, `${signal ?? `code ${code}`}${socketError}`)
    })
    // If the node may open no more files, the child has no `stdio`, and will emit `error` soon.
    const socket = child.stdio?.[3] as Socket | undefined
    if (socket === undefined) return
    this.#socket = socket
    socket.on('error', (error) => {
      socketError = `, ${error.message}`
      child.kill('SIGKILL')
    })
    receive<FromIndex>(socket, (message) => this.#take(message))
    this.#announcedCount = this.#feeder.durable
    const count = this.#announcedCount
    const place = { dir: indexName, socket: hasReaders ? readersSocket : '' }
    this.#send({ type: 'hello', identity, memoryBytes, count, ...place })
  }

  #onEnd(child: ChildProcess, why: string): void {
    if (this.#child !== child) return
    this.#child = null
    this.#socket = null
    this.#hasBegun = false
    this.#want = null
    this.link.disconnect()
    this.#cleanThrough = Math.max(this.#cleanThrough, this.#endingClean)
    const isExpected = this.#endingClean !== -1
    this.#endingClean = -1
    if (this.#isStopped || !this.isAvailable) return
    if (isExpected) return this.#start()
    this.#cleanThrough = -1
    this.restarts += 1
    this.#options.log.warn({ why }, 'search_ended')
    this.#restart = setTimeout(() => {
      this.#restart = null
      if (!this.#isStopped) this.#start()
    }, this.#restartPauses.next()).unref()
  }

  #take(message: FromIndex): void {
    const { log } = this.#options
    switch (message.type) {
      case 'engine':
        return this.#noteEngine(message.name, message.version)
      case 'shards':
        return void this.#begin(message)
      case 'want':
        this.#want = message
        return void this.#feed()
      case 'found':
        return this.link.take(message)
      case 'progress':
        return this.#note(message)
      case 'damaged':
        return log.warn({ first: message.first, why: message.why }, 'search_damaged')
      case 'clean':
        if (message.isEnding) this.#endingClean = message.position
        else this.#cleanThrough = message.position
    }
  }

  #noteEngine(name: string | null, version: string): void {
    const { log } = this.#options
    const isFirst = this.engine === null
    this.engine = name ?? ''
    if (name !== null) {
      if (isFirst) log.info({ engine: name, version }, 'search_started')
      return
    }
    const hint = 'Node 22.16 and newer have one; for older ones, install libsql (docs/install.md)'
    this.#giveUp('search_has_no_engine', hint)
  }

  /** Continues without an index, and removes the files of an earlier one. */
  #giveUp(event: string, hint: string): void {
    const { dir, log } = this.#options
    this.engine = ''
    this.link.stop()
    this.#absent = new AbsentIndex(dir, log)
    log.warn({ hint }, event)
  }

  /**
   * Tells the index which shards to keep: those whose last message has the same id in this log,
   * since no two logs share an id.
   */
  async #begin({ found }: Shards): Promise<void> {
    const [{ messages }, child] = [this.#options.forum.state, this.#child]
    const count = this.#feeder.durable
    const isOurs = ({ end, lastId }: Shards['found'][number]) =>
      end <= count && messages.id(end - 1) === lastId
    const kept = found.filter(isOurs)
    this.#forgotten = []
    for (const shard of kept) {
      await nextIteration()
      if (this.#child !== child) return // it has ended meanwhile
      this.#noteForgotten(shard)
    }
    this.#send({ type: 'begin', kept: kept.map(({ first }) => first) })
    this.#hasBegun = true
    this.#announcedErasure = -1
    this.#announceNews()
    this.link.connect(this.#socket!)
  }

  /** Notes the messages that have expired since the shard was built. */
  #noteForgotten({ first, end, erased }: Shards['found'][number]): void {
    const { messages, threads } = this.#options.forum.state
    const { changedPosition } = threads.actors.columns
    for (let message = first; message < end; message++) {
      if (!messages.isForgotten(message)) continue
      const position = changedPosition.get(messages.thread(message))
      if (position > erased) this.#forgotten.push([message, position])
    }
  }

  /** Announces the removals that are durable. */
  #announceRemovals(): void {
    const { state, journal } = this.#options.forum
    if (state.erasedPosition <= this.#announcedErasure || state.erasedPosition > journal.durable)
      return
    const acts = state.moderation.page(this.#announcedErasure, Number.POSITIVE_INFINITY)
    const removed = acts.filter(({ kind }) => kind === 'removed')
    const acted = removed.map(({ subject, position }): [number, number] => [subject, position])
    const messages = acted.concat(this.#forgotten.splice(0)) // more than fit into a call of `push`
    this.#announcedErasure = state.erasedPosition
    this.#send({ type: 'removed', messages, through: state.erasedPosition })
  }

  async #feed(): Promise<void> {
    const want = this.#want
    if (want === null || this.#isFeeding) return
    this.#isFeeding = true
    const batch = await this.#feeder.batch(want)
    this.#isFeeding = false
    if (this.#want !== want) return void this.#feed() // the process has ended meanwhile
    if (batch === null) return void setTimeout(() => this.#feed(), retryMs).unref()
    this.#want = null
    const now = performance.eventLoopUtilization()
    const isBusy = performance.eventLoopUtilization(now, this.#loop).utilization > busyPart
    this.#loop = now
    this.#send({ type: 'texts', ...batch.message, isBusy }, batch.texts)
  }

  #note({ type: _, ...progress }: Progress): void {
    this.progress = progress
    this.link.covered = progress.covered
    if (progress.indexed > 0) this.#restartPauses.reset()
    this.#progressLog.note(progress, this.#feeder.durable)
  }

  #send(message: FromNode, texts?: Uint8Array): void {
    if (this.#socket !== null) send(this.#socket, message, texts)
  }
}

/** Where there must be no index, because removed text must not stay in it: removes its files. */
export class AbsentIndex {
  readonly #files: IndexFiles
  #isRemoved = false

  constructor(dir: string, log: Logger) {
    this.#files = new IndexFiles(path.join(dir, indexName))
    try {
      this.#remove()
    } catch (error) {
      log.warn({ why: (error as Error).message }, 'search_left')
    }
  }

  /** Returns whether no file of an index is left. Tries again to remove those that are. */
  isGone(): boolean {
    try {
      this.#remove()
    } catch {
      // The log has said why.
    }
    return this.#isRemoved
  }

  stop(): void {}

  #remove(): void {
    if (this.#isRemoved) return
    this.#files.clear()
    this.#isRemoved = true
  }
}

/** Returns the name of something in the index's directory that is not of the index. */
function foreignIn(dir: string): string | undefined {
  try {
    return new IndexFiles(path.join(dir, indexName)).foreign()
  } catch {
    return undefined // the index reports that it cannot use the directory
  }
}

const socketHint =
  'this is not a socket, so readers refuse searches: move it, and start the node again'

const foreignHint = (name: string) =>
  `${indexName}/ of the data directory holds "${name}", which is not of the index: move it, or ` +
  'choose another data directory; until then, searches are refused'
