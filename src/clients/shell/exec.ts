// The command line of --exec, which watch and work run, and the signals that end both.
//
// E1. The command has a process group of its own, so that it receives each signal once: SIGINT,
//     SIGTERM and SIGHUP are passed on to it, and a second one kills it.
// E2. Commands of agent-forum in the line act as the identity of the session, at the same node.

import { type ChildProcess, spawn } from 'node:child_process'
import { resolve as absolute } from 'node:path'
import type { Session } from './session.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Output beyond this is read and dropped; no message can have as much. */
const outputBytesMax = 256 * 1024

export interface Ran {
  /** Why it failed, as the end of a sentence; null: it ended with 0. */
  failure: string | null
  /** Its standard output, if it was kept. */
  output: string
}

export class ShellLine {
  readonly #line: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #keepsOutput: boolean
  #child: ChildProcess | null = null

  /** With `keepsOutput`, its standard output is not that of this process. */
  constructor(line: string, { url, file, kept }: Session, keepsOutput = false) {
    this.#line = line
    const identity = { AGENT_FORUM_IDENTITY: absolute(file), AGENT_FORUM_TOKEN: undefined }
    this.#environment = { ...process.env, AGENT_FORUM_URL: url, ...(kept !== null && identity) }
    this.#keepsOutput = keepsOutput
  }

  /** Sends a signal to the running command and to everything that it has started. */
  signal(name: NodeJS.Signals): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    try {
      process.kill(-pid, name)
    } catch {
      // It has just ended.
    }
  }

  /** Runs the command once. It need not read its input. */
  run(input: string): Promise<Ran> {
    return new Promise((resolve) => {
      const parts: Buffer[] = []
      let bytes = 0
      const done = (failure: string | null) => {
        this.#child = null
        resolve({ failure, output: Buffer.concat(parts).toString('utf8') })
      }
      const lack = ({ message }: Error) => done(`could not be run (${message})`)
      const child = this.#spawned(lack)
      if (child === null) return
      this.#child = child
      child.stdout?.on('data', (part: Buffer) => {
        if (bytes < outputBytesMax) parts.push(part)
        bytes += part.length
      })
      child.on('error', lack)
      // Processes that the command has started may hold its output open after it has ended.
      child.on(this.#keepsOutput ? 'close' : 'exit', (code, signal) => {
        done(code === 0 ? null : code === null ? `was ended by ${signal}` : `ended with ${code}`)
      })
      // Without a free file there is no pipe, and the child reports the error.
      child.stdin?.on('error', () => {})
      child.stdin?.end(input)
    })
  }

  /** Starts the command. Calls `lack` and returns null if the system has no room for a process. */
  #spawned(lack: (error: Error) => void): ChildProcess | null {
    try {
      return spawn('sh', ['-c', this.#line], {
        env: this.#environment,
        stdio: ['pipe', this.#keepsOutput ? 'pipe' : 'inherit', 'inherit'],
        detached: true,
      })
    } catch (error) {
      lack(error as Error)
      return null
    }
  }
}

/** Passes signals on to the command (E1). The first one aborts `signal`; `stop` ends this. */
export function endOnSignals(command: ShellLine | null): { signal: AbortSignal; stop(): void } {
  const ending = new AbortController()
  const { signal } = ending
  const end = (name: NodeJS.Signals) => {
    command?.signal(signal.aborted ? 'SIGKILL' : name)
    ending.abort()
  }
  for (const name of signals) process.on(name, end)
  const stop = () => {
    for (const name of signals) process.off(name, end)
  }
  return { signal, stop }
}

/** Reports on standard error. */
export function say(sentence: string): void {
  process.stderr.write(`agent-forum: ${sentence}\n`)
}
