// Recovers a node: the newest good checkpoint, the log after it, and the forum on that state.

import type { Logger } from 'pino'
import { readPageNow } from '../../wal/checkpoint/page-source.ts'
import { realDisk } from '../../wal/disk.ts'
import { type Journal, type JournalOptions, openJournal } from '../../wal/journal/journal.ts'
import { ConfigError } from '../base/arguments.ts'
import type { Config } from '../config/config.ts'
import type { CheckpointSchedule, OnStartProgress } from '../engine/storage/checkpoints.ts'
import {
  deriveKey,
  type Epoch,
  loadEpoch,
  loadSecret,
  recordVersion,
  refuseForeign,
  withVersion,
} from '../engine/storage/node-files.ts'
import { apply } from '../forum/apply.ts'
import { type Forum, makeForum } from '../forum/forum.ts'
import { decode } from '../forum/records.ts'
import { State, type StateOptions } from '../forum/state.ts'
import { hasRightKey } from '../forum/webhooks/commands.ts'
import { notableMs } from '../kernel/clock.ts'
import { randomSeed, type Stamps, systemStamps } from '../kernel/stamp.ts'
import { openTextDisk, type TextDiskOptions } from '../kernel/text/disk.ts'
import { withCommit } from '../operators/ops/commit.ts'
import { logNotices } from '../operators/ops/log.ts'
import type { ClockStats, TextDiskStats } from '../operators/ops/vitals.ts'

/** Returns stamps that warn operators when the clock is set, or is behind the log at a start. */
function watchedStamps(state: State, log: Logger): { stamps: Stamps; clock: ClockStats } {
  const stamps = systemStamps((ms) => {
    if (ms < 0) clock.stepsBack += 1
    else clock.stepsAhead += 1
    log.warn({ ms: Math.abs(ms) }, ms < 0 ? 'clock_stepped_back' : 'clock_stepped_ahead')
  })
  const behindMs = () => stamps.clock.behindMs(state.now)
  const warnings = () => stamps.clock.warnings(state.now)
  const clock = { stepsBack: 0, stepsAhead: 0, behindMs, warnings }
  const ms = behindMs()
  if (ms >= notableMs) log.warn({ ms }, 'clock_behind')
  return { stamps, clock }
}

/** Returns an empty state with the configured limits; `uses` is as in `StateOptions.for`. */
export function newState(config: Config, uses: StateOptions['for'] = 'commands'): State {
  const retentionMs = config.idempotencyHours * 3_600_000
  const { limits, nodeLimits } = config
  const { textBytesMax } = nodeLimits
  return new State({ retentionMs, seed: randomSeed(), textBytesMax, limits, for: uses })
}

interface RecoveryOptions<Locked> {
  config: Config
  version: string
  checkpoints: CheckpointSchedule
  log: Logger
  environment: Pick<JournalOptions, 'disk' | 'segmentBytes'> & { stopping?: AbortSignal }
  /**
   * Called with the id of the store, or null when there is no log yet, when the directory is
   * locked, before anything else is created in it. Resolves to the id that the log has to have.
   */
  whenLocked: (storeId: string | null) => Promise<Locked>
  /** Called with each state that a checkpoint and the log are read into; the last one counts. */
  onState?: (state: State) => void
  onProgress?: OnStartProgress
}

/**
 * Opens the log and folds it, from the newest checkpoint on, into a state. Locks the directory
 * first. Resolves to both, and to what `whenLocked` made. Rejects with a JournalError, or with the
 * reason of `stopping`.
 */
export async function recover<Locked extends { storeId: string | null }>(
  options: RecoveryOptions<Locked>,
): Promise<{ journal: Journal; state: State; locked: Locked }> {
  const { config, version, checkpoints, log, environment, whenLocked, onState } = options
  const { disk, segmentBytes, stopping } = environment
  const directory = { disk: disk ?? realDisk, dir: config.data }
  let state: State
  let locked: Locked
  const fresh = () => {
    state = newState(config)
    state.text.readPage = (page) => readPageNow(directory, page)
    onState?.(state)
    return state
  }
  const onProgress: OnStartProgress = (...progress) => {
    stopping?.throwIfAborted()
    options.onProgress?.(...progress)
  }
  const begun = performance.now()
  refuseForeign(directory)
  const opening = openJournal({
    dir: config.data,
    disk,
    segmentBytes: segmentBytes ?? config.segmentBytes,
    durability: config.durability,
    from: async (storeId) => {
      locked = await whenLocked(storeId)
      return checkpoints.load(locked.storeId, fresh, onProgress)
    },
    onRecord: (position, row) => apply(state, position, decode(row)),
    onProgress: (bytes, of) => onProgress('log', bytes, of),
    onNotice: logNotices(log),
  })
  const journal = await opening.catch((error) => {
    throw withVersion(error, directory, withCommit(version))
  })
  const { identities, threads, messages } = state!
  const recovered = {
    position: journal.position,
    checkpoint: checkpoints.stats.position,
    identities: identities.count,
    threads: threads.count,
    messages: messages.count,
    seconds: Number(((performance.now() - begun) / 1000).toFixed(3)),
  }
  log.info(recovered, 'recovered')
  return { journal, state: state!, locked: locked! }
}

export interface OpenedForum {
  forum: Forum
  epoch: Epoch
  textDisk: TextDiskStats
  clock: ClockStats
}

/** Makes the forum on its recovered state. Throws a ConfigError if the secret is not the log's. */
export function openForum(
  { journal, state }: { journal: Journal; state: State },
  options: Omit<TextDiskOptions, 'dir' | 'text'> & { config: Config; version: string },
): OpenedForum {
  const { config, version, log } = options
  const directory = { disk: options.environment.disk ?? realDisk, dir: config.data }
  recordVersion(directory, withCommit(version))
  const epoch = loadEpoch(directory, journal.storeId)
  const secret = loadSecret(directory, config.secret, () => {
    const { position } = journal
    if (position > 0) log.warn({ position }, 'secret_made') // the records used another secret
  })
  if (config.replication === null) refuseAlone(state, epoch, config.data)
  const textDisk = openTextDisk({ ...options, dir: config.data, text: state.text })
  const { stamps, clock } = watchedStamps(state, log)
  const forum = makeForum({
    state,
    journal,
    stamps,
    webhookKey: deriveKey(secret, 'webhook'),
    ticketKey: deriveKey(secret, 'ticket'),
    addressKey: deriveKey(secret, 'address'),
    sessionKey: deriveKey(secret, 'session'),
    epochBegin: epoch.begin,
    waitingLimits: config.nodeLimits.waiting,
    guessesMax: config.guessesMax,
    retentionDays: config.retentionDays,
    textDisk,
    coldReadsLimits: config.nodeLimits.coldReads,
  })
  if (hasRightKey(forum)) return { forum, epoch, textDisk, clock }
  throw new ConfigError(
    `AGENT_FORUM_SECRET, or ${config.data}/secret, is not the secret this data was written with`,
  )
}

/**
 * Throws a ConfigError if other nodes share the log: records that only this node had would be taken
 * for those of the others. A backup is another history, because it begins an epoch.
 */
function refuseAlone({ term }: State, { begin }: Epoch, data: string): void {
  if (term.number === 0 || (begin !== null && begin >= term.began)) return
  throw new ConfigError(
    `${data} is a part of a replicated log; start it with --replicate or --follow, or start a ` +
      'backup of it, which is a history of its own',
  )
}
