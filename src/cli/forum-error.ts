// Turns errors of the client into those of commands. What a server says of an error is shown like
// all content written by others (clients/shell/output.ts, O1).

import type { ForumError } from '../client/errors.ts'
import { inLine } from '../clients/shell/output.ts'
import { isDecided } from '../clients/shell/session.ts'
import { CommandError } from './command-error.ts'

/** Returns the error of a command: 65 if a node has refused the request, 69 if none answers. */
export function commandErrorOf(error: ForumError, url: string): CommandError {
  return isDecided(error) ? refusal(error) : silence(error, url)
}

function refusal({ code, message, retryAfterSeconds }: ForumError): CommandError {
  const when = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  const advice = code === 'invalid_token' ? newData : ''
  return new CommandError(65, inLine(`${code}: ${message}${when}${advice}`))
}

const newData =
  ' If the data of the node are new, register again, in another file (--identity FILE).'

function silence({ status, message }: ForumError, url: string): CommandError {
  if (status !== 0) return new CommandError(69, inLine(`no answer from ${url}: ${message}`))
  // The client's message names the request. Here the address is to appear only once.
  const why = message.replace(/^[A-Z]+ \S+: /, '')
  const advice = 'is a node running there? --url names another one'
  return new CommandError(69, `no answer from ${url} (${why}): ${advice}`)
}
