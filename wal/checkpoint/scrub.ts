// Scrubs a page file: reads all of it and its parity, and repairs bit rot long before a start needs
// the file.
//
//   file and parity agree ──▶ good
//   they do not ──▶ each page is compared with its crc in the manifests
//                     damaged, and parity can rebuild it ──▶ its blocks are written in place
//                     damaged beyond that ──▶ lost here: the next checkpoint saves it from memory
//               ──▶ the parity is written again, unless something is lost
//   the device cannot read or write a part of the file ──▶ its pages are moved to other files
//
// S1. Bytes written in place have the crc that the manifest has for them (parity.ts, P3). They were
//     damaged before, so a crash during the write makes nothing worse.
// S2. New parity is made only when every page is good, and replaces the old file by renaming: a
//     crash leaves one or the other. Page files that were written before parity existed also get
//     theirs this way.

import path from 'node:path'
import type { Pause } from '../../src/base/pauses.ts'
import { removeLater, replaceFileLater, settled, writeAllLater } from '../disk.ts'
import { codeOf, isUnreadable } from '../errors.ts'
import { type CheckpointDirectory, ifPossible } from './checkpoint-files.ts'
import { verifyPages } from './checkpoint-reader.ts'
import { type BadPage, type Manifest, pagesName, parityName } from './manifest.ts'
import { type PageFile, ParityBuilder, parityFileBytes, pieceBytes } from './parity.ts'
import { openIfThere, type Rebuilt, readWhole, Sidecars } from './sidecar.ts'

interface ScrubOptions {
  pause: Pause
  /** Called with the number of bytes just read; the scrub continues when it resolves. */
  pace: (bytes: number) => Promise<void>
}

export interface Scrubbed {
  /** Pages that were rebuilt and written in place. */
  mended: BadPage[]
  /** Pages that parity could not rebuild, and that the next checkpoint should rewrite. */
  lost: BadPage[]
  /**
   * Whether the pages of the file should be moved, because the device cannot write a page in place,
   * or cannot read a part of the file that no page uses, so that the file can have no parity. Pages
   * may be lost as well.
   */
  isWorn: boolean
  /** Whether the parity was missing or did not match the file, and has been written again. */
  newParity: boolean
}

/**
 * Scrubs page file `number`, which all of `manifests`, newest first, name. Rejects with errors of
 * the disk and of `pace`; the scrub may then be started again.
 */
export async function scrubFile(
  directory: CheckpointDirectory,
  manifests: readonly Manifest[],
  number: number,
  options: ScrubOptions,
): Promise<Scrubbed> {
  const { storeId, files } = manifests[0]
  const file = { storeId, number, bytes: files.get(number)! }
  const result: Scrubbed = { mended: [], lost: [], isWorn: false, newParity: false }
  if (await parityFits(directory, file, options)) return result
  for (const manifest of manifests) await mend(directory, manifest, number, result, options)
  if (result.lost.length > 0 || result.isWorn) return result
  if (await parityFits(directory, file, options)) return result
  result.newParity = await makeParity(directory, file, options)
  result.isWorn = !result.newParity
  return result
}

async function mend(
  directory: CheckpointDirectory,
  manifest: Manifest,
  number: number,
  result: Scrubbed,
  { pause }: ScrubOptions,
): Promise<void> {
  const sidecars = new Sidecars(directory, manifest)
  const { mended, lost } = result
  try {
    for (const page of await verifyPages(manifest, number, { ...directory, pause })) {
      const rebuilt = await sidecars.rebuild(page)
      if (rebuilt === null) {
        if (!lost.some(({ offset }) => offset === page.offset)) lost.push(page)
      } else if (await writeInPlace(directory, number, rebuilt)) mended.push(page)
      else result.isWorn = true
    }
  } finally {
    await sidecars.close()
  }
}

/** False when the file is missing, or the device cannot write it. */
async function writeInPlace(
  { disk, dir }: CheckpointDirectory,
  number: number,
  { at, bytes }: Rebuilt,
): Promise<boolean> {
  try {
    const file = disk.open(path.join(dir, pagesName(number)), 'write')
    try {
      await writeAllLater(disk, file, bytes, at)
      await settled((done) => disk.syncLater(file, done))
    } finally {
      disk.close(file)
    }
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || isUnreadable(error)) return false
    throw error
  }
}

/** Whether there is parity, and it matches the file exactly. */
async function parityFits(
  directory: CheckpointDirectory,
  file: PageFile,
  options: ScrubOptions,
): Promise<boolean> {
  const { disk, dir } = directory
  const parity = openIfThere(disk, path.join(dir, parityName(file.number)))
  if (parity === null) return false
  try {
    if (disk.size(parity) !== parityFileBytes(file.bytes)) return false
    let fits = true
    const compare = async (expected: Buffer, at: number) => {
      const bytes = Buffer.allocUnsafe(expected.length)
      fits &&= (await readWhole(disk, parity, bytes, at)) && bytes.equals(expected)
    }
    return (await buildParity(directory, file, compare, options)) && fits
  } finally {
    disk.close(parity)
  }
}

/** False when a part of the file cannot be read. */
async function makeParity(
  directory: CheckpointDirectory,
  file: PageFile,
  options: ScrubOptions,
): Promise<boolean> {
  const { disk, dir } = directory
  const target = path.join(dir, parityName(file.number))
  try {
    await replaceFileLater(disk, target, async (parity) => {
      const write = (bytes: Buffer, at: number) => writeAllLater(disk, parity, bytes, at)
      if (!(await buildParity(directory, file, write, options))) throw new Unreadable()
    })
    return true
  } catch (error) {
    await ifPossible(removeLater(disk, `${target}.tmp`))
    if (error instanceof Unreadable) return false
    throw error
  }
}

class Unreadable extends Error {}

/** False when a part of the file cannot be read. */
async function buildParity(
  { disk, dir }: CheckpointDirectory,
  file: PageFile,
  write: (bytes: Buffer, at: number) => Promise<void>,
  { pause, pace }: ScrubOptions,
): Promise<boolean> {
  const pages = openIfThere(disk, path.join(dir, pagesName(file.number)))
  if (pages === null) return false
  const parity = new ParityBuilder(file, write, pause)
  const piece = Buffer.allocUnsafeSlow(pieceBytes)
  try {
    if (disk.size(pages) < file.bytes) return false
    for (let at = 0; at < file.bytes; at += pieceBytes) {
      const length = Math.min(pieceBytes, file.bytes - at)
      if (!(await readWhole(disk, pages, piece.subarray(0, length), at))) return false
      await parity.add(piece, length)
      await pace(length)
    }
    await parity.finish()
    return true
  } finally {
    parity.wipe()
    piece.fill(0)
    disk.close(pages)
  }
}
