// The files of the index, in a directory of their own: which exist, and whether they are intact.
//
// F1. A file whose content does not match its name is removed, and its shard is built again. Files
//     are checked when the index is opened, once a day, and when somebody has changed them.
// F2. A removal of text is complete once the directory has been synced after it.
// F3. The index leaves room on the disk, because what the forum has to write comes first.

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

/** At least this much disk space stays free, or a tenth of a smaller disk. */
const freeBytesMin = 1 << 30
const freePartMin = 0.1

export class IndexFiles {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  /** Returns the sealed files. Creates the directory, and removes everything else in it. */
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

  /** Returns a file whose content is not checked yet. Throws if it does not exist. */
  sealed({ name, crc }: Pick<SealedName, 'name' | 'crc'>): SealedFile {
    const { size } = statSync(this.pathOf(name))
    return { name, crc, bytes: size, stamp: this.#stampOf(name), isChecked: false }
  }

  remove(name: string): void {
    rmSync(this.pathOf(name), { recursive: true, force: true })
  }

  /** Removes a file with text that must not exist anywhere. */
  forget(name: string): void {
    this.remove(name)
    const directory = openSync(this.dir, 'r')
    try {
      fsyncSync(directory)
    } finally {
      closeSync(directory)
    }
  }

  /** Throws if there is no room for more. */
  needRoom(): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 })
    const { bavail, blocks, bsize } = statfsSync(this.dir)
    const min = Math.min(freeBytesMin, blocks * bsize * freePartMin)
    if (bavail * bsize < min) throw new Error('the disk is nearly full')
  }

  /** Returns whether the file exists. If somebody has changed it, it will be checked again. */
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

  /** Compares the content with the CRC, one piece in each step. Returns whether they match. */
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
