// The states to be compared: the state that a node recovers from its disk, and the fold of the raw
// stream.

import { Unpackr } from 'msgpackr'
import type { Logger } from 'pino'
import type { StreamMessage } from '../../../src/cluster/replication/log-stream.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { CheckpointSchedule } from '../../../src/engine/storage/checkpoints.ts'
import { apply } from '../../../src/forum/apply.ts'
import { decode } from '../../../src/forum/records.ts'
import { State } from '../../../src/forum/state.ts'
import { recover } from '../../../src/node/recovery.ts'
import type { Disk } from '../../../wal/disk.ts'
import { eachEncoded } from '../../../wal/journal/format.ts'
import { keySeedOf } from '../../forum/contents.ts'

const usual = parseConfig([], {})
const silent = { info() {}, warn() {}, error() {} } as unknown as Logger

/** Returns the state with which a node would start: its newest checkpoint and the log after it. */
export async function recoveredState(data: string, disk: Disk): Promise<State> {
  const config = { ...usual, data }
  const checkpoints = new CheckpointSchedule(config, silent, { disk })
  const environment = { disk, segmentBytes: 1024 * 1024 }
  const whenLocked = async (storeId: string | null) => ({ storeId })
  const log = silent
  const { state } = await recover({
    ...{ config, version: '1', checkpoints, log, environment, whenLocked },
  })
  return state
}

/**
 * Returns the fold of the messages of a stream, up to the position of `like`, with the same hashes
 * of keys.
 */
export function foldOf(messages: readonly StreamMessage[], like: State): State {
  const retentionMs = usual.idempotencyHours * 3_600_000
  const state = new State({ retentionMs, seed: keySeedOf(like), limits: usual.limits })
  const unpackr = new Unpackr({ useRecords: false, copyBuffers: true, int64AsType: 'number' })
  for (const { first, last, bytes } of messages) {
    let position = first
    eachEncoded(bytes, last - first + 1, (start, end) => {
      const at = position++
      if (at > like.position) return
      apply(state, at, decode(unpackr.unpack(bytes as Buffer, { start, end })))
    })
  }
  return state
}

/** Returns the hashes of a state without those that depend on how it hashes keys. */
export function withoutKeys(hashes: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(hashes).filter(([name]) => !name.includes('receipts')))
}
