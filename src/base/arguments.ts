// Reads the arguments of a command line, for every command and every benchmark.

import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearMiss } from './misspelled-fields.ts'

/** An unusable argument or setting. The message is one sentence; the exit code is 64. */
export class ConfigError extends Error {}

/** Says why a file cannot be read. Cuts the system's message, which would name the file again. */
export function unreadable(file: string, error: unknown): string {
  const { message, syscall = '' } = error as NodeJS.ErrnoException
  const [cause] = syscall === '' ? [message] : message.split(`, ${syscall}`)
  return `${file}: cannot be read: ${cause}`
}

/** The declaration of a flag, from which help, completion and parsing are derived. */
export interface Flag {
  /** The placeholder of the value in the help, or null if the flag is a switch. */
  value: string | null
  /** The value if the flag is given without one. If absent, the flag requires a value. */
  bare?: string
  /** All possible values, if they can be listed. */
  choices?: readonly string[]
  /** The default as the help shows it; absent or '' if there is none or it varies by machine. */
  preset?: string
  help: string
}

export type Flags = Record<string, Flag>

/** The parsed values: a string for a flag that takes a value, true for a switch. */
export type FlagValues<T extends Flags> = {
  [Name in keyof T]?: T[Name]['value'] extends null ? boolean : string
} & { help?: boolean }

/** The flag that every command takes. */
export const helpFlag = { type: 'boolean', short: 'h' } as const

/** Returns the lines of `--help` for these flags, without a trailing line break. */
export function flagHelp(flags: Flags): string {
  const rows = Object.entries(flags).map(([name, { value, preset = '', help }]) => {
    const shown = preset === '' ? '' : ` (${preset})`
    return { flag: `--${name} ${value ?? ''}`, help: help + shown }
  })
  const width = Math.max(...rows.map(({ flag }) => flag.length))
  return rows.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`).join('\n')
}

/**
 * Parses the arguments of a command that takes these flags and `--help`. On a mistake, throws the
 * error that `refuse` makes of a sentence describing it.
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

/** Appends the bare value to a flag that has one and is given without a value. */
function withValue(arg: string, next: string | undefined, flags: Flags): string {
  const name = arg.startsWith('--') ? arg.slice(2) : ''
  const bare = Object.hasOwn(flags, name) ? flags[name].bare : undefined
  const isAlone = next === undefined || (next.startsWith('-') && next !== '-')
  return bare !== undefined && isAlone ? `${arg}=${bare}` : arg
}

/** Returns whether the arguments ask for help, in which case all others are ignored. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** Returns the data directory of a tool: `--data`, or the one that a node uses without the flag. */
export function dataOf(flag: string | undefined): string {
  return flag ?? process.env.AGENT_FORUM_DATA ?? './data'
}

/** Parses arguments. On a mistake, throws the error that `refuse` makes of a sentence about it. */
export function readArgs<T extends ParseArgsConfig>(
  config: T,
  refuse: (sentence: string) => Error,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    const { message } = error as Error
    const known = unknownFlag(message, config) ?? missingValue(message, config)
    throw refuse(known ?? oneTooMany(message) ?? firstSentence(message))
  }
}

/** Returns ` (did you mean …?)` if the name is a near miss of a known one, otherwise ''. */
export function suggestion(name: string, known: readonly string[], prefix = ''): string {
  const meant = nearMiss(name, known)
  return meant === null ? '' : ` (did you mean ${prefix}${meant}?)`
}

/** Returns the sentence about an unknown flag, or null if the mistake is another one. */
function unknownFlag(message: string, { args = [], options = {} }: ParseArgsConfig): string | null {
  const [, flag] = /^Unknown option '(.+?)'/.exec(message) ?? []
  if (flag === undefined) return null
  // Of `-port`, Node's message names only the first letter.
  const [name] = (args.find((arg) => arg.startsWith(flag)) ?? flag).split('=')
  return `unknown flag ${name}${suggestion(name.replace(/^-+/, ''), Object.keys(options), '--')}`
}

/** Returns the sentence about a flag without its value, or null if the mistake is another one. */
function missingValue(message: string, { args = [] }: ParseArgsConfig): string | null {
  const [, flag] = /^Option '(--[\w-]+).*?' argument (?:is ambiguous|missing)/.exec(message) ?? []
  if (flag === undefined) return null
  const next = args[args.indexOf(flag) + 1]
  if (next === undefined) return `${flag} needs a value`
  return `${flag} needs a value; if "${next}" is the value, write ${flag}=${next}`
}

/** Returns the sentence about a word or a value too many, or null if the mistake is another one. */
function oneTooMany(message: string): string | null {
  const [, flag] = /^Option '.*(--[\w-]+)' does not take an argument/.exec(message) ?? []
  if (flag !== undefined) return `${flag} takes no value`
  const [, word] = /^Unexpected argument '(.*?)'\. This /s.exec(message) ?? []
  return word === undefined ? null : `unexpected argument "${word}"`
}

/** Returns the first sentence, which names the mistake; Node goes on to explain positionals. */
function firstSentence(message: string): string {
  return message.split(/\.\s|\n/, 1)[0]
}
