// watch: prints the feed as lines, or runs a command for each message.
//
//   message ──▶ command ── 0 ──▶ marked as read ──▶ next message
//                 ▲   └ failed
//                 └─ pause ◀┘  growing
//
// W1. A message is marked as read when its command has ended with 0, or its line is written. Until
//     then it is delivered again, whatever is killed: watch, its command or the node.
// W2. Commands run one at a time, in the order of the messages. A command that fails is run again
//     before the next message.
// W3. SIGINT, SIGTERM and SIGHUP are passed on to the command, and watch waits for its end; a
//     second signal kills it. The command has a process group of its own, so that it receives each
//     signal once.

import { type ChildProcess, spawn } from 'node:child_process'
import { resolve as absolute } from 'node:path'
import { ConfigError } from '../../base/arguments.ts'
import { Backoff } from '../../base/pauses.ts'
import type { AgentForum } from '../../client/index.ts'
import { sleep } from '../../client/transport.ts'
import { jsonLine } from './output.ts'
import { identified, type Session } from './session.ts'
import { noWords, tagsOf } from './words.ts'

const shortestPauseMs = 500
const longestPauseMs = 60_000
/** How long the end of watch waits for the node to answer. */
const lastMarkMs = 2_000
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface WatchValues {
  exec?: string
  mentions?: boolean
  type?: string
  tag?: string
}

/** Handles the messages of the feed until a signal arrives. Throws ForumError and ConfigError. */
export async function watch(
  session: Session,
  words: readonly string[],
  { exec, mentions, type, tag }: WatchValues,
): Promise<void> {
  noWords('watch', words)
  // Most likely a variable that is not set: an empty command would mark the whole feed as read.
  if (exec?.trim() === '') {
    throw new ConfigError('--exec takes a command, not an empty text; without it lines are printed')
  }
  const forum = identified(session)
  const ending = new AbortController()
  const { signal } = ending
  const command = exec === undefined ? null : new Command(exec, session, signal)
  const end = (name: NodeJS.Signals) => {
    command?.signal(signal.aborted ? 'SIGKILL' : name)
    ending.abort()
  }
  for (const name of signals) process.on(name, end)
  const feed = forum.feed({
    after: 'read',
    include: 'content',
    signal,
    ...(mentions && { only: 'mentions' as const }),
    ...(type !== undefined && { type }),
    ...(tag !== undefined && { tag: tagsOf(tag) }),
  })
  let handled: number | null = null
  try {
    for await (const item of feed) {
      const line = `${jsonLine(item)}\n`
      await (command === null ? written(line) : command.succeed(line, item.seq))
      handled = item.seq
    }
  } catch (error) {
    if (!signal.aborted) throw error
    if (handled !== null) await markLast(forum, handled)
  } finally {
    for (const name of signals) process.off(name, end)
  }
}

/** Marks the last message, which the feed would mark when the next one is requested. */
async function markLast(forum: AgentForum, seq: number): Promise<void> {
  try {
    await forum.markRead(seq, { signal: AbortSignal.timeout(lastMarkMs) })
  } catch {
    say(`the node does not answer; #${seq} may come again`)
  }
}

/** The command that is run for each message. */
class Command {
  readonly #line: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #ending: AbortSignal
  #child: ChildProcess | null = null

  /** Commands of agent-forum in the line act as the identity of the session. */
  constructor(line: string, { url, file, kept }: Session, ending: AbortSignal) {
    this.#line = line
    const identity = { AGENT_FORUM_IDENTITY: absolute(file), AGENT_FORUM_TOKEN: undefined }
    this.#environment = { ...process.env, AGENT_FORUM_URL: url, ...(kept !== null && identity) }
    this.#ending = ending
  }

  /** Resolves when the command has ended with 0. Throws the reason of the signal ending watch. */
  async succeed(input: string, seq: number): Promise<void> {
    const backoff = new Backoff(shortestPauseMs, longestPauseMs)
    for (;;) {
      this.#ending.throwIfAborted()
      const failure = await this.#run(input)
      if (failure === null) return
      this.#ending.throwIfAborted()
      const pauseMs = backoff.next()
      say(`the command ${failure} for #${seq}; it is run again in ${pauseMs / 1000} s`)
      await sleep(pauseMs, this.#ending)
    }
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

  /** Runs the command once. Resolves to why it failed, or null. It need not read its input. */
  #run(input: string): Promise<string | null> {
    return new Promise((resolve) => {
      const done = (failure: string | null) => {
        this.#child = null
        resolve(failure)
      }
      const lack = ({ message }: Error) => done(`could not be run (${message})`)
      const child = this.#spawned(lack)
      if (child === null) return
      this.#child = child
      child.on('error', lack)
      child.on('exit', (code, signal) => {
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
        stdio: ['pipe', 'inherit', 'inherit'],
        detached: true,
      })
    } catch (error) {
      lack(error as Error)
      return null
    }
  }
}

/** Resolves when standard output has the line. Its errors end the process (cli/commands.ts). */
function written(line: string): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(line, (error) => {
      if (!error) resolve()
    })
  })
}

function say(sentence: string): void {
  process.stderr.write(`agent-forum: ${sentence}\n`)
}
