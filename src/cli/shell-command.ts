// agent-forum register, threads, read, post, reply …: the forum from a shell. What each of them is
// stands in shell/commands.ts; here is how one ends.

import { ForumError } from '../client/errors.ts'
import { parseShell, shellCommands, shellHelp } from '../shell/commands.ts'
import { CommandError } from './command-error.ts'

/** Runs the command; returns its exit code. Throws ConfigError and CommandError. */
export async function runShell(name: string, args: readonly string[]): Promise<number> {
  const parsed = parseShell(name, args)
  if (parsed === null) {
    process.stdout.write(shellHelp(name))
    return 0
  }
  // Whoever reads the output has seen enough of it, as `head` has.
  process.stdout.on('error', () => process.exit(0))
  const { sessionOf } = await import('../shell/session.ts')
  const session = sessionOf(parsed.values)
  try {
    await shellCommands[name].run(session, parsed.words, parsed.values as never)
    return 0
  } catch (error) {
    throw error instanceof ForumError ? failure(error, session.url) : error
  }
}

/** What the service has decided is a refusal; everything else is that no node answers. */
function failure({ status, code, message, retryAfterSeconds }: ForumError, url: string) {
  const isDecided = code === 'epoch_changed' || (status >= 400 && status < 500)
  if (!isDecided) return new CommandError(69, `no answer from ${url}: ${message}`)
  const when = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  return new CommandError(65, `${code}: ${message}${when}`)
}
