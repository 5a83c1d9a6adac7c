// Copies the newest whole checkpoint of a running node: its files never change once they have their
// names, and when they are removed meanwhile the copy fails, and the caller begins again.

import path from 'node:path'
import { checkCheckpoint } from './checkpoint-check.ts'
import { manifestNumbers, type Place, readManifest } from './checkpoint-files.ts'
import { syncDirectory } from './disk.ts'
import { type Manifest, manifestName, pagesName } from './manifest.ts'
import { copyRange } from './segments.ts'

/** Returns the manifest of the copy at `to`; null when there is no whole checkpoint. */
export async function copyCheckpoint(from: Place, to: string): Promise<Manifest | null> {
  const { disk } = from
  for (const number of manifestNumbers(from)) {
    const read = readManifest(from, number)
    if (read.kind === 'bad') continue
    const files = read.kind === 'good' ? [...read.manifest.files.keys()] : []
    const names = [...files.map(pagesName), manifestName(number)]
    for (const name of names) copyFile(from, name, to)
    const { manifest } = await checkCheckpoint({ disk, dir: to }, number)
    if (manifest !== null) return manifest
    for (const name of names) disk.remove(path.join(to, name))
  }
  return null
}

function copyFile({ disk, dir }: Place, name: string, to: string): void {
  const source = disk.open(path.join(dir, name), 'read')
  const target = disk.open(path.join(to, name), 'create')
  try {
    copyRange(disk, source, target, { from: 0, to: disk.size(source), at: 0 })
    disk.sync(target)
  } finally {
    disk.close(source)
    disk.close(target)
  }
  syncDirectory(disk, to)
}
