// agent-forum wal export: prints the records of a log, up to any damage, as one line of JSON each.
//
//   {"position":3,"type":"reply.posted","at":1795234582916,"by":1,"thread":0,…,"byId":"agt_…",…}
//
// forum/record-names.ts adds ids. Encrypted values stay encrypted; bytes are shown in base64. A
// file is never overwritten, and only its owner can read it, because it contains private threads.

import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { codeOf, storageError } from '../../wal/errors.ts'
import { ConfigError } from '../base/arguments.ts'
import { counted } from '../base/counted.ts'
import { RecordNames } from '../forum/record-names.ts'
import { decode } from '../forum/records.ts'
import { progressBar } from './progress-bar.ts'
import { readLog } from './read-log.ts'

const pieceBytes = 256 * 1024

/** Writes to `out`, or to stdout. Returns the exit code; damage is reported on stderr. */
export async function exportLog(data: string, out: string | undefined): Promise<number> {
  const output = out === undefined ? standardOutput : newFile(out)
  const lines = new Lines(output)
  const names = new RecordNames()
  const bar = progressBar('export')
  try {
    const { error } = await readLog(data, {
      onRecord: (position, row) => {
        lines.add({ position, ...names.add(position, decode(row)) })
      },
      onProgress: bar.at,
    })
    lines.flush()
    output.end()
    bar.stop()
    if (error !== null && lines.count === 0) throw error
    const summary = `${counted(lines.count, 'record')}, up to position ${lines.position}`
    if (error !== null) process.stderr.write(`agent-forum: ${summary}; then ${error.message}\n`)
    else if (out !== undefined) process.stdout.write(`${out}: ${summary}\n`)
    return error?.exitCode ?? 0
  } catch (error) {
    if (!(error instanceof OutputError)) {
      // A file without records would prevent the next attempt.
      if (out !== undefined && lines.count === 0) rmSync(out)
      throw error
    }
    // The reader has seen enough, like `head`.
    if (codeOf(error.cause) === 'EPIPE') return 0
    throw storageError(`write ${out ?? 'to stdout'}`, error.cause)
  } finally {
    bar.stop()
  }
}

/** A failure to write, as distinguished from one to read the log. */
class OutputError extends Error {}

interface Output {
  write(text: string): void
  end(): void
}

class Lines {
  count = 0
  position = 0
  readonly #output: Output
  #text = ''

  constructor(output: Output) {
    this.#output = output
  }

  add(record: { position: number }): void {
    this.#text += `${JSON.stringify(record, inBase64)}\n`
    this.count += 1
    this.position = record.position
    if (this.#text.length > pieceBytes) this.flush()
  }

  flush(): void {
    this.#output.write(this.#text)
    this.#text = ''
  }
}

function inBase64(this: Record<string, unknown>, name: string, value: unknown): unknown {
  const raw = this[name] // taken before Buffer's own toJSON
  return raw instanceof Uint8Array ? Buffer.from(raw).toString('base64') : value
}

const standardOutput: Output = { write: (text) => writeAll(1, Buffer.from(text)), end: () => {} }

function newFile(path: string): Output {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    throw new ConfigError(`--out takes a file that is not there yet: ${(error as Error).message}`)
  }
  return {
    write: (text) => writeAll(file, Buffer.from(text)),
    end() {
      try {
        fsyncSync(file)
        closeSync(file)
      } catch (error) {
        throw new OutputError('cannot write', { cause: error })
      }
    },
  }
}

const fullPipePauseMs = 2

function writeAll(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(file, bytes, written)
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') throw new OutputError('cannot write', { cause: error })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPipePauseMs)
    }
  }
}
