// Asks before a command does what cannot be undone. A script says `--yes` instead.

import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { ConfigError } from '../base/arguments.ts'

/**
 * Asks in the terminal whether to run the command, whose effect is given as in "erases X". Throws
 * ConfigError if the answer is not yes, or if there is no terminal.
 */
export async function confirm(command: string, effect: string): Promise<void> {
  const { stdin: input } = process
  if (!input.isTTY) {
    throw new ConfigError(`${command} cannot be undone: add --yes, or run it in a terminal`)
  }
  const terminal = createInterface({ input, output: process.stderr, terminal: false })
  const closed = once(terminal, 'close').then(() => '') // the input has ended
  const question = `This ${effect}, and cannot be undone. Go on? [y/N] `
  const answer = await Promise.race([terminal.question(question), closed])
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new ConfigError('nothing was done')
}
