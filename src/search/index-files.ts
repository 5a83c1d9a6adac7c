// The files of the index, in a directory of their own: which there are, and whether they are whole.
//
// F1. A file whose content is not what its name says is removed, and its shard built again. That is
//     found out when the index is opened, once a day, and when the file was changed by somebody.
// F2. A removal of text is complete when the directory is synced behind it.
// F3. The index leaves room on the disk: what the forum has to write comes first.

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { piecesOf, type SealedName, sealedName } from './shard.ts'
import type { SealedFile } from './slot.ts'

/** At least so much stays free, or a tenth of a smaller disk. */
const freeBytesMin = 1 << 30
const freePartMin = 0.1

export class IndexFiles {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  /** The sealed files. Makes the directory, and removes everything else in it. */
  list(): SealedName[] {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 })
    const sealed: SealedName[] = []
    for (const name of readdirSync(this.dir)) {
      const parts = sealedName(name)
      if (parts !== null) sealed.push(parts)
      else this.remove(name)
    }
    return sealed
  }

  pathOf(name: string): string {
    return path.join(this.dir, name)
  }

  /** The file as one whose content is not checked yet. Throws when it is not there. */
  sealed({ name, crc }: Pick<SealedName, 'name' | 'crc'>): SealedFile {
    const { size } = statSync(this.pathOf(name))
    return { name, crc, bytes: size, stamp: this.#stampOf(name), isChecked: false }
  }

  remove(name: string): void {
    rmSync(this.pathOf(name), { recursive: true, force: true })
  }

  /** Removes a file that has text which is to be nowhere. */
  forget(name: string): void {
    this.remove(name)
    const directory = openSync(this.dir, 'r')
    try {
      fsyncSync(directory)
    } finally {
      closeSync(directory)
    }
  }

  /** Throws when there is no room for more. */
  needRoom(): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 })
    const { bavail, blocks, bsize } = statfsSync(this.dir)
    const min = Math.min(freeBytesMin, blocks * bsize * freePartMin)
    if (bavail * bsize < min) throw new Error('the disk is nearly full')
  }

  /** Whether the file is as it was; one that somebody has changed is to be checked again. */
  watch(file: SealedFile): boolean {
    try {
      const stamp = this.#stampOf(file.name)
      if (stamp !== file.stamp) file.isChecked = false
      file.stamp = stamp
      return true
    } catch {
      return false
    }
  }

  /** Compares the content with the CRC, a piece at each step. Returns whether it is right. */
  *check(file: SealedFile): Generator<void, boolean> {
    let crc = 0
    try {
      for (const piece of piecesOf(this.pathOf(file.name))) {
        crc = crc32(piece, crc)
        yield
      }
    } catch {
      return false
    }
    file.isChecked = crc === file.crc
    return file.isChecked
  }

  #stampOf(name: string): string {
    const { size, mtimeNs, ino } = statSync(this.pathOf(name), { bigint: true })
    return `${size} ${mtimeNs} ${ino}`
  }
}
