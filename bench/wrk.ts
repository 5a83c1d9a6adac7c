// wrk, the load generator (Debian package `wrk`): runs it against one server and reads its report.
// The server runs on core 0, wrk on core 1, where `taskset` is there to say so.

import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Load {
  url: string
  connections: number
  seconds: number
  /** Lua: what to send. */
  script: string
  /** Arguments of the script. */
  scriptArgs: string[]
}

export interface Measured {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  /** Answers that were not 2xx, and socket errors. */
  errors: number
}

/** Whether a program is installed. */
export function has(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function pinned(core: number, command: string[]): string[] {
  return has('taskset') ? ['taskset', '-c', String(core), ...command] : command
}

export async function wrk(load: Load): Promise<Measured> {
  const [program, ...args] = pinned(1, [
    'wrk',
    '--latency',
    '-t1',
    `-c${load.connections}`,
    `-d${load.seconds}s`,
    '-s',
    load.script,
    load.url,
    '--',
    ...load.scriptArgs,
  ])
  const { stdout } = await run(program, args)
  const errors = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? '0'
  const sockets = /Socket errors: (.+)/.exec(stdout)?.[1].match(/\d+/g) ?? []
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1]),
    p50Ms: milliseconds(/\s50%\s+(\S+)/.exec(stdout)![1]),
    p99Ms: milliseconds(/\s99%\s+(\S+)/.exec(stdout)![1]),
    errors: [errors, ...sockets].reduce((sum, text) => sum + Number(text), 0),
  }
}

function milliseconds(text: string): number {
  const factor = { us: 0.001, ms: 1, s: 1000 }[text.replace(/[\d.]/g, '')]
  return Number.parseFloat(text) * (factor ?? 1000)
}

export interface Child {
  url: string
  stop(): Promise<void>
}

/** Starts a server on core 0; it says its URL in a line of JSON with the property `url`. */
export async function startServer(args: string[]): Promise<Child> {
  const [program, ...rest] = pinned(0, [process.execPath, ...args])
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url?: string }
    if (url === undefined) continue
    child.stdout.resume()
    return {
      url,
      async stop() {
        child.kill('SIGTERM')
        await exited
      },
    }
  }
  throw new Error(`the server ended before it listened: ${args.join(' ')}`)
}
