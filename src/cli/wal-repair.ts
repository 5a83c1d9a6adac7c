// agent-forum wal repair: makes a damaged data directory start again, after a full copy of it.
// wal/tools/repair.ts decides what is kept.
//
// Data that is in neither the log nor an undamaged checkpoint is lost, unless a backup has it.
//
// R1. Nothing is changed before the copy is synced and compared.
// R2. A loss is reported by its positions, and begins a new epoch.

import { mkdirSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { scrubFile } from '../../wal/checkpoint/scrub.ts'
import { realDisk } from '../../wal/disk.ts'
import { codeOf, JournalError, storageError } from '../../wal/errors.ts'
import { lockDirectory } from '../../wal/journal/lock.ts'
import { checkCheckpoints } from '../../wal/tools/checkpoint-check.ts'
import { applyRepair, planRepair, type RepairPlan } from '../../wal/tools/repair.ts'
import { copyWhole } from '../../wal/tools/whole-copy.ts'
import { ConfigError } from '../base/arguments.ts'
import { beginEpochAt } from '../engine/storage/node-files.ts'
import { withBar } from './progress-bar.ts'
import { readLog } from './wal-check.ts'

const disk = realDisk

/** Returns the exit code. Throws a ConfigError or JournalError if nothing could be done. */
export async function repairLog(
  data: string,
  copyTo: string | undefined,
  json: boolean,
): Promise<number> {
  if (copyTo === undefined) throw new ConfigError('wal repair needs --copy-to DIR2')
  const to = resolve(copyTo)
  if (to === resolve(data)) throw new ConfigError('--copy-to takes another directory than --data')
  const { error } = await withBar('read', (at) => readLog(data, { onProgress: at }))
  if (error === null) {
    if (json) return say(JSON.stringify({ data, copy: null, position: null, lost: [] }))
    return say(`${data} is whole: there is nothing to repair, and nothing was done`)
  }
  if (error.exitCode !== 77) throw error
  const unlock = await lockDirectory(disk, data)
  try {
    const repaired = await repair(data, to, error)
    return say(
      json ? JSON.stringify({ data, copy: to, ...repaired }) : describe(data, to, repaired),
    )
  } catch (thrown) {
    throw thrown instanceof ConfigError ? thrown : storageError(`repair ${data}`, thrown)
  } finally {
    unlock()
  }
}

interface Repaired {
  /** The position at which the log now ends. */
  position: number
  /** One sentence, which names the positions that are lost, or says that nothing is lost. */
  lost: string[]
}

function describe(data: string, to: string, { position, lost }: Repaired): string {
  const outcome = `${data} ends at position ${position} now and can be started`
  return [`${to} holds ${data} as it was; ${outcome}`, ...lost].join('\n')
}

async function repair(dir: string, to: string, error: JournalError): Promise<Repaired> {
  const checked = await checkCheckpoints({ disk, dir })
  const checkpoints = checked.flatMap(({ manifest }) => (manifest === null ? [] : [manifest]))
  const plan = await withBar('plan', async (onProgress) =>
    planRepair({ disk, dir, checkpoints, onProgress }),
  )
  if (plan === null) {
    throw new JournalError(77, `${error.finding}; nothing of it can be saved, restore a backup`)
  }
  makeEmpty(to)
  await withBar('copy', async (onProgress) => copyWhole({ disk, dir }, to, onProgress))
  // First, so that an interrupted repair can be run again, and no position is used twice.
  if (plan.known > plan.position) beginEpochAt({ disk, dir }, plan.position)
  applyRepair({ disk, dir, checkpoints: checked }, plan)
  await repairPages(dir)
  return { position: plan.position, lost: [describeLoss(plan)] }
}

/** Repairs what parity can rebuild, as a start and a scrub would. */
async function repairPages(dir: string): Promise<void> {
  const unpaced = { pause: () => null, pace: async () => {} }
  for (const { manifest } of await checkCheckpoints({ disk, dir })) {
    for (const file of manifest?.files.keys() ?? []) {
      await scrubFile({ disk, dir }, [manifest!], file, unpaced)
    }
  }
}

function describeLoss({ position, known, start, chain }: RepairPlan): string {
  if (known > position) {
    const what = 'the readable ones are in the copy'
    return `lost: positions ${position + 1} to ${known}; ${what}`
  }
  if (start === 0) return 'lost: nothing, as far as the log shows'
  const first = chain[0]?.first ?? position + 1
  return `lost: nothing; what came before position ${first} is in the checkpoint at ${start}`
}

function makeEmpty(to: string): void {
  try {
    mkdirSync(to, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || readdirSync(to).length > 0) {
      throw new ConfigError(`--copy-to takes a new directory: ${(error as Error).message}`)
    }
  }
}

function say(sentence: string): number {
  process.stdout.write(`${sentence}\n`)
  return 0
}
