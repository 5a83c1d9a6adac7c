// Reads the arguments of a command line, for every command and every benchmark.

import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearMiss } from './misspelled-fields.ts'

/** An unusable argument or setting. The message is one sentence; the exit code is 64. */
export class ConfigError extends Error {}

/** Says why a file cannot be read, and names it once: a message of the system does so, too. */
export function unreadable(file: string, error: unknown): string {
  const { message, syscall = '' } = error as NodeJS.ErrnoException
  const [cause] = syscall === '' ? [message] : message.split(`, ${syscall}`)
  return `${file}: cannot be read: ${cause}`
}

/** A flag of a command; help, completion and parsing are derived from it. */
export interface Flag {
  /** The placeholder of the value in the help; null: the flag is a switch. */
  value: string | null
  /** The value of the flag when it is used without one; absent: it needs one. */
  bare?: string
  /** All values that it can have, where they can be listed. */
  choices?: readonly string[]
  /** The default, for the help; absent or empty: there is none, or it depends on the machine. */
  preset?: string
  help: string
}

export type Flags = Record<string, Flag>

/** The values given: a text for a flag that takes one, true for a switch. */
export type FlagValues<T extends Flags> = {
  [Name in keyof T]?: T[Name]['value'] extends null ? boolean : string
} & { help?: boolean }

/** The flag that every command takes. */
export const helpFlag = { type: 'boolean', short: 'h' } as const

/** The lines of `--help` for these flags, without a line break at the end. */
export function flagHelp(flags: Flags): string {
  const rows = Object.entries(flags).map(([name, { value, preset = '', help }]) => {
    const shown = preset === '' ? '' : ` (${preset})`
    return { flag: `--${name} ${value ?? ''}`, help: help + shown }
  })
  const width = Math.max(...rows.map(({ flag }) => flag.length))
  return rows.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`).join('\n')
}

/**
 * Reads the arguments of a command that takes these flags and `--help`. Throws the error that
 * `refuse` makes of a sentence that describes the mistake.
 */
export function readFlags<T extends Flags>(
  args: readonly string[],
  flags: T,
  refuse: (sentence: string) => Error,
  { allowPositionals = false } = {},
): { values: FlagValues<T>; positionals: string[] } {
  const named = Object.entries(flags).map(([name, { value }]) => {
    return [name, { type: value === null ? 'boolean' : 'string' }] as const
  })
  const options = { ...Object.fromEntries(named), help: helpFlag }
  const whole = args.map((arg, index) => withValue(arg, args[index + 1], flags))
  const read = readArgs({ args: whole, options, allowPositionals }, refuse)
  return { values: read.values as FlagValues<T>, positionals: read.positionals }
}

/** Adds the value to a flag that may be used without one, and is. */
function withValue(arg: string, next: string | undefined, flags: Flags): string {
  const name = arg.startsWith('--') ? arg.slice(2) : ''
  const bare = Object.hasOwn(flags, name) ? flags[name].bare : undefined
  const isAlone = next === undefined || (next.startsWith('-') && next !== '-')
  return bare !== undefined && isAlone ? `${arg}=${bare}` : arg
}

/** Whether the help is among the requested flags; all others are then ignored. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** The directory that a tool works on: `--data`, or the directory that a node uses without it. */
export function dataOf(flag: string | undefined): string {
  return flag ?? process.env.AGENT_FORUM_DATA ?? './data'
}

/** Parses arguments. Throws the error that `refuse` makes of a sentence about the mistake. */
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

/** Node explains at length how to pass positionals; its first sentence names the mistake. */
function firstSentence(message: string): string {
  return message.split(/\.\s|\n/, 1)[0]
}
