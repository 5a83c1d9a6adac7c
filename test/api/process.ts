// The compiled server as a separate process: started on a free port over a new data directory,
// stopped by its id. What it says is kept, and shown when it does not do what is expected.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

export const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** Longer than any start or stop takes; only a process that hangs meets it. */
const patienceMs = 60_000

/** None of them outlives the test that started it, however that ends. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface LogLine {
  msg: string
  url?: string
  [field: string]: unknown
}

export interface Run {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface ProgramOptions {
  /** The compiled program, where it is not this directory's. */
  file?: string
  /** A descriptor that it writes to; without one its output is kept. */
  stdout?: number | 'pipe'
  /** A command that runs it and becomes it, like `strace -D`. */
  under?: readonly string[]
}

export class Program {
  stdout = ''
  stderr = ''
  readonly child: ChildProcess
  readonly #ended: Promise<Run>
  #changed: () => void = () => {}

  constructor(
    args: readonly string[],
    environment: Record<string, string> = {},
    { file = program, stdout = 'pipe', under = [] }: ProgramOptions = {},
  ) {
    // The tests run once over each HTTP server (test/run.ts).
    const { PATH, AGENT_FORUM_HTTP = 'auto' } = process.env
    const env = { PATH, AGENT_FORUM_HTTP, ...environment }
    const [command, ...rest] = [...under, process.execPath, file, ...args]
    this.child = spawn(command!, rest, {
      env,
      stdio: ['ignore', stdout, 'pipe'],
    })
    running.add(this.child)
    this.child.stdout?.setEncoding('utf8').on('data', (text) => {
      this.stdout += text
      this.#changed()
    })
    this.child.stderr!.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
    })
    const hanging = setTimeout(() => this.child.kill('SIGKILL'), patienceMs * 2)
    this.#ended = once(this.child, 'close').then(([code, signal]) => {
      clearTimeout(hanging)
      running.delete(this.child)
      this.#changed()
      return { code, signal, stdout: this.stdout, stderr: this.stderr }
    })
  }

  /** Resolves when the process is gone and its output is read. */
  get ended(): Promise<Run> {
    return this.#ended
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  get log(): LogLine[] {
    return this.stdout
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line))
  }

  /** The log line with this message, as soon as it is there. Rejects when the process ends. */
  async logged(message: string): Promise<LogLine> {
    const deadline = setTimeout(() => this.child.kill('SIGKILL'), patienceMs)
    try {
      for (;;) {
        const line = this.log.find(({ msg }) => msg === message)
        if (line !== undefined) return line
        if (this.hasEnded) throw new Error(`no "${message}" in:\n${this.stdout}${this.stderr}`)
        await new Promise<void>((resolve) => {
          this.#changed = resolve
        })
      }
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Sends the signal, unless it has ended, and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<Run> {
    if (!this.hasEnded) this.child.kill(signal)
    return this.#ended
  }
}

/** Runs the program to its end. */
export function run(args: readonly string[], environment?: Record<string, string>): Promise<Run> {
  return new Program(args, environment).ended
}

/** A path for a data directory that is not there yet, removed after the test. */
export function dataDirectory(t: Test): string {
  const parent = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true }))
  return join(parent, 'data')
}
