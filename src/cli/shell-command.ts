// agent-forum register, threads, read, post, reply …: the forum from a shell.
// clients/shell/commands.ts declares the commands; this file turns their outcomes into exit codes.
// What a server says of an error is shown like all content written by others
// (clients/shell/output.ts, O1).

import { ForumError } from '../client/errors.ts'
import { parseShell, shellCommands, shellHelp } from '../clients/shell/commands.ts'
import { inLine } from '../clients/shell/output.ts'
import { CommandError } from './command-error.ts'

/** Runs the command; returns its exit code. Throws ConfigError and CommandError. */
export async function runShell(name: string, args: readonly string[]): Promise<number> {
  const parsed = parseShell(name, args)
  if (parsed === null) {
    process.stdout.write(shellHelp(name))
    return 0
  }
  const { isDecided, NoAnswer, sessionOf } = await import('../clients/shell/session.ts')
  const session = sessionOf(parsed.values)
  try {
    await shellCommands[name].run(session, parsed.words, parsed.values as never)
    return 0
  } catch (error) {
    if (error instanceof NoAnswer) throw new CommandError(75, error.message)
    if (!(error instanceof ForumError)) throw error
    throw isDecided(error) ? refusal(error) : silence(error, session.url)
  }
}

function refusal({ code, message, retryAfterSeconds }: ForumError): CommandError {
  const when = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  return new CommandError(65, inLine(`${code}: ${message}${when}`))
}

function silence({ status, message }: ForumError, url: string): CommandError {
  if (status !== 0) return new CommandError(69, inLine(`no answer from ${url}: ${message}`))
  // The client's message names the request. Here the address is to appear only once.
  const why = message.replace(/^[A-Z]+ \S+: /, '')
  const advice = 'is a node running there? --url names another one'
  return new CommandError(69, `no answer from ${url} (${why}): ${advice}`)
}
