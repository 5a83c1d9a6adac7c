// Runs commands on the forum of a data directory, in this process and without waiting for syncs,
// which is the fastest way to fill it. Checkpoints are taken on the way, so that log and memory
// stay bounded and the first start replays nothing.

import { setImmediate as nextIteration } from 'node:timers/promises'
import { pino } from 'pino'
import { CheckpointSchedule } from '../src/engine/storage/checkpoints.ts'
import { deriveKey, loadSecret } from '../src/engine/storage/node-files.ts'
import { apply } from '../src/forum/apply.ts'
import { type Forum, makeForum } from '../src/forum/forum.ts'
import { decode } from '../src/forum/records.ts'
import { State } from '../src/forum/state.ts'
import { randomSeed, systemStamps } from '../src/kernel/stamp.ts'
import { realDisk } from '../wal/disk.ts'
import { openJournal } from '../wal/journal/journal.ts'

const retentionMs = 24 * 3_600_000
const commandsPerIteration = 512
/** The MiB of log after which a checkpoint is taken. */
const checkpointMb = 1024
/** The text in memory can be bounded, because nothing that was written is read again. */
const textBytesMax = 512 << 20

/** Runs `work`, which must await `pause` after each command, with the number of those done. */
export async function inForum<T>(
  dir: string,
  work: (forum: Forum, pause: (done: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const newState = () => new State({ retentionMs, seed: randomSeed(), textBytesMax, limits: {} })
  let state = newState()
  const settings = { data: dir, checkpointMb, scrubHours: 0, nodeLimits: { textBytesMax } }
  const checkpoints = new CheckpointSchedule(settings, pino({ level: 'silent' }), {
    pause: () => null, // nothing else is to be done meanwhile
  })
  const journal = await openJournal({
    dir,
    durability: { mode: 'none' },
    from: (storeId) =>
      checkpoints.load(
        storeId,
        () => (state = newState()),
        () => {},
      ),
    onRecord: (position, row) => apply(state, position, decode(row)),
  })
  const secret = loadSecret({ disk: realDisk, dir }, undefined)
  const forum = makeForum({
    state,
    journal,
    stamps: systemStamps(),
    webhookKey: deriveKey(secret, 'webhook'),
    ticketKey: deriveKey(secret, 'ticket'),
    addressKey: deriveKey(secret, 'address'),
    sessionKey: deriveKey(secret, 'session'),
  })
  checkpoints.begin(journal, state)
  let bytesAtCheckpoint = 0
  const result = await work(forum, async (done) => {
    if (done % commandsPerIteration !== 0) return
    do await nextIteration()
    while (journal.health === 'overloaded')
    const { bytes } = journal.stats()
    if (bytes - bytesAtCheckpoint < checkpointMb * 2 ** 20) return
    await checkpoints.take()
    bytesAtCheckpoint = bytes
    if (checkpoints.warnings.length > 0) throw new Error(checkpoints.warnings[0])
  })
  await checkpoints.take()
  await checkpoints.stop()
  await journal.close()
  return result
}
