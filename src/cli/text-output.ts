// Where a command writes what it exports: to a new file, or to standard output.
//
//   FILE.partial is created ─▶ written ─▶ synced ─▶ renamed to FILE
//
// O1. A file is never overwritten, and only its owner can read it, because it may have private
//     threads.
// O2. FILE is whole: an export that a signal ends leaves only FILE.partial.

import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { realDisk, syncDirectory } from '../../wal/disk.ts'
import { codeOf, storageError } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'

const pieceBytes = 256 * 1024
const standardOutput = 1
const fullPipePauseMs = 2

/** A failure to write, as distinguished from one to read what is exported. */
export class OutputError extends Error {
  /** Whether the reader of the output has seen enough, like `head`. */
  get isClosed(): boolean {
    return codeOf(this.cause) === 'EPIPE'
  }

  asStorageError(out: string | undefined): Error {
    return storageError(`write ${out ?? 'to stdout'}`, this.cause)
  }
}

/** Collects text and writes it piece by piece. Its methods throw OutputError. */
export class TextOutput {
  readonly #out: string | undefined
  readonly #file: number
  #text = ''

  /** Creates the partial file of `out`, if it is given. Throws a ConfigError if it cannot. */
  constructor(out: string | undefined) {
    this.#out = out
    this.#file = out === undefined ? standardOutput : createPartial(out)
  }

  write(text: string): void {
    this.#text += text
    if (this.#text.length > pieceBytes) this.#flush()
  }

  /** Writes the rest; a file then has its name, durably. */
  end(): void {
    this.#flush()
    const out = this.#out
    if (out === undefined) return
    try {
      fsyncSync(this.#file)
      closeSync(this.#file)
      refuseFile(out) // another program may have made it meanwhile
      realDisk.rename(partialOf(out), out)
      syncDirectory(realDisk, dirname(out))
    } catch (error) {
      throw error instanceof ConfigError ? error : new OutputError('cannot write', { cause: error })
    }
  }

  /** Removes the partial file, which would prevent the next attempt. */
  remove(): void {
    if (this.#out !== undefined) rmSync(partialOf(this.#out), { force: true })
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text)
    this.#text = ''
    for (let written = 0; written < bytes.length; ) {
      try {
        written += writeSync(this.#file, bytes, written)
      } catch (error) {
        if (codeOf(error) !== 'EAGAIN') throw new OutputError('cannot write', { cause: error })
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPipePauseMs)
      }
    }
  }
}

function partialOf(out: string): string {
  return `${out}.partial`
}

function createPartial(out: string): number {
  refuseFile(out)
  const partial = partialOf(out)
  try {
    return openSync(partial, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw new ConfigError(`--out: ${(error as Error).message}`)
    throw new ConfigError(`${partial} is left over from an interrupted export; remove it`)
  }
}

/** Throws a ConfigError if there is such a file (O1). */
function refuseFile(out: string): void {
  if (existsSync(out)) throw new ConfigError(`--out takes a file that is not there yet, not ${out}`)
}
