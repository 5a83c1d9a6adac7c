// A node: locks the data directory, listens, recovers, serves, drains, stops.
//
// N1. It listens before it reads or creates a log, and answers 503 `starting` until all is applied.
// N2. While it stops, it accepts no connections and refuses new requests with 503; those in flight
//     are finished and synced.
// N3. A stop awaits the challenges and wakeups in flight; the next start sends the others.
// N4. A failed sync is not retried: waiting requests get 503, and the process ends with code 74.
// N5. A standalone node leads. One whose log is replicated leads or follows
//     (cluster/replication/replica.ts).
// N6. If its data directory is removed, or taken by another process, a node ends with code 74.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Logger } from 'pino'
import { codeOf, JournalError } from '../../wal/errors.ts'
import type { Journal, JournalOptions } from '../../wal/journal/journal.ts'
import type { Pause } from '../base/pauses.ts'
import { startWhole, type Teardown } from '../base/teardown.ts'
import type { ReadersParts } from '../cluster/readers/readers.ts'
import type { Life } from '../cluster/replication/replicated-node.ts'
import type { ConnectStream, Replication } from '../cluster/replication/replication.ts'
import type { Lives } from '../cluster/replication/start-again.ts'
import type { Config, SettingTexts } from '../config/config.ts'
import { isWildcard } from '../edge/http/cross-site.ts'
import type { Availability } from '../edge/http/edge-options.ts'
import type { Listen } from '../edge/http/exchange.ts'
import type { Ticks } from '../edge/http/heavy-work.ts'
import { Load } from '../edge/http/load.ts'
import { Role } from '../engine/role/role.ts'
import { CheckpointSchedule, startProgress } from '../engine/storage/checkpoints.ts'
import type { State } from '../forum/state.ts'
import type { Send } from '../forum/webhooks/send.ts'
import type { StartReading } from '../kernel/text/reader.ts'
import { type Admin, startAdmin } from '../operators/admin/socket.ts'
import {
  allWritten,
  type LogOutput,
  newVitals,
  type ReplicationStats,
  type Vitals,
} from '../operators/ops/vitals.ts'
import { chooseHttp } from './choose-http.ts'
import { newEdge, publicUrlOf } from './edge.ts'
import { endReads } from './end-reads.ts'
import { openPorts, type Ports } from './ports.ts'
import { newState, type OpenedForum, openForum, recover } from './recovery.ts'
import { startReaders, startSearch } from './start-processes.ts'

/** The permission to write, of the group and of others. */
const othersWrite = 0o022

/** A node that serves, with the operations that its own process may call, as tests do. */
export interface Node extends Life, Pick<Admin, 'administer' | 'erasure' | 'moderate'> {
  /** Takes a checkpoint now; resolves when it is taken, or has failed. */
  takeCheckpoint(): Promise<void>
}

/** Replacements for parts of the machine: tests run nodes in environments that fail. */
export interface Environment extends Pick<JournalOptions, 'disk' | 'segmentBytes'> {
  /** Decides when checkpoint work yields to other work. */
  pause?: Pause
  listen?: Listen
  /** Decides when requests are processed, in place of event-loop iterations (edge/http/tick.ts). */
  ticks?: Ticks
  /** Posts to webhooks in place of the network. */
  send?: Send
  /** Starts the reader of text on `disk`, in place of a worker thread. */
  startReading?: StartReading
  /** Aborts the start while checkpoint and log are read: `startNode` rejects with its reason. */
  stopping?: AbortSignal
  /** The settings as they were written. Readers need them, and are not started without. */
  settings?: SettingTexts
  /** Starts a reader, in place of a process (cluster/readers/readers.ts). */
  startReader?: ReadersParts['startReader']
  /** The output of the log, whose state is shown by metrics and readiness. */
  logOutput?: LogOutput
  /** Connects to the carrier of a replicated log, in place of NATS. */
  connectStream?: ConnectStream
  /** The lives of a replicated node, of which this is one (cluster/replication/start-again.ts). */
  lives?: Lives
}

/**
 * Starts a node; resolves when it serves. Rejects with a JournalError or ConfigError, with the
 * reason of `stopping`, or, where the log is replicated, with `StartAgain`.
 */
export function startNode(
  config: Config,
  version: string,
  log: Logger,
  environment: Environment = {},
): Promise<Node> {
  return startWhole((teardown) => start({ config, version, log, environment }, teardown))
}

interface Options {
  config: Config
  version: string
  log: Logger
  environment: Environment
}

/** Starts a node step by step. The teardown undoes the steps in reverse order. */
async function start(options: Options, teardown: Teardown): Promise<Node> {
  const startedAt = performance.now()
  const { config, version, log, environment } = options
  const { disk, send, settings: texts, startReader } = environment
  const prepared = prepare(options)
  const { availability, load, edge, checkpoints, vitals } = prepared
  const replication = await replicationOf(options, vitals)
  const opened = await openLog(options, prepared, replication, teardown)
  const { forum, journal, epoch, ports } = opened
  const publicUrl = publicUrlOf(config, ports.url, log)
  vitals.url = isWildcard(publicUrl) ? null : publicUrl
  const onLead = (leading: Journal) => {
    vitals.journal = leading
  }
  const own = { version, publicUrl, epoch: epoch.id, startedAt }
  const role = new Role({ ...own, forum, edge, load, config, send, onLead })
  const parts = { role, forum, journal, edge, load, checkpoints, epoch }
  const replicated = replication?.join(parts) ?? null
  show(vitals, opened, role, [role, checkpoints, replication ?? { warnings: [] }], replicated)
  if (disk === undefined) teardown.add(watchLock(config.data, role))

  checkpoints.begin(journal, forum.state)
  teardown.add(() => checkpoints.stop())
  teardown.add(async () => {
    await role.stop()
    await nextIteration() // lets the outcomes of challenges be answered
    await replication?.quiesce()
  })
  if (replication === null) role.leadAlone(journal)
  else await replication.begin()

  const { listener, operatorPages: pages, adminSocket: socket } = ports
  const shared = { config, texts, log, disk, edge, load, listener, startReader }
  const readers = await startReaders(shared, role, checkpoints)
  const search = startSearch(role, { config, log, environment, storeId: journal.storeId })
  Object.assign(vitals, { readers, search: search.stats } satisfies Partial<Vitals>)
  // After it is decided which node appends records: a node that follows appends none.
  const admin = startAdmin(forum, role.gate, {
    ...{ socket, checkpoints, listener, readers, search: search.index, pages },
    publicUrl: vitals.url,
  })
  availability.refusal = null
  // All that serves ends at once: readers wait for answers of this process.
  teardown.add(async () => {
    availability.refusal = 'shutting_down'
    listener.stop()
    socket?.stop()
    admin.stop()
    await Promise.all([readers?.stop(), search.index?.stop(), endReads(forum)])
  })
  const { url } = ports
  const takeCheckpoint = () => checkpoints.take()
  return { ...admin, url, failed: role.failed, takeCheckpoint, stop: () => teardown.run() }
}

/** Opens the ports, reads the log, and makes the forum on its state. */
async function openLog(
  options: Options,
  prepared: ReturnType<typeof prepare>,
  replication: Replication | null,
  teardown: Teardown,
): Promise<OpenedForum & { journal: Journal; ports: Ports }> {
  const { config, log, environment } = options
  const { checkpoints, vitals } = prepared
  // A second start must report that the directory is in use, not the port. A start whose port is in
  // use must leave no log behind.
  const whenLocked = async (found: string | null) => {
    if (environment.disk === undefined) warnIfOpen(config.data, log)
    const ports = await openPorts({ ...prepared, config, log, environment }, teardown)
    teardown.add(() => replication?.close())
    return { ports, storeId: replication === null ? found : await replication.prepare(found) }
  }
  const onState = (state: State) => {
    vitals.state = state
  }
  const onProgress = startProgress(vitals, log)
  const recovered = await recover({ ...options, checkpoints, whenLocked, onState, onProgress })
  const { journal, state, locked } = recovered
  teardown.add(() => journal.close())
  vitals.journal = journal
  await replication?.agree(journal, state.term)
  return { ...openForum(recovered, { ...options, checkpoints }), journal, ports: locked.ports }
}

/** Shows operators what a node has once its log is read. */
function show(
  vitals: Vitals,
  { forum, textDisk, clock }: OpenedForum,
  { gate }: Role,
  sources: readonly { readonly warnings: readonly string[] }[],
  replication: ReplicationStats | null,
): void {
  const { slicedWork, coldReads, pageMaking, waiting, guesses, refusedCallers } = forum
  const counted = { slicedWork, coldReads, pageMaking, waiting, guesses, refusedCallers }
  const shown = { ...counted, textDisk, clock, gate }
  const warnings = () => sources.flatMap(({ warnings }) => warnings)
  Object.assign(vitals, { ...shown, warnings, replication } satisfies Partial<Vitals>)
}

const lockCheckMs = 2000

/**
 * Ends a node whose lock is gone or belongs to another process: its directory was removed or
 * replaced, and what it writes to the files that it has open is lost (N6). Returns a function that
 * ends the watch.
 */
function watchLock(data: string, role: Pick<Role, 'fail'>): () => void {
  const own = ownerIn(data)
  const timer = setInterval(() => {
    const owner = ownerIn(data)
    if (owner === own || owner === undefined) return
    clearInterval(timer)
    role.fail(new JournalError(74, `${data} is gone, or another process has taken it`))
  }, lockCheckMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Returns the owner that the lock names, null if there is no lock, or undefined if unknown. */
function ownerIn(data: string): string | null | undefined {
  try {
    return readFileSync(join(data, 'lock'), 'utf8')
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? null : undefined
  }
}

/** Warns if others may write to the data directory, because they could replace what is in it. */
function warnIfOpen(data: string, log: Logger): void {
  const mode = statSync(data).mode & 0o777
  const hint = 'other users may write to the data directory; chmod 700 prevents that'
  if ((mode & othersWrite) !== 0)
    log.warn({ data, mode: mode.toString(8), hint }, 'data_directory_open')
}

/** Makes the parts of a node that exist before its log is read. */
function prepare({ config, version, log, environment }: Options) {
  const { listen, logOutput = allWritten } = environment
  const http = listen ? { name: 'test', listen } : chooseHttp(config, log)
  const availability: Availability = { refusal: 'starting' }
  const { memoryBytesMax, textBytesMax, load: limits } = config.nodeLimits
  const load = new Load(limits)
  const edge = newEdge(config, availability, load, log, environment)
  const checkpoints = new CheckpointSchedule(config, log, environment)
  const vitals = newVitals({
    version,
    http: http.name,
    durability: config.durabilityName,
    retentionDays: config.retentionDays,
    availability,
    meter: edge.meter,
    load,
    memoryBytesMax,
    textBytesMax,
    state: newState(config),
    checkpoints: checkpoints.stats,
    scrub: checkpoints.scrub.stats,
    logOutput,
  })
  return { http, availability, load, edge, checkpoints, vitals }
}

/** Returns what leads or follows a replicated log; a standalone node loads none of it. */
async function replicationOf(
  { config, log, environment }: Options,
  vitals: Vitals,
): Promise<Replication | null> {
  const { replication } = config
  if (replication === null) return null
  const { disk, connectStream: connect, lives } = environment
  const onWait = (why: string) => {
    vitals.start = { step: 'stream', done: 0, of: 0, why }
  }
  const { Replication } = await import('../cluster/replication/replication.ts')
  return new Replication({ config, replication, disk, connect, log, onWait, lives })
}
