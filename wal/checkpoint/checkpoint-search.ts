// Finds the checkpoints of a directory that a start may use, and refuses the start when it needs
// one and has none. Reads only.

import path from 'node:path'
import { JournalError, newerError } from '../errors.ts'
import { listSegments, positionBefore } from '../journal/segments.ts'
import { type CheckpointDirectory, manifestNumbers, readManifest } from './checkpoint-files.ts'
import { checkpointVersion, type Manifest, manifestName } from './manifest.ts'

/** A manifest that cannot be used, and why. */
export interface BadManifest {
  name: string
  why: string
}

interface Accepted {
  /** The newest form of state that the caller can read. */
  form: number
  /** The id of the log's store; null: there is no log. */
  storeId: string | null
}

/**
 * The manifests that are whole, newest first; their pages are not checked. Throws JournalError 76
 * for a newer format, 77 for one of another store, and what the disk throws.
 */
export function findManifests(
  place: CheckpointDirectory,
  { form, storeId }: Accepted,
): { good: Manifest[]; bad: BadManifest[] } {
  const good: Manifest[] = []
  const bad: BadManifest[] = []
  for (const number of manifestNumbers(place)) {
    const name = manifestName(number)
    const file = path.join(place.dir, name)
    const read = readManifest(place, number)
    if (read.kind === 'newer') throw newerError(file, read.version, checkpointVersion)
    if (read.kind === 'bad') {
      bad.push({ name, why: read.why })
      continue
    }
    const { manifest } = read
    if (manifest.form > form) throw newerError(file, manifest.form, form)
    if (storeId !== null && manifest.storeId !== storeId) {
      const stores = `${manifest.storeId}, and the log of store ${storeId}`
      throw new JournalError(
        77,
        `${file} is of store ${stores}; nothing was changed, move what does not belong here away`,
      )
    }
    good.push(manifest)
  }
  return { good, bad }
}

/**
 * To be called when no checkpoint can be used: throws JournalError 77, which names the damaged
 * ones, unless the log is complete from its first record.
 */
export function refuseWithoutLog(
  { disk, dir }: CheckpointDirectory,
  bad: readonly BadManifest[],
): void {
  const begin = positionBefore(listSegments(disk, dir))
  if (begin === 0) return
  const reasons = bad.map(({ name, why }) => `${name}: ${why}`).join('; ')
  throw new JournalError(
    77,
    `no checkpoint in ${dir} can be used (${reasons}), and positions before ${begin + 1} are ` +
      'missing from the log; nothing was changed, start from a backup, or save what is left with ' +
      `\`agent-forum wal repair --data ${dir} --copy-to DIR2\``,
  )
}
