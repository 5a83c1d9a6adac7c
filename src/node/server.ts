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
import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { codeOf, JournalError } from '../../wal/errors.ts'
import type { Journal, JournalOptions } from '../../wal/journal/journal.ts'
import type { Pause } from '../base/pauses.ts'
import type { Readers } from '../cluster/readers/readers.ts'
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
import { CheckpointSchedule } from '../engine/storage/checkpoints.ts'
import type { Send } from '../forum/webhooks/send.ts'
import type { StartReading } from '../kernel/text/reader.ts'
import { type Admin, startAdmin } from '../operators/admin/socket.ts'
import { allWritten, type LogOutput, newVitals, type Vitals } from '../operators/ops/vitals.ts'
import { chooseHttp } from './choose-http.ts'
import { newEdge, publicUrlOf } from './edge.ts'
import { endReads, lingerMs } from './end-reads.ts'
import { Ports, type PortsParts } from './ports.ts'
import { newState, openForum, recover } from './recovery.ts'
import { startReaders } from './start-readers.ts'
import { startSearch } from './start-search.ts'

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
  /** Listens in place of an HTTP server. */
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
export async function startNode(
  config: Config,
  version: string,
  log: Logger,
  environment: Environment = {},
): Promise<Node> {
  const startedAt = performance.now()
  const prepared = prepare(config, version, log, environment)
  const { availability, load, edge, checkpoints, vitals } = prepared
  const replication = await replicationOf(config, vitals, log, environment)
  const ports = new Ports({ ...prepared, config, log, environment })
  const giveUp = async () => {
    ports.stop()
    ports.close()
    await replication?.close()
  }
  // A second start must report that the directory is in use, not the port. A start whose port is in
  // use must leave no log behind.
  const whenLocked = () => {
    if (environment.disk === undefined) warnIfOpen(config.data, log)
    return ports.open()
  }
  const recovery = { ...environment, whenLocked }
  const recovering = recover(config, vitals, checkpoints, log, recovery, replication)
  const journal = await orElse(giveUp, recovering)
  const { listener, url, operatorPages: pages, adminSocket: socket } = ports
  const options = { config, log, environment, checkpoints, listener }
  const { forum, epoch } = await orElse(giveUp, openForum(journal, vitals, options))
  const publicUrl = publicUrlOf(config, url, log)
  const { send } = environment
  const onLead = (leading: Journal) => {
    vitals.journal = leading
  }
  const place = { version, publicUrl, epoch: epoch.id, startedAt }
  const role = new Role({ ...place, forum, edge, load, config, send, onLead })
  const { gate, failed } = role
  vitals.gateLength = () => gate.length
  const sources = [role, checkpoints, replication ?? { warnings: [] }]
  vitals.warnings = () => sources.flatMap(({ warnings }) => warnings)
  let readers: Readers | null = null
  let admin: Admin | null = null
  let search: ReturnType<typeof startSearch> = null
  const watching = environment.disk === undefined ? watchLock(config.data, role) : undefined
  const stop = async () => {
    clearInterval(watching)
    availability.refusal = 'shutting_down'
    const readersEnded = readers?.stop()
    ports.stop()
    admin?.stop()
    const searchEnded = search?.stop()
    await endReads(forum)
    await readersEnded
    await role.stop()
    await nextIteration() // lets the outcomes of challenges be answered
    await replication?.quiesce()
    await searchEnded
    await checkpoints.stop()
    await journal.close()
    await replication?.close()
    await sleep(lingerMs)
    ports.close()
  }
  checkpoints.begin(journal, forum.state)
  if (replication === null) role.leadAlone(journal)
  else
    await orElse(stop, replication.begin({ role, forum, journal, edge, load, checkpoints, epoch }))
  search = startSearch(role, { config, log, environment, storeId: journal.storeId, vitals })
  availability.refusal = null
  const { disk, settings: texts } = environment
  const shared = { config, texts, log, disk, edge, load, listener }
  readers = await startReaders(shared, role, checkpoints, vitals)
  // After it is decided which node appends records: a node that follows appends none.
  admin = startAdmin(forum, gate, {
    ...{ socket, checkpoints, listener, readers, search, pages },
    publicUrl: isWildcard(publicUrl) ? null : publicUrl,
  })
  const takeCheckpoint = () => checkpoints.take()
  return { ...admin, url, failed, takeCheckpoint, stop }
}

const lockCheckMs = 2000

/**
 * Ends a node whose lock is gone or belongs to another process: its directory was removed or
 * replaced, and what it writes to the files that it has open is lost (N6). Returns the timer.
 */
function watchLock(data: string, role: Pick<Role, 'fail'>): NodeJS.Timeout {
  const own = ownerIn(data)
  const timer = setInterval(() => {
    const owner = ownerIn(data)
    if (owner === own || owner === undefined) return
    clearInterval(timer)
    role.fail(new JournalError(74, `${data} is gone, or another process has taken it`))
  }, lockCheckMs)
  return timer.unref()
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

/** The parts of a node that exist before its log is read. */
interface Prepared extends Omit<PortsParts, 'config' | 'log' | 'environment'> {
  availability: Availability
  checkpoints: CheckpointSchedule
}

function prepare(config: Config, version: string, log: Logger, environment: Environment): Prepared {
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
    availability,
    meter: edge.meter,
    load,
    memoryBytesMax,
    textBytesMax,
    state: newState(config),
    logOutput,
  })
  vitals.checkpoints = checkpoints.stats
  vitals.scrub = checkpoints.scrub.stats
  return { http, availability, load, edge, checkpoints, vitals }
}

/** Returns what leads or follows a replicated log; a standalone node loads none of it. */
async function replicationOf(
  config: Config,
  vitals: Vitals,
  log: Logger,
  { disk, connectStream: connect, lives }: Environment,
): Promise<Replication | null> {
  const { replication } = config
  if (replication === null) return null
  const { Replication } = await import('../cluster/replication/replication.ts')
  return new Replication({ config, replication, disk, connect, log, vitals, lives })
}

/** Returns the result of the work. If it fails, stops what has begun before. */
async function orElse<T>(stop: () => void | Promise<void>, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    await stop()
    throw error
  }
}
