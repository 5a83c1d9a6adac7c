// A node: locks the data directory, listens, recovers, serves, drains, stops.
//
// N1. It listens while it recovers, and answers 503 `starting` until the whole log is applied.
// N2. Stopping: no new connections, 503 for new requests; those in flight are finished and synced.
// N3. Stopping awaits the challenges and wakeups in flight; the others are sent by the next start.
// N4. A failed sync is not retried: waiting requests get 503, and the process ends with code 74.

import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Journal, JournalOptions } from '../../wal/journal/journal.ts'
import type { Pause } from '../../wal/pace.ts'
import type { Service } from '../api/route.ts'
import { ConfigError } from '../config/arguments.ts'
import type { Config, SettingTexts } from '../config/config.ts'
import type { Send } from '../delivery/send.ts'
import type { Forum } from '../forum/forum.ts'
import type { Moderating, ModerationCommand, ModerationOutcome } from '../forum/moderation.ts'
import type { Availability } from '../http/edge-options.ts'
import type { Listen, Listener } from '../http/exchange.ts'
import { Gate } from '../http/gate.ts'
import { Load } from '../http/load.ts'
import { serveOperators } from '../ops/serve.ts'
import { allWritten, type LogOutput, newVitals, type Vitals } from '../ops/vitals.ts'
import { type Administered, serveAdmin } from './admin-socket.ts'
import { CheckpointSchedule } from './checkpoints.ts'
import { chooseHttp } from './choose-http.ts'
import { newEdge, publicUrlOf } from './edge.ts'
import { endReads, lingerMs } from './end-reads.ts'
import { type Leading, startLeading } from './leading.ts'
import { moderate } from './moderate.ts'
import type { Readers, ReadersParts } from './readers.ts'
import { newState, openForum, recover } from './recovery.ts'

export interface Node {
  /** The URL at which it answers. */
  url: string
  /** Takes a checkpoint now; resolves when it is taken, or has failed. */
  takeCheckpoint(): Promise<void>
  /** Runs a command of an operator (forum/moderation.ts); resolves when that is durable. */
  moderate(command: ModerationCommand, about: Moderating): Promise<ModerationOutcome>
  /** Drains and stops; resolves when everything is on disk. */
  stop(): Promise<void>
  /** Rejects when the storage fails. */
  failed: Promise<never>
}

/** What replaces parts of the machine: tests run nodes in environments that fail. */
export interface Environment extends Pick<JournalOptions, 'disk' | 'segmentBytes'> {
  /** Decides when work on a checkpoint yields to other work. */
  pause?: Pause
  /** Listens in place of an HTTP server. */
  listen?: Listen
  /** Calls a function at the end of an event-loop iteration (http/tick.ts). */
  atTickEnd?: (end: () => void) => void
  /** Posts to webhooks in place of the network. */
  send?: Send
  /** The settings as they were written, for readers; without them there can be none. */
  settings?: SettingTexts
  /** The output of the log, whose state metrics and readiness show. */
  logOutput?: LogOutput
}

/** Starts a node; resolves when it serves. Rejects with a JournalError or ConfigError. */
export async function startNode(
  config: Config,
  version: string,
  log: Logger,
  environment: Environment = {},
): Promise<Node> {
  const { listen, logOutput = allWritten } = environment
  const http = listen ? { name: 'test', listen } : chooseHttp(config, log)
  const availability: Availability = { refusal: 'starting' }
  const { host, port, opsPort, nodeLimits } = config
  const [load, { memoryBytesMax, textBytesMax }] = [new Load(nodeLimits.load), nodeLimits]
  const edge = newEdge(config, availability, load, log, environment)
  const startedAt = performance.now()
  const about = { version, http: http.name, durability: config.durabilityName, logOutput }
  const known = { availability, meter: edge.meter, load, state: newState(config) }
  const checkpoints = new CheckpointSchedule(config, log, environment)
  const vitals = newVitals({ ...about, ...known, memoryBytesMax, textBytesMax })
  Object.assign(vitals, { checkpoints: checkpoints.stats, scrub: checkpoints.scrub.stats })
  // This locks the directory at once, so that a second start reports that and not the port.
  const recovering = recover(config, vitals, checkpoints, log, environment)
  await Promise.race([recovering, nextIteration()])
  const ops = await orClose(recovering, '--ops-port', () => serveOperators(config, vitals))
  const sharing = config.readers > 0 ? ('first' as const) : undefined
  const listening = { load, behindProxy: config.trustProxy !== null, sharing }
  const listener = await orClose(recovering, '--host or --port', () =>
    http.listen(host, port, (exchange) => edge.handle(exchange), listening),
  )
  log.info({ http: http.name, node: process.version, port: listener.port, opsPort }, 'listening')
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
  const journal = await recovering
  const options = { config, log, environment, checkpoints }
  const { forum, epoch } = await openForum(journal, vitals, options)
  const gate = new Gate()
  const publicUrl = publicUrlOf(config, url, log)
  const { send } = environment
  const leading = startLeading({ forum, journal, gate, load, config, publicUrl, send })
  vitals.gateLength = () => gate.length
  vitals.warnings = () => [...leading.warnings, ...checkpoints.warnings]
  const service: Service = {
    forum,
    publicUrl,
    pollAfterSeconds: config.pollAfterSeconds,
    webhooks: leading.wakeups,
    compat: config.compat,
    durability: config.durabilityName,
    version,
    epoch,
    uptimeSeconds: () => Math.floor((performance.now() - startedAt) / 1000),
  }
  const { failed, show } = watch(journal, gate, forum, leading)
  edge.open(service, gate)
  availability.refusal = null
  checkpoints.begin(journal, forum.state)
  const { disk, settings: texts } = environment
  const shared = { config, texts, log, journal, disk, edge, load, listener, service, show }
  const readers = await startReaders(shared, checkpoints, vitals)
  const admin = startAdmin(forum, gate, options)
  return {
    url,
    failed,
    takeCheckpoint: () => checkpoints.take(),
    moderate: admin.moderate,
    async stop() {
      availability.refusal = 'shutting_down'
      const readersEnded = readers?.stop()
      listener.stop()
      admin.stop()
      await endReads(forum)
      await readersEnded
      await leading.stop()
      await nextIteration() // lets the outcomes of challenges be answered
      await checkpoints.stop()
      await journal.close()
      await sleep(lingerMs)
      ops?.stop()
    },
  }
}

interface AdminOptions {
  config: Config
  log: Logger
  environment: Environment
  checkpoints: CheckpointSchedule
}

/** What operators may do, also through the socket; a simulated disk has none. */
function startAdmin(
  forum: Forum,
  gate: Gate,
  { config, log, environment, checkpoints }: AdminOptions,
): Pick<Node, 'moderate'> & { stop(): void } {
  const administered: Administered = {
    state: forum.state,
    moderate: (command, about) => moderate(forum, gate, command, about),
    erasure: (position) => checkpoints.erasure(position),
  }
  const stop = environment.disk ? () => {} : serveAdmin(config.data, administered, log)
  return { moderate: administered.moderate, stop }
}

/** Starts the readers, which this process then has to tell everything; null: there are none. */
async function startReaders(
  { texts, ...parts }: Omit<ReadersParts, 'texts'> & { texts: SettingTexts | undefined },
  checkpoints: CheckpointSchedule,
  vitals: Vitals,
): Promise<Readers | null> {
  if (parts.config.readers === 0 || texts === undefined) return null
  const { Readers } = await import('./readers.ts')
  const readers = new Readers({ ...parts, texts })
  parts.journal.onDurable = (durable) => readers.announce(durable)
  checkpoints.tellReaders = (number, position) => readers.checkpointTaken(number, position)
  const { max, ended } = vitals.waiting
  const waiting = {
    ...{ max, ended },
    get length() {
      return readers.waiting
    },
  }
  Object.assign(vitals, { readers, waiting })
  return readers
}

/** Listens; on failure unlocks the data directory, and throws which flag to change. */
async function orClose<L extends Listener | null>(
  recovering: Promise<Journal>,
  flag: string,
  listen: () => Promise<L>,
): Promise<L> {
  try {
    return await listen()
  } catch (error) {
    const journal = await recovering
    await journal.close()
    throw new ConfigError(`${(error as Error).message}; choose another ${flag}`)
  }
}

/**
 * Shows what becomes durable: releases answers, polls that wait, and wakeups. `failed` rejects when
 * the storage fails.
 */
function watch(journal: Journal, gate: Gate, { waiting }: Forum, leading: Leading) {
  const show = (durable: number) => {
    gate.open(durable)
    waiting.onDurable(durable)
    leading.onDurable(durable)
  }
  journal.onDurable = show
  const failed = new Promise<never>((_, reject) => {
    journal.onFailed = (error) => {
      gate.fail()
      // Requests that arrived before are answered first: this rejection ends the process.
      setImmediate(() => reject(error))
    }
    if (journal.failure !== null) reject(journal.failure)
  })
  failed.catch(() => {}) // the caller of startNode handles it
  return { failed, show }
}
