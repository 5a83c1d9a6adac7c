// Reads the arguments of a command line, for every command and every benchmark.

import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearMiss } from '../api/misspelled-fields.ts'

/** Arguments, or other settings, that cannot be used: one sentence, and exit code 64. */
export class ConfigError extends Error {}

/** The flag that every command takes. */
export const helpFlag = { type: 'boolean', short: 'h' } as const

export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** The directory that a tool works on: --data, or what a node takes without that flag. */
export function dataOf(flag: string | undefined): string {
  return flag ?? process.env.AGENT_FORUM_DATA ?? './data'
}

/** What `parseArgs` reads. Throws what `refuse` makes of a sentence that says what is wrong. */
export function readArgs<T extends ParseArgsConfig>(
  config: T,
  refuse: (sentence: string) => Error,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    const { message } = error as Error
    const known = unknownFlag(message, config) ?? missingValue(message, config)
    throw refuse(known ?? firstSentence(message))
  }
}

/** ` (did you mean …?)` where one of the known names is near to this one, else nothing. */
export function suggestion(name: string, known: readonly string[], prefix = ''): string {
  const meant = nearMiss(name, known)
  return meant === null ? '' : ` (did you mean ${prefix}${meant}?)`
}

/** The sentence about a flag that is unknown; null when something else is wrong. */
function unknownFlag(message: string, { args = [], options = {} }: ParseArgsConfig): string | null {
  const [, flag] = /^Unknown option '(.+?)'/.exec(message) ?? []
  if (flag === undefined) return null
  // Of `-port` Node names the first letter only.
  const [given] = (args.find((arg) => arg.startsWith(flag)) ?? flag).split('=')
  return `unknown flag ${given}${suggestion(given.replace(/^-+/, ''), Object.keys(options), '--')}`
}

/** The sentence about a flag whose value is missing; null when something else is wrong. */
function missingValue(message: string, { args = [] }: ParseArgsConfig): string | null {
  const [, flag] = /^Option '(--[\w-]+).*?' argument (?:is ambiguous|missing)/.exec(message) ?? []
  if (flag === undefined) return null
  const next = args[args.indexOf(flag) + 1]
  if (next === undefined) return `${flag} needs a value`
  return `${flag} needs a value; if that is "${next}", write ${flag}=${next}`
}

/** Node explains at length how to pass positionals; the first sentence is what happened. */
function firstSentence(message: string): string {
  return message.split(/\.\s|\n/, 1)[0]
}
