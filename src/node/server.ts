// A node: locks the data directory, listens, recovers, serves, drains, stops.
//
// N1. It listens while it recovers, and answers 503 `starting` until the whole log is applied.
// N2. Stopping: no new connections, 503 for new requests; those in flight are finished and synced.
// N3. Stopping awaits the challenges and wakeups in flight; the others are sent by the next start.
// N4. A failed sync is not retried: waiting requests get 503, and the process ends with code 74.

import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { readPageNow } from '../../wal/checkpoint/page-source.ts'
import { realDisk } from '../../wal/disk.ts'
import { type Journal, type JournalOptions, openJournal } from '../../wal/journal/journal.ts'
import type { Pause } from '../../wal/pace.ts'
import type { Service } from '../api/route.ts'
import { ConfigError } from '../config/arguments.ts'
import type { Config } from '../config/config.ts'
import type { Send } from '../delivery/send.ts'
import { apply } from '../forum/apply.ts'
import { notableMs } from '../forum/clock.ts'
import { clearCaches, type Forum, makeForum, type Rejection } from '../forum/forum.ts'
import type { Erased, Erasure } from '../forum/moderation.ts'
import { decode } from '../forum/records.ts'
import { randomSeed, type Stamps, systemStamps } from '../forum/stamp.ts'
import { hasRightKey } from '../forum/webhooks.ts'
import type { Listen, Listener } from '../http/exchange.ts'
import { Gate } from '../http/gate.ts'
import type { Availability } from '../http/handle.ts'
import { Load } from '../http/load.ts'
import { logNotices } from '../ops/log.ts'
import { serveOperators } from '../ops/serve.ts'
import { allWritten, type LogOutput, newVitals, type Vitals } from '../ops/vitals.ts'
import { State } from '../state/state.ts'
import { NodeAdmission } from './admission.ts'
import { CheckpointSchedule } from './checkpoints.ts'
import { chooseHttp } from './choose-http.ts'
import { newEdge, publicUrlOf } from './edge.ts'
import { loadEpoch } from './epoch.ts'
import { erase } from './erase.ts'
import { startExpiry } from './expiry.ts'
import { deriveKey, loadSecret } from './secret.ts'
import { startProgress } from './start-progress.ts'
import { openTextDisk, type TextDiskOptions } from './text-disk.ts'
import { startWakeups, type Wakeups } from './wakeups.ts'

/** Time for the last answers to reach their callers. */
const lingerMs = 50

export interface Node {
  /** The URL at which it answers. */
  url: string
  /** Takes a checkpoint now; resolves when it is taken, or has failed. */
  takeCheckpoint(): Promise<void>
  /** Erases a message for good (forum/moderation.ts); resolves when that is durable. */
  erase(erasure: Erasure): Promise<Erased | Rejection>
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
  const [load, { memoryBytesMax }] = [new Load(nodeLimits.load), nodeLimits]
  const edge = newEdge(config, availability, load, log, environment)
  const startedAt = performance.now()
  const about = { version, http: http.name, durability: config.durabilityName, logOutput }
  const known = { availability, meter: edge.meter, load, state: newState(config) }
  const checkpoints = new CheckpointSchedule(config, log, environment)
  const vitals = newVitals({ ...about, ...known, memoryBytesMax })
  Object.assign(vitals, { checkpoints: checkpoints.stats, scrub: checkpoints.scrub.stats })
  // This locks the directory at once, so that a second start reports that and not the port.
  const recovering = recover(config, vitals, checkpoints, log, environment)
  await Promise.race([recovering, nextIteration()])
  const ops =
    opsPort === 0
      ? null
      : await orClose(recovering, '--ops-port', () => serveOperators(opsPort, vitals))
  const listening = { load, behindProxy: config.trustProxy !== null }
  const listener = await orClose(recovering, '--host or --port', () =>
    http.listen(host, port, (exchange) => edge.handle(exchange), listening),
  )
  log.info({ http: http.name, node: process.version, port: listener.port, opsPort }, 'listening')
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`
  const journal = await recovering
  const options = { config, log, environment, checkpoints }
  const { forum, epoch } = await openForum(journal, vitals, options)
  const gate = new Gate()
  const free = () => clearCaches(forum)
  const admission = new NodeAdmission({ load, gate, journal, memoryBytesMax, free })
  forum.admission = admission
  const unwatch = admission.start()
  vitals.gateLength = () => gate.length
  vitals.warnings = () => [...admission.warnings, ...checkpoints.warnings]
  const publicUrl = publicUrlOf(config, url, log)
  const wakeups = startWakeups(forum, config, publicUrl, environment.send)
  const service: Service = {
    forum,
    publicUrl,
    pollAfterSeconds: config.pollAfterSeconds,
    webhooks: wakeups,
    compat: config.compat,
    durability: config.durabilityName,
    version,
    epoch,
    uptimeSeconds: () => Math.floor((performance.now() - startedAt) / 1000),
  }
  const failed = watch(journal, gate, forum, wakeups)
  edge.open(service, gate)
  availability.refusal = null
  const stopExpiry = startExpiry(forum)
  wakeups.resume()
  checkpoints.begin(journal, forum.state)
  return {
    url,
    failed,
    takeCheckpoint: () => checkpoints.take(),
    erase: (erasure) => erase(forum, gate, erasure),
    async stop() {
      stopExpiry()
      unwatch()
      availability.refusal = 'shutting_down'
      listener.stop()
      await endReads(forum)
      await wakeups.stop()
      await nextIteration() // lets the outcomes of challenges be answered
      await checkpoints.stop()
      await journal.close()
      await sleep(lingerMs)
      ops?.stop()
    },
  }
}

/** Listens; on failure unlocks the data directory, and throws which flag to change. */
async function orClose(
  recovering: Promise<Journal>,
  flag: string,
  listen: () => Promise<Listener>,
): Promise<Listener> {
  try {
    return await listen()
  } catch (error) {
    const journal = await recovering
    await journal.close()
    throw new ConfigError(`${(error as Error).message}; choose another ${flag}`)
  }
}

/** Stamps that warn operators when the system clock is set, or behind the log at a start. */
function watchedStamps(vitals: Vitals, log: Logger): Stamps {
  const stamps = systemStamps((ms) => {
    if (ms < 0) vitals.clockStepsBack += 1
    else vitals.clockStepsAhead += 1
    log.warn({ ms: Math.abs(ms) }, ms < 0 ? 'clock_stepped_back' : 'clock_stepped_ahead')
  })
  vitals.clockBehindMs = () => stamps.clock.behindMs(vitals.state.now)
  vitals.clockWarnings = () => stamps.clock.warnings(vitals.state.now)
  const ms = vitals.clockBehindMs()
  if (ms >= notableMs) log.warn({ ms }, 'clock_behind')
  return stamps
}

function newState(config: Config): State {
  const retentionMs = config.idempotencyHours * 3_600_000
  const { limits, nodeLimits } = config
  const { textBytesMax } = nodeLimits
  return new State({ retentionMs, seed: randomSeed(), textBytesMax, limits })
}

async function recover(
  config: Config,
  vitals: Vitals,
  checkpoints: CheckpointSchedule,
  log: Logger,
  { disk, segmentBytes }: Environment,
): Promise<Journal> {
  const fresh = () => {
    vitals.state = newState(config)
    const place = { disk: disk ?? realDisk, dir: config.data }
    vitals.state.text.readPage = (page) => readPageNow(place, page)
    return vitals.state
  }
  const onProgress = startProgress(vitals, log)
  const begun = performance.now()
  const journal = await openJournal({
    dir: config.data,
    disk,
    segmentBytes: segmentBytes ?? config.segmentBytes,
    durability: config.durability,
    from: (storeId) => checkpoints.load(storeId, fresh, onProgress),
    onRecord: (position, row) => apply(vitals.state, position, decode(row)),
    onProgress: (bytes, of) => onProgress('log', bytes, of),
    onNotice: logNotices(log),
  })
  const { state } = vitals
  const recovered = {
    position: journal.position,
    checkpoint: checkpoints.stats.position,
    identities: state.identities.count,
    threads: state.threads.count,
    messages: state.messages.count,
    seconds: Number(((performance.now() - begun) / 1000).toFixed(3)),
  }
  log.info(recovered, 'recovered')
  vitals.journal = journal
  return journal
}

/** The forum on its recovered state. Throws a ConfigError if the secret is not the log's. */
async function openForum(
  journal: Journal,
  vitals: Vitals,
  options: Omit<TextDiskOptions, 'state'> & { config: Config },
): Promise<{ forum: Forum; epoch: string }> {
  const { config, log } = options
  try {
    const epoch = loadEpoch(config.data, journal.storeId)
    const secret = loadSecret(config.data, config.secret)
    const webhookKey = deriveKey(secret, 'webhook')
    const { state } = vitals
    const textDisk = openTextDisk({ ...options, state })
    const forum = makeForum({
      state,
      journal,
      stamps: watchedStamps(vitals, log),
      webhookKey,
      ticketKey: deriveKey(secret, 'ticket'),
      addressKey: deriveKey(secret, 'address'),
      epochBegin: epoch.begin,
      waitingPollsMax: config.nodeLimits.waitingPollsMax,
      textDisk,
      coldReadsLimits: config.nodeLimits.coldReads,
    })
    const { slicedWork, coldReads, waiting } = forum
    Object.assign(vitals, { slicedWork, coldReads, textDisk, waiting })
    if (hasRightKey(forum)) return { forum, epoch: epoch.id }
    throw new ConfigError(
      `AGENT_FORUM_SECRET, or ${config.data}/secret, is not the secret this data was written with`,
    )
  } catch (error) {
    await journal.close()
    throw error
  }
}

/** Answers the polls that wait, and ends the reads that take several iterations. */
async function endReads({ waiting, slicedWork, coldReads }: Forum): Promise<void> {
  await waiting.stop()
  slicedWork.stop()
  coldReads.stop()
}

/** Releases answers and wakeups as the log becomes durable; rejects when the storage fails. */
function watch(journal: Journal, gate: Gate, { waiting }: Forum, wakeups: Wakeups): Promise<never> {
  journal.onDurable = (durable) => {
    gate.open(durable)
    waiting.onDurable(durable)
    wakeups.onDurable(durable)
  }
  const failed = new Promise<never>((_, reject) => {
    journal.onFailed = (error) => {
      gate.fail()
      // Requests that arrived before are answered first: this rejection ends the process.
      setImmediate(() => reject(error))
    }
    if (journal.failure !== null) reject(journal.failure)
  })
  failed.catch(() => {}) // the caller of startNode handles it
  return failed
}
