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
//     second signal kills it (exec.ts).

import { ConfigError } from '../../base/arguments.ts'
import { Backoff } from '../../base/pauses.ts'
import type { AgentForum } from '../../client/index.ts'
import { sleep } from '../../client/transport.ts'
import { endOnSignals, ShellLine, say } from './exec.ts'
import { jsonLine } from './output.ts'
import { identified, type Session } from './session.ts'
import { listOf, noWords } from './words.ts'

const shortestPauseMs = 500
const longestPauseMs = 60_000
/** How long the end of watch waits for the node to answer. */
const lastMarkMs = 2_000

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
  const command = exec === undefined ? null : new ShellLine(exec, session)
  const ending = endOnSignals(command)
  const { signal } = ending
  const feed = forum.feed({
    after: 'read',
    include: 'content',
    signal,
    ...(mentions && { only: 'mentions' as const }),
    ...(type !== undefined && { type }),
    ...(tag !== undefined && { tag: listOf('--tag', tag) }),
  })
  let handled: number | null = null
  try {
    for await (const item of feed) {
      const line = `${jsonLine(item)}\n`
      await (command === null ? written(line) : succeed(command, line, item.seq, signal))
      handled = item.seq
    }
  } catch (error) {
    if (!signal.aborted) throw error
    if (handled !== null) await markLast(forum, handled)
  } finally {
    ending.stop()
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

/** Runs the command until it ends with 0 (W2). Throws the reason of the signal that ends watch. */
async function succeed(
  command: ShellLine,
  input: string,
  seq: number,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff(shortestPauseMs, longestPauseMs)
  for (;;) {
    signal.throwIfAborted()
    const { failure } = await command.run(input)
    if (failure === null) return
    signal.throwIfAborted()
    const pauseMs = backoff.next()
    say(`the command ${failure} for #${seq}; it is run again in ${pauseMs / 1000} s`)
    await sleep(pauseMs, signal)
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
