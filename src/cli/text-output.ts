// Where a command writes what it exports: to a new file, or to standard output.
//
// O1. A file is never overwritten, and only its owner can read it, because it may have private
//     threads.

import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
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

  /** Creates the file `out`, if it is given. Throws a ConfigError if it cannot. */
  constructor(out: string | undefined) {
    this.#out = out
    try {
      this.#file = out === undefined ? standardOutput : openSync(out, 'wx', 0o600)
    } catch (error) {
      throw new ConfigError(`--out takes a file that is not there yet: ${(error as Error).message}`)
    }
  }

  write(text: string): void {
    this.#text += text
    if (this.#text.length > pieceBytes) this.#flush()
  }

  /** Writes the rest; a file is then durable. */
  end(): void {
    this.#flush()
    if (this.#out === undefined) return
    try {
      fsyncSync(this.#file)
      closeSync(this.#file)
    } catch (error) {
      throw new OutputError('cannot write', { cause: error })
    }
  }

  /** Removes the file, which would prevent the next attempt. */
  remove(): void {
    if (this.#out !== undefined) rmSync(this.#out, { force: true })
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
