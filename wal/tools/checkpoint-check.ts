// Checks for tools whether checkpoints are whole, without loading them.

import type { Pause } from '../../src/base/pauses.ts'
import {
  type CheckpointDirectory,
  manifestNumbers,
  readManifest,
} from '../checkpoint/checkpoint-files.ts'
import { BadCheckpoint, verifyPages } from '../checkpoint/checkpoint-reader.ts'
import {
  type BadPage,
  beyondParity,
  checkpointVersion,
  type Manifest,
  manifestName,
  parityName,
} from '../checkpoint/manifest.ts'
import { Sidecars } from '../checkpoint/sidecar.ts'
import { versionError } from '../errors.ts'

export interface CheckedCheckpoint {
  name: string
  /** Null when the checkpoint cannot be used. */
  manifest: Manifest | null
  /** Why it cannot be used. */
  why: string
  /** Damaged pages that a start would rebuild from parity. */
  rebuilt: BadPage[]
  /** Names of damaged parity files, which do not prevent a start. */
  badParity: string[]
}

const unpaced: Pause = () => null

/**
 * Checks all checkpoints of a directory, newest first. Throws JournalError 76 for one of another
 * format.
 */
export async function checkCheckpoints(
  directory: CheckpointDirectory,
): Promise<CheckedCheckpoint[]> {
  const checked: CheckedCheckpoint[] = []
  for (const number of manifestNumbers(directory))
    checked.push(await checkCheckpoint(directory, number))
  return checked
}

/** Checks a checkpoint by reading every page that it names. */
export async function checkCheckpoint(
  directory: CheckpointDirectory,
  number: number,
): Promise<CheckedCheckpoint> {
  const name = manifestName(number)
  const read = readManifest(directory, number)
  if (read.kind === 'other') throw versionError(name, read.version, checkpointVersion)
  const rebuilt: BadPage[] = []
  const badParity: string[] = []
  const found = { name, rebuilt, badParity }
  const bad = (why: string): CheckedCheckpoint => ({ ...found, manifest: null, why })
  if (read.kind === 'bad') return bad(read.why)
  const { manifest } = read
  const sidecars = new Sidecars(directory, manifest)
  const lost: BadPage[] = []
  try {
    for (const file of manifest.files.keys()) {
      for (const page of await verifyPages(manifest, file, { ...directory, pause: unpaced })) {
        const list = (await sidecars.rebuild(page)) === null ? lost : rebuilt
        list.push(page)
      }
      if (await sidecars.isDamaged(file)) badParity.push(parityName(file))
    }
  } catch (error) {
    if (error instanceof BadCheckpoint) return bad(error.message)
    throw error
  } finally {
    await sidecars.close()
  }
  if (lost.length === 0) return { ...found, manifest, why: '' }
  return bad(beyondParity(lost))
}
