// Writes whole lines to standard output or standard error, for the node's log (log.ts) and for the
// final message of a command.
//
// L1. A write never waits, never throws and never ends the process, whatever standard output is: a
//     file on a full disk, a pipe that nobody reads, a terminal stopped with Ctrl-S.
// L2. A line that cannot be written at once is dropped and counted; the only buffer is the one that
//     the system keeps for the pipe. Lines that are written are whole and in order.
// L3. As soon as lines can be written again, the first one reports the number of dropped lines.
//
// Writes are synchronous calls on a non-blocking descriptor. A write in the thread pool would block
// one of its four threads, which also sync the journal, until the pipe is read.

import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { codeOf } from '../../../wal/errors.ts'
import type { LogLine } from '../../people/browser/dashboard/status.ts'
import type { LogOutput } from './vitals.ts'

const retryMs = 250
const endAttemptsMax = 50
const endPauseMs = 10
const noBytes = Buffer.alloc(0)

/** Writes whole lines to standard output (1) or standard error (2). */
export class LineOutput implements LogOutput {
  linesDropped = 0
  /** Filled by the log (log.ts). */
  readonly newest: LogLine[] = []
  readonly #file: number
  readonly #droppedLine: (lines: number) => string
  /** The rest of a partially written line, which must be written next. */
  #rest: Buffer = noBytes
  #droppedUnreported = 0
  #errorCode = ''
  #retry: NodeJS.Timeout | null = null

  /** `droppedLine` makes the line that reports the number of dropped lines. */
  constructor(descriptor: 1 | 2, droppedLine = (lines: number) => `${lines} lines were dropped\n`) {
    this.#droppedLine = droppedLine
    this.#file = withoutBlocking(descriptor)
  }

  /** Writes the line, which ends with a line feed, or drops it. */
  write(line: string): void {
    if (!this.#catchUp() || !this.#put(line)) {
      this.linesDropped++
      this.#droppedUnreported++
    }
    if (this.#isBehind()) this.#retry ??= setInterval(() => this.#catchUp(), retryMs).unref()
  }

  /** Writes `line` before the process ends; waits up to half a second if a pipe is full. */
  end(line = ''): void {
    let isWritten = line === ''
    for (let attempt = 0; attempt < endAttemptsMax; attempt++) {
      if (this.#catchUp() && !isWritten) isWritten = this.#put(line)
      if (isWritten && !this.#isBehind()) return
      if (this.#errorCode !== 'EAGAIN') return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, endPauseMs)
    }
  }

  get warnings(): string[] {
    const dropped = this.#droppedUnreported
    if (dropped === 0) return []
    return [`log: standard output accepts no lines (${this.#errorCode}), ${dropped} dropped`]
  }

  #isBehind(): boolean {
    return this.#rest.length > 0 || this.#droppedUnreported > 0
  }

  /**
   * Completes a partial line and reports dropped lines. Returns whether another line may follow.
   */
  #catchUp(): boolean {
    if (this.#rest.length > 0) this.#rest = this.#rest.subarray(this.#tryWrite(this.#rest))
    if (this.#rest.length > 0) return false
    if (this.#droppedUnreported > 0) {
      if (!this.#put(this.#droppedLine(this.#droppedUnreported))) return false
      this.#droppedUnreported = 0
    }
    if (this.#rest.length > 0) return false
    if (this.#retry !== null) clearInterval(this.#retry)
    this.#retry = null
    return true
  }

  /** Writes the line, or its beginning and later the rest. Returns false if nothing was written. */
  #put(line: string): boolean {
    const bytes = Buffer.from(line)
    const written = this.#tryWrite(bytes)
    if (written > 0) this.#rest = bytes.subarray(written)
    return written > 0
  }

  #tryWrite(bytes: Buffer): number {
    try {
      const written = writeSync(this.#file, bytes)
      if (written < bytes.length) this.#errorCode = 'EAGAIN' // as the next write would say
      return written
    } catch (error) {
      this.#errorCode = codeOf(error)
      return 0
    }
  }
}

/**
 * Returns a descriptor of the same file whose writes fail with EAGAIN instead of waiting.
 * O_NONBLOCK is a flag of the open file description, which is shared with the process that started
 * this one, so a pipe or a terminal is opened anew. A socket or another user's file cannot be: for
 * these, Node's own stream sets the flag, as it does in every program that uses the stream.
 */
function withoutBlocking(descriptor: 1 | 2): number {
  if (!isatty(descriptor)) {
    const kind = fstatSync(descriptor)
    if (!kind.isFIFO() && !kind.isSocket()) return descriptor // files and devices do not wait
  }
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  try {
    return openSync(`/proc/self/fd/${descriptor}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    void (descriptor === 1 ? process.stdout : process.stderr)
    return descriptor
  }
}
