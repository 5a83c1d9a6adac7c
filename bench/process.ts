// The processes of a benchmark: servers on core 0 and load on core 1, where `taskset` is installed.
// Each is stopped by its own handle, and none outlives the benchmark.

import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const serverCore = 0
const loadCore = 1
/** The unit of the times in /proc, on every Linux that Node runs on. */
const ticksPerSecond = 100

/** Whether a program is installed. */
export function has(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const canPin = has('taskset')

function pinned(core: number, command: readonly string[]): string[] {
  return canPin ? ['taskset', '-c', `${core}`, ...command] : [...command]
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1)) // otherwise the servers would outlive it
}

/** Makes a directory, which is removed when this process ends, also by an interrupt. */
export function workDirectory(parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, 'agent-forum-bench-'))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user
  // A process that was just killed may still create a file.
  process.once('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

function start(core: number, command: readonly string[], options: SpawnOptions): ChildProcess {
  const [program, ...args] = pinned(core, command)
  const child = spawn(program, args, options)
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Runs a load generator to its end; resolves to its output. */
export async function runLoad(command: readonly string[]): Promise<string> {
  const child = start(loadCore, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (part: string) => (text += part))
  const [code] = await exited
  if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${text}`)
  return text
}

export interface Child {
  pid: number
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface Server extends Child {
  url: string
}

/** Starts a program that the caller polls later until it is ready. */
export function startDaemon(command: readonly string[], options: SpawnOptions = {}): Child {
  const child = start(serverCore, command, { stdio: ['ignore', 'ignore', 'inherit'], ...options })
  const exited = once(child, 'exit')
  return {
    pid: child.pid!,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await exited
    },
  }
}

/** The flags of Node in `npm start`. */
const nodeFlags = ['--enable-source-maps', '--v8-pool-size=1']

export interface Watched {
  /** Additional flags of Node, which make it print lines that are not JSON. */
  nodeFlags: readonly string[]
  /** Called with each of these lines. */
  onLine(line: string): void
}

/**
 * Starts a Node program that prints its URL as the property `url` of a line of JSON. `under` is a
 * command that runs the program, with V8 on one thread.
 */
export async function startServer(
  args: readonly string[],
  under: readonly string[] = [],
  watched?: Watched,
): Promise<Server> {
  const flags = under.length === 0 ? nodeFlags : ['--single-threaded']
  const command = [...under, process.execPath, ...flags, ...(watched?.nodeFlags ?? []), ...args]
  const child = start(serverCore, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout! })) {
    const { url } = (line.startsWith('{') ? JSON.parse(line) : {}) as { url?: string }
    if (url === undefined) continue
    if (watched === undefined) child.stdout!.resume()
    else createInterface({ input: child.stdout! }).on('line', (line) => watched.onLine(line))
    return {
      url,
      pid: child.pid!,
      async stop(signal = 'SIGTERM') {
        child.kill(signal)
        await exited
      },
    }
  }
  throw new Error(`the server ended before it listened: ${args.join(' ')}`)
}

/** Returns the seconds of processor time of a process and its children, or NaN if unknown. */
export function cpuSeconds(pid: number): number {
  try {
    const own = statOf(`${pid}`)
    const children = readdirSync(`/proc/${pid}/task`).flatMap(
      (task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').match(/\d+/g) ?? [],
    )
    return children.reduce((sum, child) => sum + cpuSeconds(Number(child)), own)
  } catch {
    return Number.NaN
  }
}

/** Returns the seconds of processor time of a process's main thread, which runs its event loop. */
export function mainThreadSeconds(pid: number): number {
  return statOf(`${pid}/task/${pid}`)
}

/** Returns the seconds of processor time of a process or a thread, given its folder in /proc. */
function statOf(folder: string): number {
  const text = readFileSync(`/proc/${folder}/stat`, 'utf8')
  // The second field is the program's name, which may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [user, system] = fields.slice(11, 13).map(Number)
  return (user + system) / ticksPerSecond
}

/** Returns the resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(text)![1]) * 1024
}
