// Finds and checks the settings of a node. The value of each comes from a flag, or else from its
// environment variable, from the file that --config names, or from the default. An unusable value
// is a ConfigError that names the flag, the variable, or the file and the key in it, by which it
// was set.
//
// The file is one JSON object. Its keys are the names of the flags without the leading dashes, and
// its values are texts, numbers, true and false:
//
//   { "port": 8080, "data": "/var/lib/agent-forum", "no-compat": true }
//
// S1. Nothing in the file is ignored: an unknown key is refused.
// S2. An error about a value names where it was set: flag, variable, or file and key.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Durability } from '../../wal/journal/journal.ts'
import { ConfigError, type Flags, readFlags, suggestion, unreadable } from '../base/arguments.ts'
import { hidden } from '../base/text.ts'
import type { Setting } from '../base/values.ts'

/** Returns a text that is not empty: an empty host would mean every address of the machine. */
export function textOf({ name, text }: Setting): string {
  if (text !== '') return text
  throw new ConfigError(`${name} must not be empty`)
}

const titleMax = 60

/** Returns a text of one line, of which everything is visible. */
export function titleOf(setting: Setting): string {
  const text = textOf(setting).trim()
  const isVisible = text !== '' && !hidden.test(text) && !/[\t\r\n]/.test(text)
  if (isVisible && [...text].length <= titleMax) return text
  throw new ConfigError(`${setting.name} takes 1 to ${titleMax} visible characters`)
}

/** Returns hours from 0 to `max`, which may have a fraction. */
export function hoursOf({ name, text }: Setting, max: number): number {
  const value = Number(text)
  if (/^\d+(?:\.\d+)?$/.test(text) && value <= max) return value
  throw new ConfigError(`${name} takes hours from 0 to ${max}, not "${text}"`)
}

/** Returns whether a switch is on (`on`, `true`, `1`) or off (`off`, `false`, `0`, empty). */
export function switchOf({ name, text }: Setting): boolean {
  if (['on', 'true', '1'].includes(text)) return true
  if (['off', 'false', '0', ''].includes(text)) return false
  throw new ConfigError(`${name} is on or off, not "${text}"`)
}

const defaultIntervalMs = 100

export function durabilityOf({ name, text }: Setting): Durability {
  if (text === 'always' || text === 'none') return { mode: text }
  const interval = /^interval(?::(\d{1,5}))?$/.exec(text)
  const ms = Number(interval?.[1] ?? defaultIntervalMs)
  if (interval !== null && ms >= 1) return { mode: 'interval', ms }
  throw new ConfigError(`${name} takes always, interval[:ms] or none, not "${text}"`)
}

/** Returns the PEM text of the named file, or null for an empty name. */
export function certificateOf({ name, text }: Setting): string | null {
  if (text === '') return null
  try {
    const pem = readFileSync(text, 'utf8')
    new X509Certificate(pem)
    return pem
  } catch (error) {
    throw new ConfigError(`${name} takes a PEM certificate: ${(error as Error).message}`)
  }
}

export const variablePrefix = 'AGENT_FORUM_'

/** A setting, and its source for people: a flag, a variable, a file, or `default`. */
export interface FoundSetting extends Setting {
  from: string
}

interface SettingsFile {
  path: string
  values: ReadonlyMap<string, string>
}

export class SettingSources<Name extends string> {
  readonly #settings: Record<Name, { preset: string }>
  readonly #flags: Record<string, string | boolean | undefined>
  readonly #environment: NodeJS.ProcessEnv
  readonly #file: SettingsFile | null

  /**
   * Reads the arguments, and the file that they or the environment name in `config`. `switches` are
   * flags that are commands and not settings: they have neither variables nor keys in the file.
   */
  constructor(
    settings: Flags & Record<Name | 'config', { preset: string }>,
    switches: Flags,
    args: readonly string[],
    environment: NodeJS.ProcessEnv,
  ) {
    const refuse = (sentence: string) => new ConfigError(`${sentence}; --help lists the flags`)
    this.#settings = settings
    this.#environment = environment
    this.#flags = readFlags(args, { ...settings, ...switches }, refuse).values
    const path = `${this.#flags.config ?? environment[variableName('config')] ?? ''}`
    this.#file =
      path === '' ? null : { path, values: readSettingsFile(path, Object.keys(settings)) }
  }

  /** Returns whether a switch that is not a setting was given. */
  isGiven(name: string): boolean {
    return this.#flags[name] === true
  }

  /** Returns the effective value, unchecked. */
  find(name: Name): FoundSetting {
    const flag = this.#flags[name]
    if (flag !== undefined) {
      return { name: `--${name}`, text: flag === true ? 'on' : `${flag}`, from: `--${name}` }
    }
    const variable = variableName(name)
    const text = this.#environment[variable]
    if (text !== undefined) return { name: variable, text, from: variable }
    const inFile = this.#file?.values.get(name)
    if (inFile !== undefined) {
      const { path } = this.#file!
      return { name: `${path}: ${name}`, text: inFile, from: path }
    }
    return { name: `--${name}`, text: this.#settings[name].preset, from: 'default' }
  }
}

/** Returns `AGENT_FORUM_POLL_AFTER` for `poll-after`. */
export function variableName(flag: string): string {
  return `${variablePrefix}${flag.toUpperCase().replaceAll('-', '_')}`
}

/** Returns environment variables with our prefix that are not `known`, with suggestions. */
export function unknownVariables(
  environment: NodeJS.ProcessEnv,
  known: readonly string[],
): string[] {
  const names = known.map((name) => name.slice(variablePrefix.length))
  return Object.keys(environment)
    .filter((name) => name.startsWith(variablePrefix) && !known.includes(name))
    .map((name) => name + suggestion(name.slice(variablePrefix.length), names, variablePrefix))
}

/** Returns the values in the file, by name, as flags would have them. Throws a ConfigError. */
function readSettingsFile(path: string, settings: readonly string[]): Map<string, string> {
  const known = settings.filter((name) => name !== 'config')
  const values = new Map<string, string>()
  for (const [key, value] of Object.entries(readObject(path))) {
    if (!known.includes(key)) {
      throw new ConfigError(`${path}: there is no setting "${key}"${suggestion(key, known)}`)
    }
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw new ConfigError(`${path}: ${key} takes a text, a number, true or false`)
    }
    values.set(key, `${value}`)
  }
  return values
}

function readObject(path: string): object {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(unreadable(path, error))
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new ConfigError(`${path}: is not JSON: ${placeOf(error as Error, text)}`)
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed
  throw new ConfigError(`${path}: takes one JSON object, such as {"port": 8080}`)
}

/** Returns where the JSON ends. The engine's message would quote the text, secrets included. */
function placeOf({ message }: Error, text: string): string {
  const [, position] = /at position (\d+)/.exec(message) ?? []
  if (position === undefined) return 'it ends early, or has a word or sign without quotes'
  const lines = text.slice(0, Number(position)).split('\n')
  return `look at line ${lines.length}, column ${lines.at(-1)!.length + 1}`
}
