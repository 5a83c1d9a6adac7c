// Recovers a node: the newest good checkpoint, the log after it, and the forum on that state.

import type { Logger } from 'pino'
import { readPageNow } from '../../wal/checkpoint/page-source.ts'
import { realDisk } from '../../wal/disk.ts'
import { type Journal, type JournalOptions, openJournal } from '../../wal/journal/journal.ts'
import { ConfigError } from '../base/arguments.ts'
import type { Replication } from '../cluster/replication/replication.ts'
import type { Config } from '../config/config.ts'
import {
  type CheckpointSchedule,
  type OnStartProgress,
  startProgress,
} from '../engine/storage/checkpoints.ts'
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
import type { Vitals } from '../operators/ops/vitals.ts'

/** Returns stamps that warn operators when the clock is set, or is behind the log at a start. */
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

/** Returns an empty state with the configured limits; `uses` is as in `StateOptions.for`. */
export function newState(config: Config, uses: StateOptions['for'] = 'commands'): State {
  const retentionMs = config.idempotencyHours * 3_600_000
  const { limits, nodeLimits } = config
  const { textBytesMax } = nodeLimits
  return new State({ retentionMs, seed: randomSeed(), textBytesMax, limits, for: uses })
}

interface RecoveryEnvironment extends Pick<JournalOptions, 'disk' | 'segmentBytes'> {
  stopping?: AbortSignal
  /** Called when the directory is locked, before anything else is created in it. */
  whenLocked?: () => Promise<void>
}

/**
 * Opens the log and folds it, from the newest checkpoint on, into the state of `vitals`. Locks the
 * directory first. Rejects with a JournalError, or with the reason of `stopping`. With
 * `replication`, the log is part of the common history when the promise resolves.
 */
export async function recover(
  config: Config,
  vitals: Vitals,
  checkpoints: CheckpointSchedule,
  log: Logger,
  { disk, segmentBytes, stopping, whenLocked }: RecoveryEnvironment,
  replication: Replication | null = null,
): Promise<Journal> {
  const place = { disk: disk ?? realDisk, dir: config.data }
  const fresh = () => {
    vitals.state = newState(config)
    vitals.state.text.readPage = (page) => readPageNow(place, page)
    return vitals.state
  }
  const note = startProgress(vitals, log)
  const onProgress: OnStartProgress = (...progress) => {
    stopping?.throwIfAborted()
    note(...progress)
  }
  const begun = performance.now()
  refuseForeign(place)
  const opening = openJournal({
    dir: config.data,
    disk,
    segmentBytes: segmentBytes ?? config.segmentBytes,
    durability: config.durability,
    from: async (storeId) => {
      await whenLocked?.()
      const prepared = replication === null ? storeId : await replication.prepare(storeId)
      return checkpoints.load(prepared, fresh, onProgress)
    },
    onRecord: (position, row) => apply(vitals.state, position, decode(row)),
    onProgress: (bytes, of) => onProgress('log', bytes, of),
    onNotice: logNotices(log),
  })
  const journal = await opening.catch((error) => {
    throw withVersion(error, place, withCommit(vitals.version))
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
  await replication?.agree(journal, state.term)
  return journal
}

/** Makes the forum on its recovered state. Throws a ConfigError if the secret is not the log's. */
export async function openForum(
  journal: Journal,
  vitals: Vitals,
  options: Omit<TextDiskOptions, 'dir' | 'text'> & { config: Config },
): Promise<{ forum: Forum; epoch: Epoch }> {
  const { config, log } = options
  try {
    const place = { disk: options.environment.disk ?? realDisk, dir: config.data }
    recordVersion(place, withCommit(vitals.version))
    const epoch = loadEpoch(place, journal.storeId)
    const secret = loadSecret(place, config.secret, () => {
      const { position } = journal
      if (position > 0) log.warn({ position }, 'secret_made') // the records used another secret
    })
    const webhookKey = deriveKey(secret, 'webhook')
    const { state } = vitals
    if (config.replication === null) refuseAlone(state, epoch, config.data)
    const textDisk = openTextDisk({ ...options, dir: config.data, text: state.text })
    const forum = makeForum({
      state,
      journal,
      stamps: watchedStamps(vitals, log),
      webhookKey,
      ticketKey: deriveKey(secret, 'ticket'),
      addressKey: deriveKey(secret, 'address'),
      sessionKey: deriveKey(secret, 'session'),
      epochBegin: epoch.begin,
      waitingPollsMax: config.nodeLimits.waitingPollsMax,
      guessesMax: config.guessesMax,
      textDisk,
      coldReadsLimits: config.nodeLimits.coldReads,
    })
    const { slicedWork, coldReads, pageMaking, waiting, guesses } = forum
    Object.assign(vitals, { slicedWork, coldReads, pageMaking, textDisk, waiting, guesses })
    if (hasRightKey(forum)) return { forum, epoch }
    throw new ConfigError(
      `AGENT_FORUM_SECRET, or ${config.data}/secret, is not the secret this data was written with`,
    )
  } catch (error) {
    await journal.close()
    throw error
  }
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
