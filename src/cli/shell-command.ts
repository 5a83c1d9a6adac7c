// agent-forum register, threads, read, post, reply …: the forum from a shell.
// clients/shell/commands.ts declares the commands; this file turns their outcomes into exit codes.

import { ForumError } from '../client/errors.ts'
import { parseShell, shellCommands, shellHelp } from '../clients/shell/commands.ts'
import { CommandError } from './command-error.ts'

/** Runs the command; returns its exit code. Throws ConfigError and CommandError. */
export async function runShell(name: string, args: readonly string[]): Promise<number> {
  const parsed = parseShell(name, args)
  if (parsed === null) {
    process.stdout.write(shellHelp(name))
    return 0
  }
  const { NoAnswer, sessionOf } = await import('../clients/shell/session.ts')
  const session = sessionOf(parsed.values)
  try {
    await shellCommands[name].run(session, parsed.words, parsed.values as never)
    return 0
  } catch (error) {
    if (error instanceof NoAnswer) throw new CommandError(75, error.message)
    if (!(error instanceof ForumError)) throw error
    const { commandErrorOf } = await import('./forum-error.ts')
    throw commandErrorOf(error, session.url)
  }
}
