// Reads checkpoints for tools: whether each is whole, without filling anything.

import { manifestNumbers, type Place, readManifest } from '../checkpoint/checkpoint-files.ts'
import {
  BadCheckpoint,
  type BadPage,
  beyondParity,
  verifyPages,
} from '../checkpoint/checkpoint-reader.ts'
import {
  checkpointVersion,
  type Manifest,
  manifestName,
  parityName,
} from '../checkpoint/manifest.ts'
import { Sidecars } from '../checkpoint/sidecar.ts'
import { newerError } from '../errors.ts'
import type { Pause } from '../pace.ts'

export interface CheckedCheckpoint {
  name: string
  /** Null: it cannot be used. */
  manifest: Manifest | null
  /** Why not. */
  why: string
  /** Pages that are damaged, and that a start would rebuild from parity. */
  rebuilt: BadPage[]
  /** Its manifest, when that is good and pages are damaged beyond what parity can rebuild. */
  damaged: Manifest | null
  /** Names of parity files that are damaged, which costs nothing yet. */
  badParity: string[]
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
  const rebuilt: BadPage[] = []
  const badParity: string[] = []
  const found = { name, rebuilt, badParity, damaged: null }
  const bad = (why: string): CheckedCheckpoint => ({ ...found, manifest: null, why })
  if (read.kind === 'bad') return bad(read.why)
  const { manifest } = read
  const sidecars = new Sidecars(place, manifest)
  const lost: BadPage[] = []
  try {
    for (const file of manifest.files.keys()) {
      for (const page of await verifyPages(manifest, file, { ...place, pause: unpaced })) {
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
  return { ...bad(beyondParity(lost)), damaged: manifest }
}
