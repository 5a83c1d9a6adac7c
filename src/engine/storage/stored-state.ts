// Reads the state of a data directory that no node has open, and changes nothing in it: the newest
// good checkpoint, and the log after it. Text that the checkpoint has stays on disk.

import { existsSync } from 'node:fs'
import { Checkpoints } from '../../../wal/checkpoint/checkpoints.ts'
import { readPageNow } from '../../../wal/checkpoint/page-source.ts'
import { realDisk } from '../../../wal/disk.ts'
import { JournalError, storageError } from '../../../wal/errors.ts'
import { refuseIfInUse } from '../../../wal/journal/lock.ts'
import { scanLog } from '../../../wal/journal/scan.ts'
import { listSegments, storeIdOf } from '../../../wal/journal/segments.ts'
import { ConfigError } from '../../base/arguments.ts'
import { apply } from '../../forum/apply.ts'
import { decode } from '../../forum/records.ts'
import { State } from '../../forum/state.ts'
import { checkpointTarget, stateVersion } from '../../kernel/saved.ts'
import { pageBytes, unitBytes } from '../../kernel/text/page-slots.ts'
import type { Text } from '../../kernel/text/text.ts'

/** The limit of text that is held, unless no checkpoint has saved it. */
export const textBytesMax = 64 << 20
/** The number of pages of 1 MiB that are kept after they were read. */
const pagesMax = 16

/**
 * Resolves to the state. Rejects with a ConfigError if there is no log in `dir`, otherwise with a
 * JournalError (75 if a process has the directory open). `onProgress` receives bytes.
 */
export async function readState(
  dir: string,
  onProgress: (done: number, total: number) => void,
): Promise<State> {
  const fresh = () => new State({ retentionMs: 0, seed: 0, textBytesMax, for: 'reads' })
  let state = fresh()
  const directory = { disk: realDisk, dir }
  try {
    await refuseUsed(dir)
    const files = listSegments(realDisk, dir)
    if (files.length === 0) throw new ConfigError(`there is no log in ${dir}`)
    const checkpoints = new Checkpoints({ ...directory, stateVersion, onNotice: () => {} })
    const target = () => {
      state = fresh()
      return checkpointTarget(state)
    }
    const from = await checkpoints.load(storeIdOf(files), target, onProgress)
    const onRecord = (position: number, row: unknown) => apply(state, position, decode(row))
    state.text.readPage = (page) => readPageNow(directory, page)
    await scanLog({ ...directory, from, onRecord, onProgress, files })
    return state
  } catch (error) {
    throw error instanceof ConfigError ? error : storageError(`read ${dir}`, error)
  }
}

/** Rejects with JournalError 75 if a process has the directory open, which need not exist. */
export async function refuseUsed(dir: string): Promise<void> {
  if (existsSync(dir)) await refuseIfInUse(realDisk, dir)
}

/** Reads entries of a text whose older pages are in the page files of `dir`. */
export class StoredText {
  readonly #dir: string
  readonly #text: Text
  /** The pages that were read, the least recently used first. */
  readonly #pages = new Map<number, Uint8Array>()

  constructor(dir: string, text: Text) {
    this.#dir = dir
    this.#text = text
  }

  /** Returns the text of an entry. Throws JournalError 77 if its page is damaged. */
  entry(address: number, bytes: number): string {
    const [begin, end] = [address * unitBytes, address * unitBytes + bytes]
    const [first, last] = [Math.floor(begin / pageBytes), Math.floor((end - 1) / pageBytes)]
    if (first === last) return this.#piece(first, begin, end).toString()
    const middle = last * pageBytes
    return Buffer.concat([
      this.#piece(first, begin, middle),
      this.#piece(last, middle, end),
    ]).toString()
  }

  #piece(page: number, begin: number, end: number): Buffer {
    const content = this.#text.holds(page) ? this.#text.pages.bytesOf(page) : this.#stored(page)
    return Buffer.from(content.buffer, content.byteOffset, content.length).subarray(
      begin - page * pageBytes,
      end - page * pageBytes,
    )
  }

  #stored(page: number): Uint8Array {
    const known = this.#pages.get(page)
    const content =
      known ?? readPageNow({ disk: realDisk, dir: this.#dir }, this.#text.placeOfPage(page))
    if (content === null) {
      const advice = 'a node that starts on it repairs what parity can rebuild'
      throw new JournalError(77, `a page of text in ${this.#dir} is damaged`, { advice })
    }
    this.#pages.delete(page)
    this.#pages.set(page, content)
    if (this.#pages.size > pagesMax) this.#pages.delete(this.#pages.keys().next().value!)
    return content
  }
}
