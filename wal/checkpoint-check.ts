// Reads checkpoints for tools: whether each is whole, without filling anything.

import { manifestNumbers, type Place, readManifest } from './checkpoint-files.ts'
import { BadCheckpoint, verifyPages } from './checkpoint-reader.ts'
import { codeOf, isUnreadable, messageOf, newerError } from './errors.ts'
import { checkpointVersion, type Manifest, manifestName } from './manifest.ts'
import type { Pause } from './pace.ts'

export interface CheckedCheckpoint {
  name: string
  /** Null: it cannot be used. */
  manifest: Manifest | null
  /** Why not. */
  why: string
}

const unpaced: Pause = () => null

/** All of a directory, newest first. Throws JournalError 76 when a newer version wrote one. */
export async function checkCheckpoints(place: Place): Promise<CheckedCheckpoint[]> {
  const checked: CheckedCheckpoint[] = []
  for (const number of manifestNumbers(place)) checked.push(await checkCheckpoint(place, number))
  return checked
}

/** Reads one with every page that it names. */
export async function checkCheckpoint(place: Place, number: number): Promise<CheckedCheckpoint> {
  const name = manifestName(number)
  const read = readManifest(place, number)
  if (read.kind === 'newer') throw newerError(name, read.version, checkpointVersion)
  if (read.kind === 'bad') return { name, manifest: null, why: read.why }
  const { manifest } = read
  try {
    for (const file of manifest.files.keys()) {
      await verifyPages(manifest, file, { ...place, pause: unpaced })
    }
    return { name, manifest, why: '' }
  } catch (error) {
    const isGone = codeOf(error) === 'ENOENT' || isUnreadable(error)
    if (!isGone && !(error instanceof BadCheckpoint)) throw error
    return { name, manifest: null, why: messageOf(error) }
  }
}
