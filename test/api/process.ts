// The compiled server as a separate process, which is started on a free port with a new data
// directory and stopped by its process id. Its output is kept, and shown if a test fails.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { canShare } from '../../src/edge/http/node.ts'

/** With TEST_TEXT=cold, nodes evict text from memory as soon as possible (everything-cold.ts). */
const isCold = process.env.TEST_TEXT === 'cold'

/** The installed form is the bundle. Modules can be replaced only in the other form. */
const form = isCold ? 'src' : 'agent-forum'
export const program = fileURLToPath(new URL(`../../${form}/cli/main.js`, import.meta.url))

const coldModule = new URL('everything-cold.js', import.meta.url).href
const coldOptions = isCold ? ['--import', coldModule] : []
const coldEnvironment = isCold ? { AGENT_FORUM_TEXT_MEMORY_MB: '1' } : {}

/** Filling a segment of the default size, 64 MB, with zeros is a tenth of the cost of a start. */
const smallSegments = { AGENT_FORUM_SEGMENT_MB: '16' }

/** As in `npm start`. With V8's usual four helper threads a start costs a sixth more. */
export const nodeFlags = ['--v8-pool-size=1']

/** With TEST_READERS=N, nodes have N readers, which answer most of the requests. */
const readersOfTests = Number(process.env.TEST_READERS ?? '0')

/** A search process beside each node with messages would add a tenth to the work of all tests. */
const noSearch = { AGENT_FORUM_NO_SEARCH: 'on' }

/** Longer than any start or stop takes, unless the process hangs. */
const patienceMs = 60_000

/** No process outlives the test that started it, however that test ends. */
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
  /** The path of the compiled program, unless it is the bundle of this directory. */
  file?: string
  /** The command that runs the program. An executable runs without Node's arguments. */
  command?: readonly string[]
  /** The file descriptor for its standard output. By default, the output is kept. */
  stdout?: number | 'pipe'
  /** A command that runs the program within its own process, as `strace -D` does. */
  under?: readonly string[]
}

export class Program {
  stdout = ''
  stderr = ''
  readonly child: ChildProcess
  /** The number of readers that TEST_READERS gives it. */
  readonly readers: number
  readonly #ended: Promise<Run>
  /** Whether all of its output has been read, which may be later than the end of the process. */
  #isRead = false
  /** Callbacks that wait for more output, or for its end. */
  #waiting: (() => void)[] = []
  #deadline: NodeJS.Timeout | undefined

  constructor(
    args: readonly string[],
    environment: Record<string, string> = {},
    { file = program, command: given, stdout = 'pipe', under = [] }: ProgramOptions = {},
  ) {
    // Some tests run once with each HTTP server (test/jobs.ts).
    const { PATH, AGENT_FORUM_HTTP = 'auto' } = process.env
    const isNode = file === program && given === undefined && args[0] === 'serve'
    const ofNode = isNode ? { ...smallSegments, ...noSearch, ...coldEnvironment } : {}
    const env = { PATH, AGENT_FORUM_HTTP, ...ofNode, ...environment }
    // Node's own HTTP server can share its port only in some versions of Node.
    const isOfNode = env.AGENT_FORUM_HTTP === 'node' || args.includes('node')
    const isShared = !isOfNode || canShare(process.versions.node)
    this.readers = isNode && isShared ? readersOfTests : 0
    if (this.readers > 0) Object.assign(env, { AGENT_FORUM_READERS: `${this.readers}` })
    const options = isNode ? coldOptions : []
    const runs = given ?? [process.execPath, ...nodeFlags, ...options, file]
    const [command, ...rest] = [...under, ...runs, ...args]
    this.child = spawn(command!, rest, {
      env,
      stdio: ['ignore', stdout, 'pipe'],
    })
    running.add(this.child)
    this.child.stdout?.setEncoding('utf8').on('data', (text) => {
      this.stdout += text
      this.#wake()
    })
    this.child.stderr!.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
    })
    this.#ended = once(this.child, 'close').then(([code, signal]) => {
      clearTimeout(this.#deadline)
      running.delete(this.child)
      this.#isRead = true
      this.#wake()
      return { code, signal, stdout: this.stdout, stderr: this.stderr }
    })
  }

  /**
   * Resolves when the process is gone and its output has been read. A process that hangs is killed
   * two minutes after the first caller began to wait for its end. Until then it may live as long as
   * its test.
   */
  get ended(): Promise<Run> {
    if (!this.hasEnded) {
      this.#deadline ??= setTimeout(() => this.child.kill('SIGKILL'), patienceMs * 2)
    }
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

  /** Resolves to the first log line with this message. Rejects if the process ends first. */
  async logged(
    message: string,
    isMeant: (line: LogLine) => boolean = () => true,
  ): Promise<LogLine> {
    const deadline = setTimeout(() => this.child.kill('SIGKILL'), patienceMs)
    try {
      for (;;) {
        const line = this.log.find((line) => line.msg === message && isMeant(line))
        if (line !== undefined) return line
        if (this.#isRead) throw new Error(`no "${message}" in:\n${this.stdout}${this.stderr}`)
        await new Promise<void>((resolve) => this.#waiting.push(resolve))
      }
    } finally {
      clearTimeout(deadline)
    }
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** Sends the signal if the process is still running, and waits for its end. */
  async stop(signal: NodeJS.Signals): Promise<Run> {
    if (!this.hasEnded) this.child.kill(signal)
    return this.ended
  }
}

/** Runs the program to completion. */
export function run(args: readonly string[], environment?: Record<string, string>): Promise<Run> {
  return new Program(args, environment).ended
}

/** Returns a path for a data directory that does not exist yet. It is removed after the test. */
export function dataDirectory(t: Test): string {
  const parent = mkdtempSync(join(tmpdir(), 'agent-forum-test-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true }))
  return join(parent, 'data')
}
