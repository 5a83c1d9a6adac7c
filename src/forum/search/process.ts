// The process of the index, which the node starts beside itself with a socket as descriptor 3
// (host.ts). Ending the process discards everything that it holds in memory.
//
//   hello ──▶ files opened ──▶ begin ──▶ indexes and searches ──stop──▶ saved, ends
//                                               │
//                                               └── removed texts are in no file: saved, ends, and
//                                                   is started again, without them in memory
//
// P1. It ends with its node: when the socket closes.
// P2. Searches come first: between two of their steps there is at most one batch of indexing.
// P3. While the node is busy, the process rests as long as it has worked, so it indexes with at
//     most half of a core. It also gives way to every other process (its priority).
// P4. What fails, for example because the disk is full, is tried again later; until then the index
//     lags.

import { createServer, type Server, Socket } from 'node:net'
import os from 'node:os'
import { residentMemory } from '../../base/process.ts'
import { listenOnSocket } from '../../base/sockets.ts'
import { type Engine, findEngine } from './engine.ts'
import { Index } from './index.ts'
import {
  type FromNode,
  type Hello,
  type Removed,
  receive,
  type Search,
  send,
  type Texts,
} from './protocol.ts'
import { marks } from './query.ts'
import { Searches } from './searches.ts'
import { type Entry, identityOf } from './shard.ts'
import { spacedWords } from './words.ts'

const nodeDescriptor = 3
/**
 * The lowest, so that a node which shares its only core with the index keeps that core. A node that
 * answered 24,700 and 23,600 replies/s without an index answered 11,800 and 18,900 with one at 10,
 * and answers 19,800 and 25,000 at 19 (alternating; everything on one core).
 */
const priority = 19
/** A search may have to wait for a batch, which has at most this many messages: 5 to 10 ms. */
const batchMessages = 256
const retryMs = 10_000
const watchEveryMs = 1000
const checkAllEveryMs = 24 * 3_600_000
/** The rest between two pieces of a file that is checked: checks take an eighth of the time. */
const checkRestMs = 8
const progressEveryMs = 100

class IndexProcess {
  readonly #node: Socket
  readonly #engine: Engine
  readonly #index: Index
  readonly #searches: Searches
  /** Accepts readers, on a socket in the data directory that only its owner can open. */
  readonly #readers: Server
  /** '' if there are no readers. */
  readonly #readersPath: string
  #isWanting = false
  #isResting = false
  /** Whether this process has ever held text that was removed. */
  #wasDirty = false
  #isChecking = false
  #stallReason = ''
  #progressMs = Number.NEGATIVE_INFINITY

  constructor(node: Socket, engine: Engine, { dir, identity, memoryBytes, count, socket }: Hello) {
    this.#node = node
    this.#engine = engine
    this.#index = new Index({
      engine,
      dir,
      identity: identityOf(identity, engine),
      memoryBytes,
      onDamaged: (first, why) => send(node, { type: 'damaged', first, why }),
    })
    this.#index.count = count
    this.#searches = new Searches(this.#index)
    this.#readersPath = socket
    this.#readers = readerServer((search, from) => this.#search(search, from))
  }

  /** Opens the files, and reports the shards in them. */
  start(): void {
    const { name, version } = this.#engine
    send(this.#node, { type: 'engine', name, version })
    const found = this.#orTrouble(() => this.#index.open()) ?? []
    send(this.#node, {
      type: 'shards',
      found: found.map(({ first, end, lastId, erased }) => ({ first, end, lastId, erased })),
    })
    setInterval(() => this.#watch(), watchEveryMs)
    setInterval(() => this.#index.checkAll(), checkAllEveryMs)
  }

  take(message: Exclude<FromNode, Hello>, texts: Buffer): void {
    switch (message.type) {
      case 'begin':
        this.#orTrouble(() => this.#index.begin(new Set(message.kept)))
        if (this.#readersPath !== '') listenOnSocket(this.#readers, this.#readersPath)
        return this.#goOn()
      case 'removed':
        return this.#remove(message)
      case 'news':
        this.#index.count = message.count
        return this.#goOn()
      case 'texts':
        return this.#add(message, texts)
      case 'search':
        return this.#search(message, this.#node)
      case 'stop':
        return this.#end()
    }
  }

  #search(search: Search, from: Socket): void {
    this.#searches.add(search, (found) => send(from, found))
  }

  #remove({ messages, through }: Removed): void {
    for (const [message, position] of messages) this.#index.remove(message, position)
    this.#index.erased = through
    if (this.#index.isDirty) this.#wasDirty = true
    else this.#tellClean()
    this.#goOn()
  }

  /** Requests the messages to be indexed next. */
  #goOn(): void {
    if (this.#isWanting || this.#isResting) return
    const from = this.#index.next()
    if (from === -1) return this.#tellProgress(true)
    this.#isWanting = true
    const limit = Math.min(batchMessages, this.#index.roomFrom(from))
    send(this.#node, { type: 'want', from, limit })
  }

  #add(batch: Texts, texts: Buffer): void {
    this.#isWanting = false
    const before = process.cpuUsage()
    const { from, lastId, bytes } = batch
    const entries = entriesOf(batch, texts)
    const isAdded = this.#orTrouble(() => {
      this.#index.add({ from, to: from + bytes.length, lastId, entries })
      return true
    })
    if (isAdded === null) return this.#restFor(retryMs)
    this.#stallReason = ''
    this.#tellProgress(false)
    if (this.#wasDirty && !this.#index.isDirty) return this.#end()
    const { user, system } = process.cpuUsage(before)
    this.#restFor(batch.isBusy ? (user + system) / 1000 : 0)
  }

  #restFor(ms: number): void {
    this.#isResting = true
    const goOn = () => {
      this.#isResting = false
      this.#goOn()
    }
    if (ms < 1) setImmediate(goOn)
    else setTimeout(goOn, ms)
  }

  #watch(): void {
    this.#index.watch()
    this.#tellProgress(false)
    this.#goOn()
    if (!this.#isChecking) void this.#check()
  }

  async #check(): Promise<void> {
    this.#isChecking = true
    for (const _ of this.#index.check()) {
      await new Promise((resolve) => setTimeout(resolve, checkRestMs))
    }
    this.#isChecking = false
  }

  /** Returns the result of the work; null if it failed, as on a full disk or a closed directory. */
  #orTrouble<T>(work: () => T): T | null {
    try {
      return work()
    } catch (error) {
      this.#stallReason = error instanceof Error ? error.message : `${error}`
      this.#tellProgress(true)
      return null
    }
  }

  #tellClean(): void {
    const { erased: position } = this.#index
    send(this.#node, { type: 'clean', position, isEnding: this.#wasDirty })
  }

  #tellProgress(isNow: boolean): void {
    const now = performance.now()
    if (!isNow && now - this.#progressMs < progressEveryMs) return
    this.#progressMs = now
    const { covered, indexed, shards } = this.#index
    const { user, system } = process.cpuUsage()
    send(this.#node, {
      type: 'progress',
      covered,
      indexed,
      shards,
      bytes: this.#index.bytes,
      residentBytes: residentMemory(),
      cpuSeconds: (user + system) / 1e6,
      stallReason: this.#stallReason,
    })
  }

  /** Saves the shards that are being built, and ends the process. */
  #end(): void {
    this.#readers.close()
    this.#orTrouble(() => this.#index.close())
    if (this.#wasDirty && !this.#index.isDirty) this.#tellClean()
    this.#node.end(() => process.exit(0))
  }
}

// Signals that a terminal sends to all of its processes are left to the node.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
try {
  os.setPriority(priority)
} catch {
  // A sandbox may not let it; it then only rests between batches (P3).
}
const node = new Socket({ fd: nodeDescriptor })
let running: IndexProcess | null = null
receive<FromNode>(node, (message, texts) => {
  if (message.type !== 'hello') return running?.take(message, texts) // null: no engine
  const engine = findEngine()
  if (engine === null) {
    send(node, { type: 'engine', name: null, version: '' })
    return void node.end(() => process.exit(0))
  }
  running = new IndexProcess(node, engine, message)
  running.start()
})
for (const event of ['close', 'error', 'end'] as const) node.on(event, () => process.exit(0))

interface MessageJson {
  content: string
  type?: string
  removed?: true
}

interface ThreadJson {
  id: string
  title: string
}

/** Returns the words and marks of each message of a batch. Messages without text have no entry. */
export function entriesOf(batch: Texts, texts: Buffer): Entry[] {
  const { from, bytes, authors, threads, threadBytes } = batch
  const members = new Map(batch.members)
  const entries: Entry[] = []
  let at = 0
  for (let i = 0; i < bytes.length; i++) {
    const [message, end, threadEnd] = [from + i, at + bytes[i], at + bytes[i] + threadBytes[i]]
    const readers = members.get(message)
    if (bytes[i] > 0) {
      const json = JSON.parse(texts.toString('utf8', at, end)) as MessageJson
      const thread = threadBytes[i] === 0 ? null : texts.toString('utf8', end, threadEnd)
      if (!json.removed) {
        const parts = [marks.author(authors[i]), marks.thread(threads[i])]
        if (json.type !== undefined) parts.push(marks.type(json.type))
        if (readers !== undefined) parts.push(...readers.map(marks.member))
        if (thread !== null) parts.push(...ofThread(thread))
        parts.push(spacedWords(json.content))
        entries.push({ message, isPublic: readers === undefined, words: parts.join(' ') })
      }
    }
    at = threadEnd
  }
  return entries
}

/** Returns the words and marks by which a thread's first message is found, beside its own words. */
function ofThread(json: string): string[] {
  const { id, title } = JSON.parse(json) as ThreadJson
  return [spacedWords(id), marks.border, spacedWords(title), marks.border]
}

/** Returns a server for readers, which send searches and nothing else. */
function readerServer(onSearch: (search: Search, from: Socket) => void): Server {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    receive<FromNode>(socket, (message) => {
      if (message.type === 'search') onSearch(message, socket)
    })
  })
  // A reader that cannot connect tries again, and answers no searches until then.
  return server.on('error', () => {})
}
