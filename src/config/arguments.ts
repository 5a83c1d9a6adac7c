// Reads the arguments of a command line, for every command and every benchmark.

import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearMiss } from '../api/misspelled-fields.ts'

/** An unusable argument or setting. The message is one sentence; the exit code is 64. */
export class ConfigError extends Error {}

/** The flag that every command takes. */
export const helpFlag = { type: 'boolean', short: 'h' } as const

/** Whether the arguments request the help, whatever else they hold. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** The directory that a tool works on: `--data`, or the directory that a node uses without it. */
export function dataOf(flag: string | undefined): string {
  return flag ?? process.env.AGENT_FORUM_DATA ?? './data'
}

/** Parses arguments. Throws the error that `refuse` makes of a sentence about what is wrong. */
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

/** ` (did you mean …?)` if the name is a near miss of a known one, otherwise ''. */
export function suggestion(name: string, known: readonly string[], prefix = ''): string {
  const meant = nearMiss(name, known)
  return meant === null ? '' : ` (did you mean ${prefix}${meant}?)`
}

/** The sentence about an unknown flag; null when something else is wrong. */
function unknownFlag(message: string, { args = [], options = {} }: ParseArgsConfig): string | null {
  const [, flag] = /^Unknown option '(.+?)'/.exec(message) ?? []
  if (flag === undefined) return null
  // Node names only the first letter of `-port`.
  const [name] = (args.find((arg) => arg.startsWith(flag)) ?? flag).split('=')
  return `unknown flag ${name}${suggestion(name.replace(/^-+/, ''), Object.keys(options), '--')}`
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
