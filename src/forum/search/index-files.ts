// The files of the index, in a directory of their own: which exist, and whether they are intact.
//
// F1. A file whose content does not match its name is removed, and its shard is built again. Files
//     are checked when the index is opened, once a day, and when somebody has changed them.
// F2. A removal of text is complete once the directory has been synced after it.
// F3. The index leaves room on the disk, because what the forum has to write comes first.
// F4. Only files whose names the index makes are removed, and no directories with content: the
//     directory may be a link, or a folder of somebody else.

import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { codeOf } from '../../../wal/errors.ts'
import { isSystemFile } from '../../base/sockets.ts'
import type { SealedFile } from './message-range.ts'
import { isUnfinished, piecesOf, type SealedName, sealedName } from './shard.ts'

/** At least this much disk space stays free, or a tenth of a smaller disk. */
const freeBytesMin = 1 << 30
const freePartMin = 0.1

export class IndexFiles {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  /** Returns the sealed files. Creates the directory, and removes unfinished files in it. */
  list(): SealedName[] {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 })
    const own = this.#names(true)
    for (const name of own) if (isUnfinished(name)) this.remove(name)
    return own.map(sealedName).filter((parts) => parts !== null)
  }

  /** Returns the name of something that the index has not made, or undefined. */
  foreign(): string | undefined {
    return this.#names(false).find((name) => !isSystemFile(name))
  }

  /** Removes the files of the index, and the directory if nothing else is in it. */
  clear(): void {
    const own = this.#names(true)
    for (const name of own) this.remove(name)
    if (own.length > 0) this.#sync()
    try {
      rmdirSync(this.dir)
    } catch {
      // It does not exist, is a link, or holds what the index has not made.
    }
  }

  /** Returns the names in the directory that are those of files of the index, or all others. */
  #names(areOwn: boolean): string[] {
    try {
      return readdirSync(this.dir, { withFileTypes: true })
        .filter((entry) => {
          const { name } = entry
          return (entry.isFile() && (sealedName(name) !== null || isUnfinished(name))) === areOwn
        })
        .map(({ name }) => name)
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
      throw error
    }
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
    rmSync(this.pathOf(name), { force: true })
  }

  /** Removes a file with text that must not exist anywhere. */
  forget(name: string): void {
    this.remove(name)
    this.#sync()
  }

  #sync(): void {
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
