// Reads pages from page files, and rebuilds one that is damaged from parity.

import path from 'node:path'
import { crc32 } from 'node:zlib'
import { readFully } from '../disk.ts'
import { isOfSystem, isUnreadable } from '../errors.ts'
import type { CheckpointDirectory } from './checkpoint-files.ts'
import { type BadPage, type Manifest, pagesName, placeOf } from './manifest.ts'
import type { PagePlace } from './paged-store.ts'
import { openIfThere, readWhole, Sidecars } from './sidecar.ts'

const readLaterBytesMin = 256 * 1024

/** Page files, opened when they are first read. A missing file reads like an empty one. */
export class PageFiles {
  readonly #directory: CheckpointDirectory
  readonly #open = new Map<number, number | null>()

  constructor(directory: CheckpointDirectory) {
    this.#directory = directory
  }

  /** Fills `into`; false if it cannot be filled. Short reads are synchronous, which is faster. */
  read(number: number, offset: number, into: Uint8Array): boolean | Promise<boolean> {
    if (into.length >= readLaterBytesMin) return this.readLater(number, offset, into)
    const file = this.#file(number)
    try {
      return file !== null && readFully(this.#directory.disk, file, into, offset) === into.length
    } catch (error) {
      if (isUnreadable(error)) return false
      throw error
    }
  }

  /** The size of a file, which is not kept open: nothing may be read from many of them. */
  size(number: number): number {
    const { disk, dir } = this.#directory
    const file = openIfThere(disk, path.join(dir, pagesName(number)))
    if (file === null) return 0
    try {
      return disk.size(file)
    } finally {
      disk.close(file)
    }
  }

  async readLater(number: number, offset: number, into: Uint8Array): Promise<boolean> {
    const file = this.#file(number)
    return file !== null && readWhole(this.#directory.disk, file, into, offset)
  }

  #file(number: number): number | null {
    let file = this.#open.get(number)
    if (file === undefined) {
      const { disk, dir } = this.#directory
      file = openIfThere(disk, path.join(dir, pagesName(number)))
      this.#open.set(number, file)
    }
    return file
  }

  close(): void {
    for (const file of this.#open.values()) if (file !== null) this.#directory.disk.close(file)
  }
}

/** Reads one page synchronously; null: it is damaged, or the disk fails. */
export function readPageNow(
  { disk, dir }: CheckpointDirectory,
  { file, offset, bytes, crc }: PagePlace,
): Uint8Array | null {
  const page = Buffer.allocUnsafeSlow(bytes)
  try {
    const opened = disk.open(path.join(dir, pagesName(file)), 'read')
    try {
      return readFully(disk, opened, page, offset) === bytes && crc32(page) === crc ? page : null
    } finally {
      disk.close(opened)
    }
  } catch (error) {
    if (isOfSystem(error)) return null
    throw error
  }
}

/** Reads single pages of a manifest; those that are damaged are rebuilt from parity. */
export class PageSource {
  readonly #files: PageFiles
  readonly #sidecars: Sidecars

  constructor(directory: CheckpointDirectory, manifest: Pick<Manifest, 'storeId' | 'files'>) {
    this.#files = new PageFiles(directory)
    this.#sidecars = new Sidecars(directory, manifest)
  }

  /** Reads a page into `into`, which is as long as the page; resolves to whether that succeeded. */
  async read(page: PagePlace, into: Uint8Array): Promise<boolean> {
    const isRead = await this.#files.readLater(page.file, page.offset, into)
    if (isRead && crc32(into) === page.crc) return true
    const rebuilt = await this.#sidecars.rebuild(page)
    if (rebuilt !== null) into.set(rebuilt.page)
    return rebuilt !== null
  }

  async close(): Promise<void> {
    this.#files.close()
    await this.#sidecars.close()
  }
}

interface RebuiltPage {
  place: BadPage
  /** The page as it was written; null when parity cannot rebuild it. */
  bytes: Buffer | null
}

/** Rebuilds a page of a store; no file is changed. Rejects with errors of the disk. */
export async function rebuildPage(
  directory: CheckpointDirectory,
  manifest: Manifest,
  store: string,
  page: number,
): Promise<RebuiltPage> {
  const place = placeOf(store, manifest.tables.get(store)!, page)
  const sidecars = new Sidecars(directory, manifest)
  try {
    return { place, bytes: (await sidecars.rebuild(place))?.page ?? null }
  } finally {
    await sidecars.close()
  }
}
