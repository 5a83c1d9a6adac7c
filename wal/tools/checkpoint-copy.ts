// Copies the newest whole checkpoint of a running node. Its files never change once they have their
// names, except where damage is repaired; if they are removed meanwhile, the copy fails and the
// caller starts again. Parts that are damaged or cannot be read are rebuilt in the copy.

import path from 'node:path'
import {
  type CheckpointDirectory,
  manifestNumbers,
  readManifest,
} from '../checkpoint/checkpoint-files.ts'
import { type Manifest, manifestName, pagesName, parityName } from '../checkpoint/manifest.ts'
import { blockBytes, pieceBytes } from '../checkpoint/parity.ts'
import { scrubFile } from '../checkpoint/scrub.ts'
import { openIfThere, readWhole } from '../checkpoint/sidecar.ts'
import { syncDirectory, writeAll } from '../disk.ts'
import { checkCheckpoint } from './checkpoint-check.ts'

const unpaced = { pause: () => null, pace: async () => {} }

/** Returns the manifest of the copy at `to`; null when there is no whole checkpoint. */
export async function copyCheckpoint(
  from: CheckpointDirectory,
  to: string,
): Promise<Manifest | null> {
  const { disk } = from
  for (const number of manifestNumbers(from)) {
    const read = readManifest(from, number)
    if (read.kind === 'bad') continue
    const files = read.kind === 'good' ? [...read.manifest.files.keys()] : []
    const names = [...files.map(pagesName), manifestName(number)]
    for (const name of names) await copyFile(from, name, to)
    for (const file of files) {
      const parity = openIfThere(disk, path.join(from.dir, parityName(file)))
      if (parity === null) continue
      disk.close(parity)
      names.push(parityName(file))
      await copyFile(from, parityName(file), to)
    }
    const copy = { disk, dir: to }
    if (read.kind === 'good') {
      for (const file of files) await scrubFile(copy, [read.manifest], file, unpaced)
    }
    const { manifest } = await checkCheckpoint(copy, number)
    if (manifest !== null) return manifest
    for (const name of names) disk.remove(path.join(to, name))
  }
  return null
}

/** Copies a file; parts that cannot be read are filled with zeros. */
async function copyFile(
  { disk, dir }: CheckpointDirectory,
  name: string,
  to: string,
): Promise<void> {
  const source = disk.open(path.join(dir, name), 'read')
  const target = disk.open(path.join(to, name), 'create')
  const buffer = Buffer.alloc(pieceBytes)
  const copy = async (at: number, length: number) => {
    const bytes = buffer.subarray(0, length)
    const isRead = await readWhole(disk, source, bytes, at)
    if (isRead) writeAll(disk, target, bytes, at)
    return isRead
  }
  try {
    const size = disk.size(source)
    for (let at = 0; at < size; at += pieceBytes) {
      const end = Math.min(size, at + pieceBytes)
      if (await copy(at, end - at)) continue
      for (let block = at; block < end; block += blockBytes) {
        await copy(block, Math.min(blockBytes, end - block))
      }
    }
    disk.sync(target)
  } finally {
    disk.close(source)
    disk.close(target)
  }
  syncDirectory(disk, to)
}
